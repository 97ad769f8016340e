import Foundation
import Reactor
import Testing

extension Interop {
    /// The server goes away under a connection.
    @Suite("Server loss")
    struct ServerLossTests {
        @Test("SIGKILL: calls in flight fail DISCONNECTED, one error, status disconnected, at once")
        func killed() async throws {
            try await lose(limitSeconds: 5, name: "server_killed") { $0.kill() }
        }

        @Test("SIGSTOP: silence is noticed within 5.5 s, and disconnect() does not hang on it")
        func frozen() async throws {
            try await lose(limitSeconds: 5.5, name: "server_frozen") { $0.freeze() }
        }

        @Test("The session ended by somebody else is noticed within 1 s")
        func ended() async throws {
            try await lose(limitSeconds: 1, name: "server_goodbye") { try await $0.stopSession() }
        }

        @Test("SIGTERM: an orderly end is noticed at once")
        func terminated() async throws {
            try await lose(limitSeconds: 5, name: "server_terminated") { await $0.stop() }
        }

        /// Connects, has a call in flight, does something to the server, and looks at what the client makes of it.
        private func lose(limitSeconds: Double, name: String, _ fault: (RuntimeProcess) async throws -> Void) async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                let errors = Recorder<ReactorError>()
                let statuses = Recorder<ReactorStatus>()
                let subscriptions = [reactor.onError { errors.add($0) }, reactor.onStatus { statuses.add($0) }]
                try await reactor.connect()
                let report = StreamReport()
                let track = try reactor.track("main_video")
                let watching = Task { try await report.watch(track) }
                #expect(await eventually(within: 5) { report.frames > 10 })
                let calls = (0..<3).map { _ in
                    Task { () -> ReactorError? in
                        do {
                            try await reactor.sendCommand("slow", ["seconds": 30])
                            return nil
                        } catch {
                            return error as? ReactorError
                        }
                    }
                }
                // The calls are on their way when this one is answered, because the channel keeps the order.
                try await Task.sleep(for: .milliseconds(100))

                let begin = Stopwatch()
                async let noticed = Self.noticed(reactor, begin, patience: limitSeconds + 10)
                try await fault(runtime)
                let seconds = try #require(await noticed, "the loss was never noticed")
                measured("\(name)_noticed", seconds * 1000, "ms")
                #expect(seconds <= limitSeconds)
                for call in calls {
                    let error = await call.value
                    #expect(error?.code == .disconnected, "\(String(describing: error))")
                }
                measured("\(name)_calls_failed", begin.milliseconds, "ms")
                #expect(reactor.status == .disconnected)
                #expect(await eventually(within: 1) { errors.count >= 1 })
                // A second error would come with the next thing that finds the connection gone.
                try await Task.sleep(for: .milliseconds(300))
                #expect(errors.count == 1, "\(errors.values)")
                #expect(errors.values.first?.code == .disconnected)
                #expect(errors.values.first?.timestampMS != nil)
                #expect(statuses.values == [.connecting, .waiting, .ready, .disconnected])
                do {
                    try await reactor.sendCommand("echo", ["payload": "late"])
                    Issue.record("a command went to a server that is gone")
                } catch let error as ReactorError {
                    #expect(error.code == .invalidState)
                }
                let end = Stopwatch()
                try await reactor.disconnect()
                measured("\(name)_disconnect", end.milliseconds, "ms")
                // A frozen server takes the request and never answers; the limit for that is 5 s.
                #expect(end.seconds < 6)
                watching.cancel()
                for subscription in subscriptions { subscription.cancel() }
                reactor.close()
                runtime.thaw()
            }
        }

        private static func noticed(_ reactor: Reactor, _ begin: Stopwatch, patience: Double) async -> Double? {
            while begin.seconds < patience {
                if reactor.status == .disconnected { return begin.seconds }
                try? await Task.sleep(for: .milliseconds(2))
            }
            return nil
        }
    }
}
