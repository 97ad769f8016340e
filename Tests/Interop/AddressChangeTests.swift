import Foundation
import RTCBase
import RTCPeer
import Reactor
import Testing

extension Interop {
    /// The address that carries a connection goes away while another stays.
    @Suite("Address change")
    struct AddressChangeTests {
        enum End: String, Sendable, CaseIterable { case client, server }

        @Test(
            "ICE-09 the address of the selected pair is removed: noticed within 10 s, and reconnect() goes on over the other one",
            .enabled("network namespaces are not available") { await NamespaceNetwork.isAvailable() }, arguments: End.allCases)
        func addressRemoved(_ end: End) async throws {
            try await NamespaceNetwork.with { network in
                try await withRuntime(network.environment) { runtime in try await run(end, network, runtime) }
            }
        }

        private func run(_ end: End, _ network: NamespaceNetwork, _ runtime: RuntimeProcess) async throws {
            let reactor = try client(runtime.url, connectTimeout: .seconds(5))
            let statuses = Recorder<ReactorStatus>()
            let errors = Recorder<ReactorError>()
            let subscriptions = [reactor.onStatus { statuses.add($0) }, reactor.onError { errors.add($0) }]
            try await reactor.connect()
            let session = try #require(reactor.sessionID)
            let report = StreamReport()
            let track = try reactor.track("main_video")
            let watching = Task { try await report.watch(track) }
            #expect(await eventually(within: 5) { report.frames > 30 })
            try await reactor.sendCommand("set_prompt", ["prompt": "before"])
            let pair = await reactor.peerStatistics()
            let local = try #require(NamespaceNetwork.link(of: pair?.localAddress), "\(String(describing: pair?.localAddress))")
            let remote = try #require(NamespaceNetwork.link(of: pair?.remoteAddress), "\(String(describing: pair?.remoteAddress))")

            let begin = Stopwatch()
            try await network.removeAddress(end == .client ? local : remote, here: end == .client)
            let isNoticed = await eventually(within: 10) { reactor.status == .disconnected }
            let late = isNoticed ? nil : await reactor.peerStatistics()
            #expect(isNoticed, "\(pair.map(Self.describe) ?? "") then \(late.map(Self.describe) ?? "")")
            measured("address_\(end.rawValue)_noticed", begin.milliseconds, "ms")
            #expect(await eventually(within: 1) { errors.count > 0 })
            #expect(errors.count == 1 && errors.values.first?.recoverable == true, "\(errors.values)")
            #expect(reactor.sessionID == session)

            let attempts = try await reconnect(reactor)
            measured("address_\(end.rawValue)_attempts", Double(attempts), "attempts")
            let frames = report.frames
            #expect(await eventually(within: 5) { report.frames > frames + 30 }, "no frames over the other address")
            measured("address_\(end.rawValue)_frames_again", begin.milliseconds, "ms")
            #expect(reactor.status == .ready && reactor.sessionID == session)
            let after = await reactor.peerStatistics()
            if end == .client {
                #expect(NamespaceNetwork.link(of: after?.localAddress) != local)
            } else {
                #expect(NamespaceNetwork.link(of: after?.remoteAddress) != remote)
            }
            // The model counts prompts for each session: this one is its second.
            let reply = try await reactor.sendCommand("set_prompt", ["prompt": "after"])
            #expect(reply?.data?["count"]?.intValue == 2)
            #expect(await runtime.sessionState() == "streaming")
            expectInOrder(statuses.values, attempts: attempts)
            #expect(errors.count == 1, "\(errors.values)")
            watching.cancel()
            for subscription in subscriptions { subscription.cancel() }
            try await reactor.disconnect()
            // The one session there was has ended.
            #expect(await eventually(within: 2) { await runtime.sessionState() == "ready" })
            reactor.close()
        }

        private static func describe(_ statistics: PeerStatistics) -> String {
            "received \(statistics.packetsReceived), sent \(statistics.packetsSent), not sent \(statistics.drops[.sendFailed]), "
                + "\(statistics.localAddress ?? "-") to \(statistics.remoteAddress ?? "-")"
        }

        /// As an app does it: again and again, after 0.25, 0.5, 1 and 2 s. How many attempts it took.
        private func reconnect(_ reactor: Reactor) async throws -> Int {
            for attempt in 1...5 {
                do {
                    try await reactor.reconnect()
                    return attempt
                } catch let error as ReactorError where error.recoverable && attempt < 5 {
                    try await Task.sleep(for: .milliseconds(125 << attempt))
                }
            }
            throw CancellationError()
        }

        /// Up, down once, and for each attempt up again as far as it got; the last one to the end.
        private func expectInOrder(_ statuses: [ReactorStatus], attempts: Int) {
            let first: [ReactorStatus] = [.connecting, .waiting, .ready, .disconnected]
            #expect(statuses.starts(with: first), "\(statuses)")
            let runs = statuses.dropFirst(first.count).split(separator: .disconnected)
            #expect(runs.count == attempts, "\(statuses)")
            for run in runs { #expect(([.connecting, .waiting, .ready] as [ReactorStatus]).starts(with: run), "\(statuses)") }
            #expect(statuses.last == .ready)
            #expect(statuses.count { $0 == .ready } == 2)
        }
    }
}
