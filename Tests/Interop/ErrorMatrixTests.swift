import Foundation
import Reactor
import Synchronization
import Testing

extension Interop {
    /// Every way a connect can fail: a typed error within its limit, and nothing left behind.
    @Suite("Errors")
    struct ErrorMatrixTests {
        private static let warmedUp = Task { await ProcessUsage.warmUp() }

        struct Status: Sendable, CustomTestStringConvertible {
            var status: Int
            var code: ReactorError.Code
            var isLocal = true
            var testDescription: String { "\(status) \(isLocal ? "local" : "hosted")" }
        }

        static let statuses: [Status] = [true, false].flatMap { isLocal in
            [
                (401, ReactorError.Code.unauthorized), (403, .unauthorized), (404, .notFound), (409, .conflict), (429, .rateLimited),
                (500, .serverError), (503, .serverError), (400, .badRequest), (426, .versionMismatch),
            ].map { Status(status: $0.0, code: $0.1, isLocal: isLocal) }
        }

        @Test("An HTTP status at session creation is the error with its code", arguments: statuses)
        func refusedAtCreation(_ expected: Status) async throws {
            let server = try FaultServer { _ in
                .status(
                    expected.status, headers: expected.status == 429 ? ["Retry-After": "3"] : [:],
                    body: "{\"detail\":\"refused, says the test\"}")
            }
            let error = try await failedConnect(to: server.url, isLocal: expected.isLocal, within: 1)
            #expect(error.code == expected.code)
            // A version that does not fit carries no status (wire protocol §8.2).
            #expect(error.status == (expected.code == .versionMismatch ? nil : expected.status))
            #expect(error.operation == "connect")
            #expect(error.message.contains("refused, says the test"))
            #expect(error.retryAfter == (expected.status == 429 ? .seconds(3) : nil))
            #expect(!server.requests.contains { $0.key == "POST stop_session" || $0.method == "DELETE" }, "there was no session to end")
            server.stop()
        }

        @Test("A port nobody listens on is NETWORK_ERROR")
        func wrongPort() async throws {
            let error = try await failedConnect(to: "http://127.0.0.1:9", within: 1)
            #expect(error.code == .networkError)
        }

        @Test("A server that closes the connection without a word is NETWORK_ERROR")
        func noAnswerAtAll() async throws {
            let server = try FaultServer { _ in .hangUp }
            let error = try await failedConnect(to: server.url, within: 2)
            #expect(error.code == .networkError)
            server.stop()
        }

        @Test("A second client while a session runs is CONFLICT, and leaves that session alone")
        func conflictWithRunningSession() async throws {
            try await withRuntime { runtime in
                let first = try client(runtime.url)
                try await first.connect()
                let error = try await failedConnect(to: runtime.url, within: 3)
                #expect(error.code == .conflict)
                #expect(error.status == 409)
                #expect(first.status == .ready)
                let reply = try await first.sendCommand("echo", ["payload": "mine"])
                #expect(reply?.data?["payload"] == "mine")
                try await first.disconnect()
                first.close()
            }
        }

        struct Step: Sendable, CustomTestStringConvertible {
            var key: String
            var status: Int
            var code: ReactorError.Code
            var testDescription: String { "\(status) at \(key)" }
        }

        static let steps = [
            Step(key: "GET ice_servers", status: 500, code: .serverError), Step(key: "POST connections", status: 503, code: .serverError),
            Step(key: "POST sdp_params", status: 404, code: .notFound), Step(key: "GET sdp_params", status: 401, code: .unauthorized),
            Step(key: "GET sdp_params", status: 429, code: .rateLimited),
        ]

        @Test("A later step that fails ends the session that was created", arguments: steps)
        func refusedLater(_ step: Step) async throws {
            let server = try FaultServer { request in
                request.key == step.key ? .status(step.status) : CannedRuntime.answer(request)
            }
            let error = try await failedConnect(to: server.url, within: 2)
            #expect(error.code == step.code)
            #expect(error.status == step.status)
            #expect(await eventually(within: 2) { server.count("POST stop_session") == 1 }, "\(server.requests.map(\.key))")
            server.stop()
        }

        @Test("A server that takes the request for a session and stays silent ends at connectTimeout")
        func silentServer() async throws {
            let server = try FaultServer { _ in .silent }
            let error = try await failedConnect(to: server.url, connectTimeout: .seconds(1), within: 1.5)
            #expect(error.code == .requestTimeout)
            server.stop()
        }

        @Test("A server that goes silent after the session was created ends at connectTimeout, and the session is ended")
        func silentLater() async throws {
            let server = try FaultServer { request in
                request.key == "POST connections" ? .silent : CannedRuntime.answer(request)
            }
            let error = try await failedConnect(to: server.url, connectTimeout: .seconds(1), within: 1.5)
            #expect(error.code == .requestTimeout)
            #expect(await eventually(within: 2) { server.count("POST stop_session") == 1 })
            server.stop()
        }

        @Test("A silent server ends at the 30 s limit of creating a session", .enabled(if: Settings.isFull, "takes 30 s: full run only"))
        func silentServerDefault() async throws {
            let server = try FaultServer { _ in .silent }
            let error = try await failedConnect(to: server.url, within: 31)
            #expect(error.code == .requestTimeout)
            server.stop()
        }

        @Test("A server silent at a later step ends at its 15 s limit", .enabled(if: Settings.isFull, "takes 15 s: full run only"))
        func silentLaterDefault() async throws {
            let server = try FaultServer { request in
                request.key == "POST connections" ? .silent : CannedRuntime.answer(request)
            }
            let error = try await failedConnect(to: server.url, within: 16)
            #expect(error.code == .requestTimeout)
            #expect(await eventually(within: 2) { server.count("POST stop_session") == 1 })
            server.stop()
        }

        @Test("An answer that never comes ends after 12.6 s", .enabled(if: Settings.isFull, "takes 12.6 s: full run only"))
        func noAnswerDefault() async throws {
            let server = try FaultServer(CannedRuntime.answer)
            let begin = Stopwatch()
            let error = try await failedConnect(to: server.url, within: 13.2)
            measured("no_answer_given_up", begin.milliseconds, "ms")
            measured("no_answer_polls", Double(server.count("GET sdp_params")), "polls")
            #expect(error.code == .requestTimeout)
            #expect(begin.seconds > 12)
            #expect(await eventually(within: 2) { server.count("POST stop_session") == 1 })
            server.stop()
        }

        @Test("An answer that never comes ends at connectTimeout, and the session is ended")
        func noAnswer() async throws {
            let server = try FaultServer(CannedRuntime.answer)
            let error = try await failedConnect(to: server.url, connectTimeout: .seconds(1), within: 1.5)
            #expect(error.code == .requestTimeout)
            #expect(await eventually(within: 2) { server.count("POST stop_session") == 1 })
            server.stop()
        }

        @Test("An answer with H264 alone, or with the video refused, is a typed error that says so", arguments: [true, false])
        func h264Only(_ offersH264: Bool) async throws {
            let offer = Mutex("")
            let server = try FaultServer { request in
                if request.key == "POST sdp_params" { offer.withLock { $0 = CannedRuntime.offer(in: request) } }
                guard request.key == "GET sdp_params" else { return CannedRuntime.answer(request) }
                return CannedRuntime.answerBody(
                    CannedRuntime.sdpAnswer(to: offer.withLock { $0 }, video: offersH264 ? .h264 : .refused))
            }
            let error = try await failedConnect(to: server.url, within: 2)
            #expect(error.code == .transportError)
            #expect(error.message.lowercased().contains("codec") || error.message.contains("main_video"), "\(error.message)")
            #expect(await eventually(within: 2) { server.count("POST stop_session") == 1 })
            server.stop()
        }

        @Test(
            "An answer that is no SDP, or not one to our offer, is a typed error",
            arguments: ["", "v=0", "hello", "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"])
        func nonsenseAnswer(_ text: String) async throws {
            let server = try FaultServer { request in
                request.key == "GET sdp_params" ? CannedRuntime.answerBody(text) : CannedRuntime.answer(request)
            }
            let error = try await failedConnect(to: server.url, within: 2)
            #expect([.decodeFailed, .transportError].contains(error.code), "\(error)")
            #expect(await eventually(within: 2) { server.count("POST stop_session") == 1 })
            server.stop()
        }

        @Test(
            "Bodies that cannot be read are DECODE_FAILED",
            arguments: ["", "[]", "{\"session_id\":5}", "<html>", "{\"session_id\":\"../x\"}"])
        func nonsenseDescriptor(_ body: String) async throws {
            let server = try FaultServer { request in
                request.key == "POST start_session" ? .status(200, body: body) : CannedRuntime.answer(request)
            }
            let error = try await failedConnect(to: server.url, within: 2)
            #expect(error.code == .decodeFailed || error.code == .badRequest, "\(error)")
            server.stop()
        }

        @Test("A refused connect can be tried again on the same client")
        func secondTry() async throws {
            try await withRuntime { runtime in
                let isRefusing = Mutex(true)
                let port = runtime.port
                let server = try FaultServer { _ in isRefusing.withLock { $0 } ? .status(503) : .forward(port) }
                let reactor = try client(server.url)
                await #expect(throws: ReactorError.self) { try await reactor.connect() }
                isRefusing.withLock { $0 = false }
                try await reactor.connect()
                #expect(reactor.status == .ready)
                try await reactor.disconnect()
                reactor.close()
                server.stop()
            }
        }

        /// Connects, expects a failure within the limit, one error event that says the same, and threads and descriptors back.
        private func failedConnect(
            to url: String, isLocal: Bool = true, connectTimeout: Duration? = nil, within seconds: Double,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> ReactorError {
            await Self.warmedUp.value
            let start = ProcessUsage.now
            let errors = Recorder<ReactorError>()
            let statuses = Recorder<ReactorStatus>()
            var configuration = ReactorConfiguration()
            configuration.apiURL = url
            configuration.local = isLocal
            configuration.connectTimeout = connectTimeout
            let failure: ReactorError
            do {
                let reactor = try Reactor(model: "interop/probe", jwt: isLocal ? nil : "token-of-the-test", configuration: configuration)
                let subscriptions = [reactor.onError { errors.add($0) }, reactor.onStatus { statuses.add($0) }]
                let begin = Stopwatch()
                let thrown = await #expect(throws: ReactorError.self, sourceLocation: sourceLocation) { try await reactor.connect() }
                let elapsed = begin.seconds
                failure = try #require(thrown, sourceLocation: sourceLocation)
                #expect(elapsed <= Settings.limit(seconds, debugFactor: 1.5), "\(failure)", sourceLocation: sourceLocation)
                #expect(reactor.status == .disconnected, sourceLocation: sourceLocation)
                #expect(reactor.sessionID == nil, sourceLocation: sourceLocation)
                #expect(await eventually(within: 1) { errors.count >= 1 }, sourceLocation: sourceLocation)
                #expect(errors.values.map(\.code) == [failure.code], "\(errors.values)", sourceLocation: sourceLocation)
                #expect(statuses.values.first == .connecting, sourceLocation: sourceLocation)
                #expect(
                    await eventually(within: 1) { statuses.values.last == .disconnected }, "\(statuses.values)",
                    sourceLocation: sourceLocation)
                #expect(!failure.message.contains("token-of-the-test"), sourceLocation: sourceLocation)
                for subscription in subscriptions { subscription.cancel() }
                reactor.close()
            }
            // A request that creates a session is waited for a while after its call has ended, so that no session is lost.
            let usage = await ProcessUsage.settled(to: start)
            #expect(usage.isWithin(start), "left behind: \(usage)\nat the start: \(start)", sourceLocation: sourceLocation)
            return failure
        }
    }
}
