import Dispatch
import Foundation
import PeerTestSupport
import RTCBase
import RTCPeer
import ReactorCore
import Synchronization
import Testing

@testable import Reactor

/// Rules of the client of api.md A2 and A5 that no other suite is about: making one, tokens, queues and events.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientRuleTests {
    private func json(_ request: ScriptedServer.Request) throws -> JSONValue { try JSONValue(jsonText: request.text) }

    // MARK: Making a client

    @Test(
        "R-7 a model name is sent as given, with an owner or bare: what a bare one means is the server's",
        arguments: ["owner/name", "bare"])
    func modelName(_ name: String) async throws {
        let runtime = try FakeRuntime { $0.isLocal = false }
        let client = try Reactor(model: name, jwt: "t", apiURL: runtime.server.url)
        try await client.connect()
        let create = try #require(runtime.server.requests.first { $0.method == "POST" && $0.path == "/sessions" })
        #expect(try json(create)["model"] == ["name": .string(name)])
        #expect(client.model == name)
        try await client.disconnect()
    }

    @Test("R-8 a given token is the bearer token of every request, unchanged")
    func givenToken() async throws {
        let jwt = "eyJhbGciOi.eyJzdWIi-_~+/==.c2ln"
        let runtime = try FakeRuntime { $0.isLocal = false }
        let client = try Reactor(model: "owner/model", jwt: jwt, apiURL: runtime.server.url)
        try await client.connect()
        try await client.reconnect()
        try await client.disconnect()
        let requests = runtime.server.requests
        #expect(Set(requests.map(\.method)) == ["GET", "POST", "PUT", "DELETE"])
        for request in requests { #expect(request.headers["authorization"] == "Bearer \(jwt)", "\(request.method) \(request.path)") }
    }

    @Test("R-12 without an event queue each client has a serial queue of its own")
    func ownQueue() async throws {
        let one = try Reactor(model: "owner/model", local: true)
        let other = try Reactor(model: "owner/model", local: true)
        #expect(one.state.hub.queue !== other.state.hub.queue)
        #expect(one.state.hub.queue !== DispatchQueue.main)
        let given = DispatchQueue(label: "test.given")
        #expect(try Reactor(model: "owner/model", local: true, eventQueue: given).state.hub.queue === given)
        // On a serial queue the second block cannot run while the first waits for it.
        let queue = one.state.hub.queue
        let gate = DispatchSemaphore(value: 0)
        let result = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: gate.wait(timeout: .now() + .milliseconds(200))) }
            queue.async { gate.signal() }
        }
        #expect(result == .timedOut)
    }

    @Test("R-14 a C library of another interface makes init throw versionMismatch, and names it; those of this machine fit")
    func nativeMismatch() throws {
        #expect(throws: Never.self) { try Reactor(model: "a/b") }
        let error = #expect(throws: ReactorError.self) { try Reactor.check(mismatchedLibraries: ["libvpx", "OpenSSL"]) }
        #expect(error?.code == .versionMismatch && error?.operation == "create")
        #expect(error?.message.contains("libvpx, OpenSSL") == true && error?.message.contains("rebuild") == true)
    }

    @Test("R-15 with an API key the token is exchanged once, limited to the model, and then used; the key goes nowhere else")
    func exchangesKey() async throws {
        let runtime = try FakeRuntime {
            $0.isLocal = false
            $0.override = { $0.path == "/tokens" ? [.reply(200, #"{"jwt":"minted.token"}"#)] : nil }
        }
        let client = try await Reactor(model: "owner/model", apiKey: "rk_secret", apiURL: runtime.server.url)
        #expect(runtime.server.requests.map { "\($0.method) \($0.path)" } == ["POST /tokens"])
        #expect(client.status == .disconnected)
        try await client.connect()
        #expect(client.status == .ready)
        try await client.disconnect()
        let requests = runtime.server.requests
        let exchange = try #require(requests.first)
        #expect(exchange.headers["reactor-api-key"] == "rk_secret" && exchange.headers["authorization"] == nil)
        #expect(try json(exchange)["authorization_details"]?[0]?["resources"] == ["models": ["match": ["owner/model"]]])
        for request in requests.dropFirst() {
            #expect(request.path != "/tokens")
            #expect(request.headers["authorization"] == "Bearer minted.token")
            #expect(request.headers["reactor-api-key"] == nil && !request.text.contains("rk_secret"))
        }
        #expect(requests.count >= 7)
    }

    @Test("R-15 a key that is refused makes no client")
    func refusedKey() async throws {
        let server = try ScriptedServer(.reply(401, #"{"detail":"no such key"}"#))
        let error = await failure { try await Reactor(model: "owner/model", apiKey: "rk_secret", apiURL: server.url) }
        #expect(error?.code == .unauthorized)
        #expect(server.requests.count == 1)
    }

    @Test("R-77 fetchJWT returns a token without a client, and the options go with the request; without any it limits nothing")
    func fetchJWT() async throws {
        let server = try ScriptedServer(.reply(200, #"{"jwt":"a.b.c"}"#))
        let options = TokenOptions(models: ["o/n"], sessions: ["s-1"], maxSessions: 2, maxSessionDuration: 600, expiresAfter: 60)
        #expect(try await Reactor.fetchJWT(apiKey: "rk_1", apiURL: server.url, options: options) == "a.b.c")
        #expect(try await Reactor.fetchJWT(apiKey: "rk_1", apiURL: server.url) == "a.b.c")
        let requests = server.requests
        #expect(requests.map { "\($0.method) \($0.path)" } == ["POST /tokens", "POST /tokens"])
        let body: JSONValue = [
            "authorization_details": [
                [
                    "type": "session", "resources": ["models": ["match": ["o/n"]], "sessions": ["bind": ["s-1"]]],
                    "constraints": ["max_sessions": 2, "max_session_duration_seconds": 600],
                ]
            ],
            "expires_after": 60,
        ]
        #expect(try json(requests[0]) == body)
        #expect(requests[1].text == "null")
    }

    @Test("R-9 every request goes below the given base, and the default is production")
    func base() async throws {
        #expect(try Reactor(model: "owner/name").engine.endpoint.baseURL == "https://api.reactor.inc")
        #expect(ReactorConfiguration().apiURL == Reactor.defaultAPIURL)
        let runtime = try FakeRuntime { $0.isLocal = false }
        let client = try Reactor(model: "owner/name", jwt: "t", apiURL: runtime.server.url + "/some/where/")
        try await client.connect()
        try await client.reconnect()
        try await client.disconnect()
        let paths = runtime.server.requests.map(\.path)
        #expect(paths.contains("/some/where/sessions"))
        #expect(paths.filter { !$0.hasPrefix("/some/where/sessions") }.isEmpty)
    }

    // MARK: Events

    @Test("R-5, R-6 with the main queue handlers run on it, and connect() from the main actor does not wait for it")
    @MainActor func mainQueue() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client(eventQueue: .main)
        // The main queue is not always served by the first thread.
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        defer { DispatchQueue.main.setSpecific(key: key, value: nil) }
        let places = Mutex<[Bool]>([])
        let subscription = client.onStatus { _ in places.withLock { $0.append(DispatchQueue.getSpecific(key: key) == true) } }
        try await client.connect()
        #expect(client.status == .ready)
        #expect(await eventually { places.withLock { $0 } == [true, true, true] })
        try await client.disconnect()
        subscription.cancel()
    }

    @Test("R-4 handlers of all four kinds run on the client's serial queue, not where the event came from")
    func handlersOnTheQueue() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let key = DispatchSpecificKey<String>()
        client.state.hub.queue.setSpecific(key: key, value: "own")
        let places = Mutex<[String: Set<String>]>([:])
        @Sendable func note(_ kind: String) {
            let isNetwork = NetworkThread.executor.isIsolatingCurrentContext() == true
            let place = "\(DispatchQueue.getSpecific(key: key) ?? "elsewhere")\(isNetwork ? ", on the network thread" : "")"
            places.withLock { _ = $0[kind, default: []].insert(place) }
        }
        let subscriptions = [
            client.onStatus { _ in note("status") }, client.onMessage { _ in note("message") },
            client.onRuntimeMessage { _ in note("runtime message") }, client.onError { _ in note("error") },
        ]
        try await client.connect()
        try await client.sendCommand("broadcast", ["n": 1])
        try await client.sendCommand("notice")
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { places.withLock { $0.count } == 4 })
        #expect(await eventually { client.status == .disconnected })
        for kind in ["status", "message", "runtime message", "error"] { #expect(places.withLock { $0[kind] } == ["own"], "\(kind)") }
        client.close()
        withExtendedLifetime(subscriptions) {}
    }

    @Test("R-58 no tracks until the session has declared them, also while connect() runs")
    func tracksDuringConnect() async throws {
        let gate = DispatchSemaphore(value: 0)
        let runtime = try FakeRuntime {
            $0.override = { request in
                if request.path == "/start_session" { gate.wait() }
                return nil
            }
        }
        let client = try runtime.client()
        let connecting = Task { try await client.connect() }
        #expect(await eventually { runtime.count("POST start_session") == 1 })
        #expect(client.status == .connecting)
        #expect(client.tracks.isEmpty)
        #expect(try client.track("webcam").kind == nil)
        #expect(try client.track("webcam").direction == nil)
        gate.signal()
        #expect(try await client.waitForTrack("webcam").direction == .sendonly)
        #expect(client.tracks.count == 4)
        try await connecting.value
        try await client.disconnect()
    }

    @Test("R-63 a subscription that is released stops its handler, and no other")
    func releasedSubscription() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let kept = Counter()
        let released = Counter()
        var subscription: Subscription? = client.onMessage { _ in _ = released.next() }
        let other = client.onMessage { _ in _ = kept.next() }
        try await client.sendCommand("broadcast", ["n": 1])
        #expect(await eventually { kept.value == 1 && released.value == 1 })
        #expect(subscription != nil)
        subscription = nil
        try await client.sendCommand("broadcast", ["n": 2])
        #expect(await eventually { kept.value == 2 })
        #expect(released.value == 1)
        try await client.disconnect()
        withExtendedLifetime(other) {}
    }

    @Test("R-73 statusUpdates, errors and messages give what the handlers get, and each access is a stream of its own")
    func streamsLikeHandlers() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let seen = Mutex<(statuses: [ReactorStatus], errors: [ReactorError], messages: [JSONValue])>(([], [], []))
        let subscriptions = [
            client.onStatus { value in seen.withLock { $0.statuses.append(value) } },
            client.onError { value in seen.withLock { $0.errors.append(value) } },
            client.onMessage { value in seen.withLock { $0.messages.append(value) } },
        ]
        let statuses = [client.statusUpdates, client.statusUpdates]
        let errors = [client.errors, client.errors]
        let messages = [client.messages, client.messages]
        try await client.connect()
        for number in 1...3 { try await client.sendCommand("broadcast", ["n": .number(Double(number))]) }
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { seen.withLock { $0.statuses.last == .disconnected && $0.errors.count == 1 && $0.messages.count == 3 } })
        client.close()
        let handled = seen.withLock { $0 }
        #expect(handled.statuses == [.connecting, .waiting, .ready, .disconnected])
        #expect(handled.errors.map(\.code) == [.disconnected])
        for stream in statuses { #expect(await stream.reduce(into: []) { $0.append($1) } == handled.statuses) }
        for stream in errors {
            let all = await stream.reduce(into: [ReactorError]()) { $0.append($1) }
            #expect(all.map(\.message) == handled.errors.map(\.message) && all.map(\.timestampMS) == handled.errors.map(\.timestampMS))
        }
        for stream in messages { #expect(await stream.reduce(into: []) { $0.append($1) } == handled.messages) }
        withExtendedLifetime(subscriptions) {}
    }

    @Test("X-20 when connect() returns the status is ready; the event may still be on its way")
    func readyBeforeItsEvent() async throws {
        let runtime = try FakeRuntime()
        let queue = DispatchQueue(label: "test.events")
        let client = try runtime.client(eventQueue: queue)
        let seen = Mutex<[ReactorStatus]>([])
        let subscription = client.onStatus { status in seen.withLock { $0.append(status) } }
        queue.suspend()
        try await client.connect()
        #expect(client.status == .ready)
        #expect(!seen.withLock { $0.contains(.ready) })
        // The session can be used before anybody has heard of it.
        #expect(try await client.sendCommand("echo", ["a": 1])?.data?["a"] == 1)
        queue.resume()
        #expect(await eventually { seen.withLock { $0 } == [.connecting, .waiting, .ready] })
        try await client.disconnect()
        subscription.cancel()
    }

    // MARK: Commands

    @Test("R-38 uploads travel next to the payload, under their parameters' names, not inside it")
    func uploadsNextToPayload() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        let image = FileRef(uploadID: "u1", name: "a.png", mimeType: "image/png", size: 5)
        let mask = FileRef(uploadID: "u2", name: "m.png", mimeType: "image/png", size: 7)
        try await client.sendCommand("ack", ["strength": 0.5], uploads: ["image": image, "mask": mask])
        try await client.sendCommand("ack", uploads: ["image": image])
        let sent = try await runtime.peer.run { core in core.messages.filter { $0.channel == "data" }.map(\.bytes) }
        let commands = try sent.map { bytes -> Command? in
            guard case .command(let command)? = try DataClientMessage(parsing: bytes).payload else { return nil }
            return command
        }
        #expect(commands.map { $0?.data } == [["strength": .number(0.5)], [:]])
        let first = UploadReference(uploadID: "u1", name: "a.png", mimeType: "image/png", size: 5)
        let second = UploadReference(uploadID: "u2", name: "m.png", mimeType: "image/png", size: 7)
        #expect(commands.map { $0?.uploads } == [["image": first, "mask": second], ["image": first]])
        try await client.disconnect()
    }

    // MARK: Tracks

    @Test("T-25 pushFrame throws invalidState: on a track that is received, before publish(), out of ready, on the wrong kind")
    func pushesRefused() async throws {
        let runtime = try FakeRuntime { $0.hasMicrophone = true }
        let client = try runtime.client()
        try await client.connect()
        let (webcam, mic) = (try client.track("webcam"), try client.track("mic"))
        let pixels = Data(count: 16 * 16 * 4)
        func picture(_ track: Track) -> ReactorError.Code? {
            (try? #require(throws: ReactorError.self) { try track.pushFrame(pixels, width: 16, height: 16) })?.code
        }
        func sound(_ track: Track) -> ReactorError.Code? {
            (try? #require(throws: ReactorError.self) { try track.pushFrame([Int16](repeating: 0, count: 480)) })?.code
        }
        #expect(picture(try client.track("main_video")) == .invalidState)
        #expect(sound(try client.track("main_audio")) == .invalidState)
        #expect(picture(webcam) == .invalidState)
        #expect(sound(mic) == .invalidState)
        try await webcam.publish()
        try await mic.publish()
        #expect(throws: Never.self) { try webcam.pushFrame(pixels, width: 16, height: 16) }
        #expect(throws: Never.self) { try mic.pushFrame([Int16](repeating: 0, count: 480)) }
        #expect(picture(mic) == .invalidState)
        #expect(sound(webcam) == .invalidState)
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { client.status == .disconnected })
        #expect(picture(webcam) == .invalidState)
        #expect(sound(mic) == .invalidState)
        client.close()
    }

    @Test("X-12 a handler registered early on a track that turns out to send stays, is never called, and is warned of once")
    func handlerOnSendingTrack() async throws {
        let runtime = try FakeRuntime()
        let warnings = Mutex<[[String: String]]>([])
        let logger = ReactorLogger(minimumLevel: .warning) { record in warnings.withLock { $0.append(record.metadata) } }
        let client = try runtime.client { $0.logger = logger }
        let (called, received) = (Counter(), Counter())
        let track = try client.track("webcam")
        let subscriptions = [
            try track.onFrame { (_: VideoFrame) in _ = called.next() }, try track.onRawFrame { _ in _ = called.next() },
            try client.track("main_video").onFrame { (_: VideoFrame) in _ = received.next() },
        ]
        try await client.connect()
        #expect(track.direction == .sendonly)
        try await track.publish()
        try track.pushFrame(Data(count: 16 * 16 * 4), width: 16, height: 16)
        #expect(await eventually { received.value > 5 })
        try await client.reconnect()
        #expect(warnings.withLock { $0 } == [["track": "webcam"]])
        #expect(called.value == 0)
        // Registered now it is refused.
        #expect(throws: ReactorError.self) { try track.onFrame { (_: VideoFrame) in } }
        try await client.disconnect()
        withExtendedLifetime(subscriptions) {}
    }

    // MARK: After the end

    @Test("X-3, R-2 after close() uploads, clips, downloads, waits and settings throw invalidState too")
    func closedForAll() async throws {
        let client = try Reactor(model: "owner/name", apiURL: "http://127.0.0.1:1", local: true)
        let track = try client.track("x")
        let clip = try Clip(payload: ["playlist_url": "http://127.0.0.1:1/p"])
        let file = URL(filePath: "/tmp/never-\(UInt64.random(in: 0 ... .max))")
        client.close()
        let calls: [(String, () async throws -> Void)] = [
            ("connect", { try await client.connect(sessionID: "s") }),
            ("uploadFile", { _ = try await client.uploadFile(at: URL(filePath: "/proc/version")) }),
            ("uploadData", { _ = try await client.uploadData(Data([1]), name: "a", mimeType: "a/b") }),
            ("requestClip", { _ = try await client.requestClip(.seconds(1)) }),
            ("requestRecording", { _ = try await client.requestRecording() }),
            ("download", { _ = try await client.download(clip, to: file) }),
            ("typed command", { try await client.sendCommand("x", arguments: ["a": 1]) }),
            ("publish", { try await track.publish() }),
            ("resume", { try await track.resume() }),
            ("setBitrate", { try await client.setBitrate(max: 1) }),
            ("waitForStatus", { try await client.waitForStatus(.ready) }),
            ("push", { try track.pushFrame(Data(count: 4), width: 1, height: 1) }),
            ("sound", { try track.pushFrame([0]) }),
        ]
        for (name, call) in calls { #expect(await failure(call)?.code == .invalidState, "\(name)") }
    }

    // MARK: Durations

    @Test(
        "X-21 durations that are negative, zero or longer than any clock are clamped or refused, never trapped on",
        arguments: [.seconds(Int64.min) * 2, .seconds(Int64.min), .seconds(-1), .zero, .seconds(Int64.max), .seconds(Int64.max) * 2]
            as [Duration])
    func durations(_ odd: Duration) async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client {
            $0.connectTimeout = odd
            $0.commandTimeout = odd
            $0.reconnectPolicy = ReconnectPolicy(maxAttempts: 1, initialDelay: odd, maxDelay: odd)
        }
        let isLong = odd > .zero
        // The limit that is over at once ends the attempt; the other one never does.
        #expect(await failure { try await client.connect() }?.code == (isLong ? nil : .requestTimeout))
        let wait = await failure { try await client.waitForStatus(isLong ? .ready : .waiting, timeout: odd) }
        #expect(wait?.code == (isLong ? nil : .requestTimeout))
        if isLong {
            #expect(try await client.sendCommand("echo", ["a": 1])?.data?["a"] == 1)
            #expect(try client.track("main_audio").audioFrames(maxBacklog: odd) as AudioFrames? != nil)
            var stats = client.statsUpdates(every: odd).makeAsyncIterator()
            #expect(await stats.next() != nil)
            try runtime.peer.post { $0.sayGoodbye() }
            #expect(await eventually { client.status == .disconnected })
        } else {
            #expect(await failure { try await client.requestClip(odd) }?.code == .badRequest)
        }
        client.close()
        // A clip that is there is fetched whatever the limit says.
        let server = try ScriptedServer { request in
            [.reply(200, request.path == "/p" ? "#EXTM3U\n#EXT-X-MAP:URI=\"/i\"\n/0\n#EXT-X-ENDLIST\n" : "x")]
        }
        let clip = try Clip(payload: ["playlist_url": .string(server.url + "/p"), "predicted_ready_at_ms": 1e300])
        let file = FileManager.default.temporaryDirectory.appending(path: "reactor-rule-\(UInt64.random(in: 0 ... .max)).mp4")
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try await Reactor.download(clip, to: file, jwt: nil, readyTimeout: odd).bytes == 2)
    }

    // MARK: Clock

    @Test("R-74 timeMicros() never goes back and counts microseconds")
    func clockCounts() {
        var last = Reactor.timeMicros()
        for _ in 0..<100_000 {
            let now = Reactor.timeMicros()
            #expect(now >= last)
            last = now
        }
        // Held between two readings of another clock around it.
        let clock = ContinuousClock()
        let outerBegin = clock.now
        let begin = Reactor.timeMicros()
        let innerBegin = clock.now
        while innerBegin.duration(to: clock.now) < .milliseconds(30) {}
        let innerEnd = clock.now
        let end = Reactor.timeMicros()
        let outer = outerBegin.duration(to: clock.now)
        #expect(.microseconds(end - begin) >= innerBegin.duration(to: innerEnd) - .microseconds(2))
        #expect(.microseconds(end - begin) <= outer + .microseconds(2))
    }

    @Test("R-76 timeMicros() has nothing to do with the system clock")
    func clockIsNoDate() {
        let unix = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let year: Int64 = 365 * 86_400 * 1_000_000
        #expect((unix - Reactor.timeMicros()).magnitude > year)
    }
}
