import PeerTestSupport
import ReactorCore
import Synchronization
import Testing

@testable import Reactor

/// Reconnecting by itself, against a loopback runtime.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientReconnectPolicyTests {
    private func connected(
        _ policy: ReconnectPolicy, _ options: (inout FakeRuntime.Options) -> Void = { _ in }
    ) async throws -> (FakeRuntime, Reactor, Trace) {
        let runtime = try FakeRuntime(options)
        let client = try runtime.client { $0.reconnectPolicy = policy }
        try await client.connect()
        return (runtime, client, Trace(client))
    }

    private static let prompt = ReconnectPolicy(maxAttempts: 3, initialDelay: .milliseconds(1), maxDelay: .milliseconds(2))

    @Test("C9.9 off by default: a loss is the app's to repair")
    func off() async throws {
        #expect(ReactorConfiguration().reconnectPolicy == .never)
        let (runtime, client, trace) = try await connected(.never)
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { trace.all == ["error DISCONNECTED", "disconnected"] })
        #expect(client.lastError?.code == .disconnected)
        #expect(await client.engine.reconnectPlan.phase == .idle)
        #expect(runtime.count("PUT sdp_params") == 0)
        client.close()
    }

    @Test("C9.9 a loss is repaired: same session, tracks as after reconnect(), published ones only when asked", arguments: [true, false])
    func repairs(_ republishes: Bool) async throws {
        var policy = Self.prompt
        policy.republishesTracks = republishes
        let (runtime, client, trace) = try await connected(policy)
        let webcam = try client.track("webcam")
        try await webcam.publish()
        let published = webcam.publishedUpdates
        let id = client.sessionID
        let first = try runtime.peer
        first.post { $0.sayGoodbye() }
        #expect(await eventually { client.status == .ready && (try? runtime.peer) !== first })
        #expect(await eventually { trace.all == ["error DISCONNECTED", "disconnected", "connecting", "waiting", "ready"] })
        #expect(client.sessionID == id)
        #expect(try await client.sendCommand("echo", ["a": 1])?.data?["a"] == 1)
        if republishes {
            #expect(await eventually { webcam.published })
            client.close()
            #expect(await published.reduce(into: []) { $0.append($1) } == [false, true, false])
        } else {
            #expect(!webcam.published)
            client.close()
            #expect(await published.reduce(into: []) { $0.append($1) } == [false])
        }
        #expect(runtime.endCount == 0)
    }

    @Test("C9.9 failed attempts are followed by others, up to the number allowed; each is an error event")
    func attempts() async throws {
        let failures = Failures()
        let (runtime, client, trace) = try await connected(Self.prompt) {
            $0.override = { request in
                guard request.method == "PUT" else { return nil }
                failures.count.add(1, ordering: .relaxed)
                return [.reply(503, "busy")]
            }
        }
        try runtime.peer.post { $0.sayGoodbye() }
        let attempt = ["connecting", "waiting", "error SERVER_ERROR", "disconnected"]
        #expect(await eventually { trace.all == ["error DISCONNECTED", "disconnected"] + attempt + attempt + attempt })
        #expect(failures.count.load(ordering: .relaxed) == 3)
        // The session is kept: the app may still try.
        #expect(client.sessionID == FakeRuntime.localID && runtime.endCount == 0)
        try await client.disconnect()
        #expect(runtime.endCount == 1)
    }

    @Test("C9.9 an attempt that cannot succeed is the last: the session is gone")
    func gone() async throws {
        let (runtime, client, trace) = try await connected(Self.prompt) {
            $0.override = { $0.method == "PUT" ? [.reply(404, #"{"detail":"no such session"}"#)] : nil }
        }
        try runtime.peer.post { $0.sayGoodbye() }
        let attempt = ["connecting", "waiting", "error NOT_FOUND", "disconnected"]
        #expect(await eventually { trace.all == ["error DISCONNECTED", "disconnected"] + attempt })
        #expect(await client.engine.reconnectPlan.phase == .idle)
        client.close()
    }

    @Test("C9.9 a session whose end the platform announced is over")
    func announced() async throws {
        let (runtime, client, trace) = try await connected(Self.prompt)
        try await client.sendCommand("notice")
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { trace.all == ["error DISCONNECTED", "disconnected"] })
        #expect(await client.engine.reconnectPlan.phase == .idle)
        #expect(runtime.count("PUT sdp_params") == 0 && client.status == .disconnected)
        client.close()
    }

    @Test("C2 disconnect() and close() while an attempt is waited for end it; disconnect() ends the session", arguments: [true, false])
    func ended(_ disconnects: Bool) async throws {
        let policy = ReconnectPolicy(maxAttempts: 3, initialDelay: .seconds(60), maxDelay: .seconds(60))
        let (runtime, client, trace) = try await connected(policy)
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { trace.all == ["error DISCONNECTED", "disconnected"] })
        #expect(await client.engine.reconnectPlan.phase == .waiting)
        if disconnects { try await client.disconnect() } else { client.close() }
        #expect(await client.engine.reconnectPlan.phase == .idle)
        #expect(runtime.endCount == (disconnects ? 1 : 0))
        client.close()
    }

    @Test("C2 the app's reconnect() takes the place of an attempt that is waited for")
    func takenOver() async throws {
        let policy = ReconnectPolicy(maxAttempts: 3, initialDelay: .seconds(60), maxDelay: .seconds(60))
        let (runtime, client, trace) = try await connected(policy)
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { trace.all == ["error DISCONNECTED", "disconnected"] })
        try await client.reconnect()
        #expect(client.status == .ready)
        #expect(await client.engine.reconnectPlan.phase == .idle)
        #expect(runtime.count("PUT sdp_params") == 1)
        try await client.disconnect()
    }

    @Test("R-3 releasing the client ends the attempts")
    func released() async throws {
        let policy = ReconnectPolicy(maxAttempts: 3, initialDelay: .seconds(60), maxDelay: .seconds(60))
        var (runtime, client, trace): (FakeRuntime, Reactor?, Trace) = try await connected(policy)
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { trace.all.last == "disconnected" })
        weak let engine = client?.engine
        client = nil
        #expect(await eventually { engine == nil })
        _ = (runtime, trace)
    }
}

private final class Failures: Sendable {
    let count = Atomic(0)
}
