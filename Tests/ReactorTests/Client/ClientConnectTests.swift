import Dispatch
import PeerTestSupport
import RTCPeer
import Synchronization
import Testing

@testable import Reactor

/// Connecting, losing, reconnecting and ending, against a loopback runtime.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientConnectTests {
    // MARK: Success

    @Test(
        "R-16, R-34, R-57, R-66, T-8, T-9, T-10, T-42, §9.1 connect: statuses in order, ready on return, tracks, requests, resumes then ping"
    )
    func connects() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let trace = Trace(client)
        try await client.connect()
        #expect(client.status == .ready)
        #expect(client.sessionID == FakeRuntime.localID)
        #expect(client.tracks.map(\.name) == ["webcam", "main_video", "depth", "main_audio"])
        #expect(client.tracks.map(\.direction) == [.sendonly, .recvonly, .recvonly, .recvonly])
        #expect(client.tracks.map(\.kind) == [.video, .video, .video, .audio])
        #expect(client.tracks.map(\.mid) == [nil, "1", "2", "3"])
        #expect(client.pausedTracks.isEmpty)
        #expect(await eventually { trace.all == ["connecting", "waiting", "ready"] })
        #expect(runtime.calls.first == "POST start_session")
        #expect(Set(runtime.calls) == ["POST start_session", "GET ice_servers", "POST connections", "POST sdp_params"])
        // LIV-01: the first ping at once, another when ready.
        #expect(await eventually { runtime.control == ["ping", "resume main_video", "resume depth", "resume main_audio", "ping"] })
        let timings = client.connectionTimings
        #expect(timings.total.map { $0 > .zero } == true)
        try await client.disconnect()
    }

    @Test("R-5, R-6 handlers run on the given queue, and calls do not need it: connect() returns while it is suspended")
    func eventQueue() async throws {
        let runtime = try FakeRuntime()
        let queue = DispatchQueue(label: "test.events")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let client = try runtime.client(eventQueue: queue)
        let places = Mutex<[Bool]>([])
        let subscription = client.onStatus { _ in places.withLock { $0.append(DispatchQueue.getSpecific(key: key) == true) } }
        queue.suspend()
        try await client.connect()
        #expect(places.withLock { $0 }.isEmpty)
        queue.resume()
        #expect(await eventually { places.withLock { $0 } == [true, true, true] })
        try await client.disconnect()
        subscription.cancel()
    }

    @Test("SW-04 not ready before DTLS and the data channels are up")
    func notReadyTooEarly() async throws {
        let runtime = try FakeRuntime { $0.peer.startsSilent = true }
        let client = try runtime.client()
        let connecting = Task { try await client.connect() }
        #expect(await eventually { !runtime.brain.peers.isEmpty })
        try await Task.sleep(for: .milliseconds(500))
        #expect(client.status == .waiting)
        try runtime.peer.post { $0.speakAgain() }
        try await connecting.value
        #expect(client.status == .ready)
        try await client.disconnect()
    }

    @Test("R-17, R-18, R-19, R-29 joining a session creates none and registers no given connection; disconnect() leaves it")
    func adopts() async throws {
        let runtime = try FakeRuntime()
        let owner = try runtime.client()
        try await owner.connect()
        let guest = try runtime.client()
        try await guest.connect(sessionID: FakeRuntime.localID, connectionID: 1234)
        #expect(guest.status == .ready)
        #expect(runtime.count("POST start_session") == 1)
        #expect(runtime.count("POST connections") == 1)
        #expect(runtime.server.requests.contains { $0.path.hasSuffix("/connections/1234/sdp_params") })
        try await guest.disconnect()
        #expect(runtime.endCount == 0)
        #expect(guest.sessionID == nil)
        #expect(owner.status == .ready)
        try await owner.disconnect()
        #expect(runtime.endCount == 1)
    }

    @Test("X-1 connect() while connecting or ready throws invalidState and changes nothing")
    func connectTwice() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        async let first: Void = client.connect()
        #expect(await eventually { client.status != .disconnected })
        #expect(await failure { try await client.connect() }?.code == .invalidState)
        try await first
        #expect(await failure { try await client.connect() }?.code == .invalidState)
        #expect(client.status == .ready)
        try await client.disconnect()
    }

    // MARK: Failure

    @Test(
        "R-2, R-20, R-21, R-72, §9.1 a refused create: the typed error thrown and as event, then disconnected; nothing to end",
        arguments: [
            (401, "UNAUTHORIZED", false), (403, "UNAUTHORIZED", false), (404, "NOT_FOUND", false), (409, "CONFLICT", false),
            (429, "RATE_LIMITED", true), (400, "BAD_REQUEST", false), (500, "SERVER_ERROR", true), (503, "SERVER_ERROR", true),
            (426, "VERSION_MISMATCH", false),
        ])
    func createRefused(_ status: Int, _ code: String, _ recoverable: Bool) async throws {
        let runtime = try FakeRuntime {
            $0.override = { $0.path == "/start_session" ? [.reply(status, #"{"detail":"no"}"#)] : nil }
        }
        let client = try runtime.client()
        let trace = Trace(client)
        let events = client.errors
        let error = await failure { try await client.connect() }
        #expect(error?.code.rawValue == code)
        #expect(error?.recoverable == recoverable)
        #expect(error?.operation == "connect")
        #expect(client.status == .disconnected)
        #expect(client.sessionID == nil)
        #expect(await eventually { trace.all == ["connecting", "error \(code)", "disconnected"] })
        client.close()
        var published: [ReactorError] = []
        for await event in events { published.append(event) }
        #expect(published.map(\.code) == [error?.code])
        #expect(published.map(\.recoverable) == [recoverable])
        #expect(published.first?.timestampMS != nil)
        #expect(error?.timestampMS == nil)
        #expect(runtime.endCount == 0)
    }

    @Test("§2.5 a failure after the create ends the session that was made; the client can connect again")
    func failsAfterCreate() async throws {
        let broken = SharedFlag(true)
        let runtime = try FakeRuntime {
            $0.override = { request in
                request.path.hasSuffix("/ice_servers") && broken.value ? [.reply(500, "broken")] : nil
            }
        }
        let client = try runtime.client()
        let trace = Trace(client)
        #expect(await failure { try await client.connect() }?.code == .serverError)
        #expect(await eventually { trace.all == ["connecting", "waiting", "error SERVER_ERROR", "disconnected"] })
        #expect(await eventually { runtime.endCount == 1 })
        #expect(client.sessionID == nil)
        #expect(client.tracks.isEmpty)
        broken.value = false
        try await client.connect()
        #expect(client.status == .ready)
        try await client.disconnect()
    }

    @Test("nothing listens: NETWORK_ERROR, recoverable")
    func nobodyThere() async throws {
        let port = try ScriptedServer.refusedPort()
        let client = try Reactor(model: "owner/model", apiURL: "http://127.0.0.1:\(port)", local: true)
        let error = await failure { try await client.connect() }
        #expect(error?.code == .networkError)
        #expect(error?.recoverable == true)
    }

    @Test("C8 the client's own limit ends connect() when it runs out, also under a server that accepts and says nothing")
    func connectTimeout() async throws {
        let runtime = try FakeRuntime { $0.override = { $0.path == "/start_session" ? [.silence] : nil } }
        let client = try runtime.client { $0.connectTimeout = .milliseconds(300) }
        let began = ContinuousClock.now
        let error = await failure { try await client.connect() }
        #expect(error?.code == .requestTimeout)
        #expect(ContinuousClock.now - began < .seconds(2))
        #expect(client.status == .disconnected)
        client.close()
    }

    @Test("a peer that goes away before the connection is up: TRANSPORT_ERROR, and the session is ended")
    func lostBeforeReady() async throws {
        let runtime = try FakeRuntime { $0.peer.liesAboutFingerprint = true }
        let client = try runtime.client()
        let trace = Trace(client)
        let error = await failure { try await client.connect() }
        #expect(error?.code == .transportError)
        #expect(error?.message.contains("fingerprint") == true)
        #expect(await eventually { trace.all == ["connecting", "waiting", "error TRANSPORT_ERROR", "disconnected"] })
        #expect(await eventually { runtime.endCount == 1 })
    }

    @Test("an answer without any track of ours: TRANSPORT_ERROR that names the track")
    func nothingAccepted() async throws {
        let runtime = try FakeRuntime { $0.peer.rejectedMids = ["0", "1", "2", "3"] }
        let client = try runtime.client()
        let error = await failure { try await client.connect() }
        #expect(error?.code == .transportError)
        #expect(await eventually { runtime.endCount == 1 })
    }

    @Test("§12.13 a local runtime that still closes the session before is waited for")
    func stillClosing() async throws {
        let refusals = Counter()
        let runtime = try FakeRuntime {
            $0.override = { request in
                request.path == "/start_session" && refusals.next() < 2
                    ? [.reply(409, #"{"detail":"Cannot start a session while closing"}"#)] : nil
            }
        }
        let client = try runtime.client()
        try await client.connect()
        #expect(client.status == .ready)
        #expect(runtime.count("POST start_session") == 3)
        try await client.disconnect()
    }

    // MARK: Ends

    @Test("R-27, R-28, R-34, §9.1 disconnect() ends the session; afterwards reconnect() throws")
    func disconnects() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let trace = Trace(client)
        try await client.connect()
        let peer = try runtime.peer
        try await client.disconnect()
        #expect(client.status == .disconnected)
        #expect(client.sessionID == nil)
        #expect(client.tracks.isEmpty)
        #expect(runtime.endCount == 1)
        #expect(await eventually { trace.all == ["connecting", "waiting", "ready", "disconnected"] })
        #expect(await eventually(within: 1) { await peer.run { $0.sawCloseNotify } })
        #expect(await failure { try await client.reconnect() }?.code == .invalidState)
        try await client.disconnect()
        #expect(runtime.endCount == 1)
    }

    @Test("R-29 a server that refuses to end the session does not fail disconnect()")
    func disconnectIsBestEffort() async throws {
        let runtime = try FakeRuntime { $0.override = { $0.path == "/stop_session" ? [.reply(500, "no")] : nil } }
        let client = try runtime.client()
        try await client.connect()
        try await client.disconnect()
        #expect(client.status == .disconnected)
    }

    @Test("R-22, R-23, R-25, T-10, T-11, X-11 reconnect() from ready: same session, PUT, tracks resumed, nothing paused")
    func reconnects() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let track = try client.track("main_video")
        try await track.pause()
        #expect(track.paused)
        let trace = Trace(client)
        let old = try runtime.peer
        try await client.reconnect()
        #expect(client.status == .ready)
        #expect(client.sessionID == FakeRuntime.localID)
        #expect(await eventually { trace.all == ["disconnected", "connecting", "waiting", "ready"] })
        #expect(runtime.count("PUT sdp_params") == 1)
        #expect(runtime.count("POST connections") == 1)
        #expect(runtime.endCount == 0)
        #expect(!track.paused)
        #expect(client.pausedTracks.isEmpty)
        #expect(track.mid == "1")
        #expect(try client.track("main_video") === track)
        #expect(await eventually(within: 1) { await old.run { $0.sawCloseNotify } })
        #expect(
            await eventually {
                runtime.control.suffix(4) == ["resume main_video", "resume depth", "resume main_audio", "ping"]
                    && runtime.control.count { $0 == "resume depth" } == 2
            })
        try await client.disconnect()
    }

    @Test("R-69, X-5, DTLS-06, §9.1 a lost connection: one error event, calls fail DISCONNECTED, the session stays for reconnect()")
    func loses() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let trace = Trace(client)
        let pending = Task { await failure { try await client.sendCommand("silent") } }
        #expect(await eventually { await (try? runtime.peer)?.run { core in core.messages.contains { $0.channel == "data" } } == true })
        try runtime.peer.post { $0.sayGoodbye() }
        let error = await pending.value
        #expect(error?.code == .disconnected)
        #expect(error?.recoverable == true)
        #expect(error?.operation == "send_command")
        #expect(await eventually { trace.all == ["error DISCONNECTED", "disconnected"] })
        #expect(client.status == .disconnected)
        #expect(client.sessionID == FakeRuntime.localID)
        #expect(client.tracks.count == 4)
        #expect(await failure { try await client.sendCommand("echo") }?.code == .invalidState)
        try await client.reconnect()
        #expect(client.status == .ready)
        #expect(try await client.sendCommand("echo", ["a": 1])?.data?["a"] == 1)
        #expect(trace.all.count { $0.hasPrefix("error") } == 1)
        try await client.disconnect()
        #expect(runtime.endCount == 1)
    }

    @Test("§9.1 a failed reconnect() keeps the session for another try")
    func reconnectFails() async throws {
        let broken = SharedFlag(false)
        let runtime = try FakeRuntime {
            $0.override = { $0.method == "PUT" && broken.value ? [.reply(503, "busy")] : nil }
        }
        let client = try runtime.client()
        try await client.connect()
        broken.value = true
        let trace = Trace(client)
        let error = await failure { try await client.reconnect() }
        #expect(error?.code == .serverError)
        #expect(error?.operation == "reconnect")
        #expect(await eventually { trace.all == ["disconnected", "connecting", "waiting", "error SERVER_ERROR", "disconnected"] })
        #expect(client.sessionID == FakeRuntime.localID)
        #expect(runtime.endCount == 0)
        broken.value = false
        try await client.reconnect()
        #expect(client.status == .ready)
        try await client.disconnect()
    }

    @Test("C2 two reconnect() calls share one")
    func joinedReconnect() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        async let first: Void = client.reconnect()
        async let second: Void = client.reconnect()
        _ = try await (first, second)
        #expect(client.status == .ready)
        #expect(runtime.count("PUT sdp_params") <= 2)
        try await client.disconnect()
    }

    @Test("R-30, X-4 close(): no request, the peer hears close_notify at once, a call in flight fails ABORTED and names itself")
    func closes() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let trace = Trace(client)
        weak let connection = await client.engine.onlyPeer
        #expect(connection != nil)
        let pending = Task { await failure { try await client.sendCommand("silent") } }
        #expect(await eventually { await (try? runtime.peer)?.run { core in core.messages.contains { $0.channel == "data" } } == true })
        client.close()
        #expect(client.status == .disconnected)
        #expect(client.sessionID == nil)
        let error = await pending.value
        #expect(error?.code == .aborted)
        #expect(error?.message.contains("silent") == true)
        let peer = try runtime.peer
        #expect(await eventually(within: 1) { await peer.run { $0.sawCloseNotify } })
        #expect(runtime.endCount == 0)
        #expect(trace.all.isEmpty)
        // Its sockets go with it, also while somebody still holds the client.
        #expect(await eventually { connection == nil })
        withExtendedLifetime(client) {}
    }

    @Test("R-3, R-32, T-4 releasing the client closes and leaves the session; a parked track does not keep it")
    func releases() async throws {
        let runtime = try FakeRuntime()
        var client: Reactor? = try runtime.client()
        try await client?.connect()
        let track = try client?.track("main_video")
        weak let observed = client
        weak let engine = client?.engine
        client = nil
        #expect(await eventually { observed == nil })
        let peer = try runtime.peer
        #expect(await eventually(within: 1) { await peer.run { $0.sawCloseNotify } })
        #expect(await eventually { engine == nil })
        #expect(runtime.endCount == 0)
        #expect(runtime.brain.isLive)
        // SW-10
        #expect(track?.kind == nil)
        #expect(await failure { try await track?.pause() }?.code == .invalidState)
    }

    @Test("X-4, C2 close() during disconnect() aborts the wait")
    func closeDuringDisconnect() async throws {
        let runtime = try FakeRuntime { $0.override = { $0.path == "/stop_session" ? [.silence] : nil } }
        let client = try runtime.client()
        try await client.connect()
        let ending = Task { await failure { try await client.disconnect() } }
        #expect(await eventually { runtime.count("POST stop_session") == 1 })
        client.close()
        #expect(await ending.value?.code == .aborted)
    }

    @Test("C2 disconnect() and close() during connect() abort it; disconnect() ends what was made", arguments: [true, false])
    func endDuringConnect(_ disconnects: Bool) async throws {
        let runtime = try FakeRuntime { $0.peer.startsSilent = true }
        let client = try runtime.client()
        let connecting = Task { await failure { try await client.connect() } }
        #expect(await eventually { client.status == .waiting && !runtime.brain.peers.isEmpty })
        if disconnects { try await client.disconnect() } else { client.close() }
        #expect(await connecting.value?.code == .aborted)
        #expect(client.status == .disconnected)
        #expect(runtime.endCount == (disconnects ? 1 : 0))
        client.close()
    }

    @Test("SW-03 connect() right after disconnect(): the old connection's end does not touch the new one")
    func quickReconnect() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        for _ in 0..<5 {
            try await client.connect()
            let old = try runtime.peer
            try await client.disconnect()
            old.post { $0.sayGoodbye() }
            let trace = Trace(client)
            try await client.connect()
            await old.close()
            #expect(client.status == .ready)
            #expect(try await client.sendCommand("echo", ["n": 1])?.data?["n"] == 1)
            #expect(!trace.all.contains { $0.hasPrefix("error") })
            try await client.disconnect()
        }
    }

    @Test("X-18 a handler may close the client, and may own the last reference to it")
    func endsInHandler() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let subscription = client.onStatus { [client] in if $0 == .ready { client.close() } }
        // The call may win or be aborted; both are right.
        let error = await failure { try await client.connect() }
        #expect(error == nil || error?.code == .aborted)
        #expect(await eventually { client.status == .disconnected })
        subscription.cancel()

        let other = try FakeRuntime()
        let holder = SharedBox<Reactor>()
        var owner: Reactor? = try other.client()
        weak let observed = owner
        holder.value = owner
        let second = owner?.onStatus { if $0 == .ready { holder.value = nil } }
        try await owner?.connect()
        owner = nil
        #expect(await eventually { observed == nil })
        second?.cancel()
    }

    @Test("LEAK-01 20 cycles of connect, stream, disconnect: descriptors and threads return to where they were")
    func cycles() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        func cycle() async throws {
            try await client.connect()
            var frames = try client.track("main_video").videoFrames.makeAsyncIterator()
            _ = await frames.next()
            try await client.disconnect()
            await runtime.brain.peers.last?.close()
        }
        for _ in 0..<3 { try await cycle() }
        let threads = ProcessResources.threadCount
        let descriptors = ProcessResources.descriptorCount
        for _ in 0..<20 { try await cycle() }
        #expect(await eventually { ProcessResources.descriptorCount <= descriptors + 3 })
        #expect(await eventually { ProcessResources.threadCount <= threads + 3 })
    }
}

extension SessionEngine {
    /// The connection, when there is exactly one.
    var onlyPeer: PeerConnection? { connections.count == 1 ? connections.first?.value.peer : nil }
}

final class SharedFlag: Sendable {
    private let state: Mutex<Bool>
    init(_ value: Bool) { state = Mutex(value) }
    var value: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

final class SharedBox<Value: AnyObject & Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)
    var value: Value? {
        get { state.withLock { $0 } }
        set {
            // What goes may be the last reference: outside the lock.
            let old = state.withLock { state in
                defer { state = newValue }
                return state
            }
            withExtendedLifetime(old) {}
        }
    }
}

final class Counter: Sendable {
    private let state = Mutex(0)
    /// 0, 1, 2, …
    func next() -> Int {
        state.withLock { value in
            defer { value += 1 }
            return value
        }
    }
    var value: Int { state.withLock { $0 } }
}
