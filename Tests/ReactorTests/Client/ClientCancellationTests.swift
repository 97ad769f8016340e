import PeerTestSupport
import Synchronization
import Testing

@testable import Reactor

/// What a cancelled task leaves behind (api.md C8).
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientCancellationTests {
    /// Where connect() stands when it is cancelled.
    enum Step: String, CaseIterable, Sendable {
        case iceServers, register, offer, poll, readiness
    }

    private func isCancellation(_ task: Task<Void, any Error>) async -> Bool {
        do {
            try await task.value
            return false
        } catch {
            return error is CancellationError
        }
    }

    @Test(
        "C8 connect() cancelled at any step: CancellationError at once, torn down, the session ended, ready for another",
        arguments: Step.allCases)
    func connect(_ step: Step) async throws {
        let isHeld = SharedFlag(true)
        let runtime = try FakeRuntime { options in
            options.peer.startsSilent = step == .readiness
            options.override = { request in
                guard isHeld.value else { return nil }
                let name = request.path.split(separator: "/").last.map(String.init)
                return switch (step, request.method, name) {
                case (.iceServers, _, "ice_servers"), (.register, _, "connections"), (.offer, "POST", "sdp_params"): [.silence]
                case (.poll, "GET", "sdp_params"): [.reply(202)]
                default: nil
                }
            }
        }
        let client = try runtime.client()
        let trace = Trace(client)
        let connecting = Task { try await client.connect() }
        #expect(
            await eventually {
                switch step {
                case .iceServers: runtime.count("GET ice_servers") > 0
                case .register: runtime.count("POST connections") > 0
                case .offer: runtime.count("POST sdp_params") > 0
                case .poll, .readiness: !runtime.brain.peers.isEmpty
                }
            })
        let began = ContinuousClock.now
        connecting.cancel()
        #expect(await isCancellation(connecting))
        #expect(ContinuousClock.now - began < .seconds(1))
        #expect(client.status == .disconnected)
        #expect(client.sessionID == nil)
        #expect(await eventually { runtime.endCount == 1 })
        #expect(await eventually { trace.all == ["connecting", "waiting", "disconnected"] })
        // The client is as good as new.
        isHeld.value = false
        if step == .readiness { return client.close() }
        #expect(await eventually { !runtime.brain.isLive })
        try await client.connect()
        #expect(client.status == .ready)
        try await client.disconnect()
    }

    @Test("C8 connect() cancelled while the create request is out: it returns at once, and the session it made is ended")
    func duringCreate() async throws {
        let mayAnswer = SharedFlag(false)
        let brain = SharedBox<Brain>()
        let runtime = try FakeRuntime {
            $0.override = { request in
                guard request.path == "/start_session", let brain = brain.value else { return nil }
                // The server is at work on it until the test lets it go.
                var steps = brain.route(request)
                if !mayAnswer.value { steps.insert(.pause(milliseconds: 2000), at: 0) }
                return steps
            }
        }
        brain.value = runtime.brain
        let client = try runtime.client()
        let connecting = Task { try await client.connect() }
        #expect(await eventually { runtime.count("POST start_session") == 1 })
        let began = ContinuousClock.now
        connecting.cancel()
        #expect(await isCancellation(connecting))
        #expect(ContinuousClock.now - began < .seconds(1))
        #expect(client.status == .disconnected)
        #expect(await eventually { runtime.endCount == 1 })
        mayAnswer.value = true
        // A new connect waits for that end: locally it would hit the new session.
        try await client.connect()
        #expect(runtime.calls.filter { $0.hasSuffix("session") } == ["POST start_session", "POST stop_session", "POST start_session"])
        try await client.disconnect()
        brain.value = nil
    }

    @Test(
        "C8 reconnect() cancelled at any step: torn down, the session kept, and reconnect() can be called again",
        arguments: [Step.iceServers, .offer, .poll])
    func reconnect(_ step: Step) async throws {
        let isHeld = SharedFlag(false)
        let reached = SharedFlag(false)
        let runtime = try FakeRuntime { options in
            options.override = { request in
                guard isHeld.value else { return nil }
                let name = request.path.split(separator: "/").last.map(String.init)
                switch (step, request.method, name) {
                case (.iceServers, _, "ice_servers"), (.offer, "PUT", "sdp_params"), (.poll, "GET", "sdp_params"):
                    reached.value = true
                    return step == .poll ? [.reply(202)] : [.silence]
                default: return nil
                }
            }
        }
        let client = try runtime.client()
        try await client.connect()
        isHeld.value = true
        let reconnecting = Task { try await client.reconnect() }
        #expect(await eventually { reached.value })
        reconnecting.cancel()
        #expect(await isCancellation(reconnecting))
        #expect(client.status == .disconnected)
        #expect(client.sessionID == FakeRuntime.localID)
        #expect(runtime.endCount == 0)
        isHeld.value = false
        try await client.reconnect()
        #expect(client.status == .ready)
        try await client.disconnect()
    }

    @Test("C8 disconnect() is not cancelled with its task")
    func disconnect() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let ending = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await client.disconnect()
        }
        try await ending.value
        #expect(runtime.endCount == 1)
        #expect(client.status == .disconnected)
    }

    @Test("C8 a cancelled command ends its wait; its late reply is a message, and other calls are not disturbed")
    func command() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let messages = client.messages
        let waiting = Task { _ = try await client.sendCommand("late") }
        #expect(await eventually { await (try? runtime.peer)?.run { core in core.messages.contains { $0.channel == "data" } } == true })
        waiting.cancel()
        #expect(await isCancellation(waiting))
        try await client.sendCommand("release")
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next()?["type"] == "late")
        #expect(try await client.sendCommand("echo", ["a": true])?.data?["a"] == true)

        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await client.sendCommand("echo")
        }
        #expect(await isCancellation(early))
        try await client.disconnect()
    }

    @Test("C8 a cancelled loop over frames ends, and pause() in a cancelled task changes nothing")
    func mediaCalls() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let track = try client.track("main_video")
        let frames = try track.videoFrames
        let seen = Counter()
        let loop = Task { for await _ in frames { _ = seen.next() } }
        #expect(await eventually { seen.value > 2 })
        loop.cancel()
        await loop.value
        let pausing = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await track.pause()
        }
        #expect(await isCancellation(pausing))
        #expect(!track.paused)
        #expect(client.status == .ready)
        try await client.disconnect()
    }
}
