import Foundation
import Reactor
import Synchronization
import Testing

extension Interop {
    /// connect() to `.ready`.
    @Suite("Connect time")
    struct ConnectTimeTests {
        @Test("The median of 20 connects is at most 120 ms")
        func twentyConnects() async throws {
            try await withRuntime { runtime in
                var times: [Double] = []
                var steps: [String: [Double]] = [:]
                var disconnects: [Double] = []
                for _ in 0..<20 {
                    let reactor = try client(runtime.url)
                    let begin = Stopwatch()
                    try await reactor.connect()
                    times.append(begin.milliseconds)
                    #expect(reactor.status == .ready)
                    let timings = reactor.connectionTimings
                    for (name, value) in [
                        ("session", timings.sessionCreation), ("ice", timings.iceConnected), ("dtls", timings.dtlsConnected),
                        ("channels", timings.dataChannelsOpen), ("total", timings.total),
                    ] {
                        if let value { steps[name, default: []].append(value / .milliseconds(1)) }
                    }
                    let end = Stopwatch()
                    try await reactor.disconnect()
                    disconnects.append(end.milliseconds)
                    reactor.close()
                    // The runtime takes a moment to let go; waiting it out would be in the next figure otherwise.
                    #expect(await eventually(within: 5) { await runtime.sessionState() == "ready" })
                }
                measured("connect_p50", percentile(times, 0.5), "ms")
                measured("connect_min", times.min() ?? 0, "ms")
                measured("connect_max", times.max() ?? 0, "ms")
                for (name, values) in steps.sorted(by: { $0.key < $1.key }) {
                    measured("connect_step_\(name)_p50", percentile(values, 0.5), "ms")
                }
                measured("disconnect_p50", percentile(disconnects, 0.5), "ms")
                #expect(percentile(times, 0.5) <= Settings.limit(120))
            }
        }

        @Test("A connect right after a disconnect waits out the server's closing")
        func connectsBackToBack() async throws {
            try await withRuntime { runtime in
                var times: [Double] = []
                for _ in 0..<10 {
                    let reactor = try client(runtime.url)
                    let begin = Stopwatch()
                    try await reactor.connect()
                    times.append(begin.milliseconds)
                    try await reactor.disconnect()
                    reactor.close()
                }
                measured("connect_back_to_back_p50", percentile(times, 0.5), "ms")
            }
        }

        @Test(
            "An ICE server that answers nobody costs at most 100 ms more than the server's own wait for it",
            arguments: [false, true])
        func deadServerOnBothSides(hidesOurCandidates: Bool) async throws {
            // Where the server reaches our host candidates it stops gathering early; behind a NAT it waits its 3 s.
            let name = hidesOurCandidates ? "hidden" : "direct"
            let dead = try SilentPort()
            try await withRuntime(["STUN_SERVERS": "stun:\(dead.address):\(dead.port)"]) { runtime in
                let desk = AnswerDesk(port: runtime.port, hidesCandidates: hidesOurCandidates)
                let proxy = try FaultServer(desk.answer)
                let reactor = try client(proxy.url)
                let begin = Stopwatch()
                try await reactor.connect()
                let total = begin.milliseconds
                let wait = try #require(desk.serverWaitMilliseconds)
                measured("connect_dead_stun_\(name)_total", total, "ms")
                measured("connect_dead_stun_\(name)_server_wait", wait, "ms")
                measured("connect_dead_stun_\(name)_over_server_wait", total - wait, "ms")
                measured("connect_dead_stun_\(name)_polls", Double(proxy.count("GET sdp_params")), "polls")
                if hidesOurCandidates { #expect(wait > 2500, "the runtime did not wait for its dead ICE server: the test shows nothing") }
                #expect(total - wait <= Settings.limit(100, debugFactor: 2))
                try await reactor.disconnect()
                reactor.close()
                proxy.stop()
            }
            withExtendedLifetime(dead) {}
        }

        @Test("A dead ICE server in our list alone costs next to nothing: at most 200 ms in all")
        func deadServerOnOurSide() async throws {
            let dead = try SilentPort()
            try await withRuntime { runtime in
                var times: [Double] = []
                for _ in 0..<5 {
                    let port = runtime.port
                    let list = "{\"ice_servers\":[{\"uris\":[\"stun:\(dead.address):\(dead.port)\",\"stun:127.0.0.1:\(dead.port)\"]}]}"
                    let proxy = try FaultServer { request in
                        request.key == "GET ice_servers" ? .status(200, body: list) : .forward(port)
                    }
                    let reactor = try client(proxy.url)
                    let begin = Stopwatch()
                    try await reactor.connect()
                    times.append(begin.milliseconds)
                    try await reactor.disconnect()
                    reactor.close()
                    proxy.stop()
                    _ = await eventually(within: 5) { await runtime.sessionState() == "ready" }
                }
                measured("connect_dead_stun_ours_p50", percentile(times, 0.5), "ms")
                measured("connect_dead_stun_ours_max", times.max() ?? 0, "ms")
                #expect(percentile(times, 0.5) <= Settings.limit(200))
            }
            withExtendedLifetime(dead) {}
        }
    }
}

/// Stands before a runtime and fetches the SDP answer from it as soon as it exists, so that it is known how long the server
/// itself took; the client gets it from here.
private final class AnswerDesk: Sendable {
    private struct State {
        var offeredAt: Stopwatch?
        var waited: Double?
        var answer: [UInt8]?
    }

    private let port: UInt16
    /// Keeps the client's candidates from the server, as a NAT makes them useless.
    private let hidesCandidates: Bool
    private let state = Mutex(State())

    init(port: UInt16, hidesCandidates: Bool) {
        self.port = port
        self.hidesCandidates = hidesCandidates
    }

    var serverWaitMilliseconds: Double? { state.withLock { $0.waited } }

    func answer(_ request: FaultServer.Request) -> FaultServer.Answer {
        switch request.key {
        case "POST sdp_params":
            state.withLock { $0.offeredAt = Stopwatch() }
            let thread = Thread { [self] in poll(request.path) }
            thread.start()
            return hidesCandidates ? .forwardBody(port, Self.withoutCandidates(request.body)) : .forward(port)
        case "POST ice_candidates" where hidesCandidates:
            return .status(202, body: "")
        case "GET sdp_params":
            guard let body = state.withLock({ $0.answer }) else { return .status(202, body: "") }
            return .status(200, body: String(decoding: body, as: UTF8.self))
        default:
            return .forward(port)
        }
    }

    private static func withoutCandidates(_ body: [UInt8]) -> [UInt8] {
        guard var object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any], let offer = object["sdp_offer"] as? String
        else { return body }
        object["sdp_offer"] = offer.components(separatedBy: "\r\n").filter { !$0.hasPrefix("a=candidate:") }.joined(separator: "\r\n")
        return (try? JSONSerialization.data(withJSONObject: object)).map { Array($0) } ?? body
    }

    private func poll(_ path: String) {
        for _ in 0..<3000 {
            if case .success(let reply) = PlainHTTP.exchange("GET", port: port, path: path, body: []), reply.status == 200 {
                state.withLock { state in
                    state.waited = state.offeredAt?.milliseconds
                    state.answer = reply.body
                }
                return
            }
            usleep(4000)
        }
    }
}
