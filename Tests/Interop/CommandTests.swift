import Foundation
import Reactor
import Synchronization
import Testing

extension Interop {
    /// Commands and messages over the data channels.
    @Suite("Commands")
    struct CommandTests {
        @Test("1000 echoes one at a time: none lost, each the own reply, quick")
        func echoesOneByOne() async throws {
            // Nothing to encode and next to nothing to send: the command path alone.
            try await withRuntime(["PROBE_SIZE": "160x96", "PROBE_FPS": "1"]) { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                for index in 0..<50 { _ = try await reactor.sendCommand("echo", ["payload": .string("warm \(index)")]) }
                var times: [Double] = []
                let cpu = ProcessUsage.cpuSeconds
                let all = Stopwatch()
                for index in 0..<1000 {
                    let begin = Stopwatch()
                    let reply = try await reactor.sendCommand("echo", ["payload": .string("payload \(index)")])
                    times.append(begin.milliseconds)
                    #expect(reply?.data?["payload"]?.stringValue == "payload \(index)")
                }
                let total = all.seconds
                measured("echo_p50", percentile(times, 0.5), "ms")
                measured("echo_p95", percentile(times, 0.95), "ms")
                measured("echo_p99", percentile(times, 0.99), "ms")
                measured("echo_max", times.max() ?? 0, "ms")
                measured("echo_rate", 1000 / total, "1/s")
                measured("echo_cpu_each", (ProcessUsage.cpuSeconds - cpu), "ms")
                #expect(times.count == 1000)
                #expect(percentile(times, 0.5) < Settings.limit(0.6))
                try await reactor.disconnect()
            }
        }

        @Test("Commands while 720p30 plays are answered and quick")
        func echoesUnderMedia() async throws {
            try await withRuntime(["PROBE_SIZE": "1280x720"]) { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let report = StreamReport()
                let track = try reactor.track("main_video")
                let watching = Task { try await report.watch(track) }
                #expect(await eventually(within: 5) { report.frames > 30 })
                var times: [Double] = []
                for index in 0..<300 {
                    let begin = Stopwatch()
                    let reply = try await reactor.sendCommand("echo", ["payload": .string("\(index)")])
                    times.append(begin.milliseconds)
                    #expect(reply?.data?["payload"]?.stringValue == "\(index)")
                }
                watching.cancel()
                measured("echo_playing_p50", percentile(times, 0.5), "ms")
                measured("echo_playing_p95", percentile(times, 0.95), "ms")
                try await reactor.disconnect()
            }
        }

        @Test("R-36 a refused command throws the server's own code, and the session goes on")
        func refusals() async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                let errors = Recorder<ReactorError>()
                let subscription = reactor.onError { errors.add($0) }
                try await reactor.connect()
                let expectations: [(String, JSONValue, ReactorError.Code)] = [
                    ("fail", ["code": "planned", "message": "asked to"], ReactorError.Code(rawValue: "planned")),
                    ("fail", ["code": "my_own_code", "message": "asked to"], ReactorError.Code(rawValue: "my_own_code")),
                    ("fail", ["code": "crash"], .handlerFailed),
                    ("no_such_command", [:], .invalidCommand),
                    ("set_video", ["width": 1, "height": 1], .invalidCommand),
                    ("set_prompt", [:], .invalidCommand),
                    ("echo", ["payload": 5], .invalidCommand),
                ]
                for (name, arguments, code) in expectations {
                    do {
                        let reply = try await reactor.sendCommand(name, arguments)
                        Issue.record("\(name) \(arguments) was not refused: \(String(describing: reply))")
                    } catch let error as ReactorError {
                        #expect(error.code == code, "\(name) \(arguments): \(error)")
                        #expect(error.operation == "send_command")
                        #expect(!error.message.isEmpty)
                    }
                }
                let reply = try await reactor.sendCommand("echo", ["payload": "still here"])
                #expect(reply?.data?["payload"] == "still here")
                #expect(reactor.status == .ready)
                subscription.cancel()
                try await reactor.disconnect()
            }
        }

        @Test("The server's first message arrives at every connect")
        func helloEveryTime() async throws {
            try await withRuntime { runtime in
                var arrived = 0
                for round in 0..<30 {
                    let reactor = try client(runtime.url)
                    let messages = reactor.messages
                    let hello = Task { () -> JSONValue? in
                        for await message in messages where message["type"] == "hello" { return message }
                        return nil
                    }
                    let patience = Task {
                        try await Task.sleep(for: .seconds(2))
                        hello.cancel()
                    }
                    try await reactor.connect()
                    let message = await hello.value
                    patience.cancel()
                    if message?["data"]?["width"] == 640 { arrived += 1 } else { Issue.record("no hello at connect \(round)") }
                    try await reactor.disconnect()
                    reactor.close()
                }
                measured("hello_arrived_of_30", Double(arrived), "connects")
                #expect(arrived == 30)
            }
        }

        @Test("Calls in flight get their own replies in whatever order these come")
        func severalInFlight() async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let order = Recorder<String>()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (index, seconds) in [0.6, 0.1, 0.4, 0.2].enumerated() {
                        group.addTask {
                            let reply = try await reactor.sendCommand("slow", ["seconds": .number(seconds)])
                            #expect(reply?.data?["seconds"]?.doubleValue == seconds)
                            order.add("slow \(index)")
                        }
                    }
                    for index in 0..<40 {
                        group.addTask {
                            let reply = try await reactor.sendCommand("echo", ["payload": .string("in flight \(index)")])
                            #expect(reply?.data?["payload"]?.stringValue == "in flight \(index)")
                            order.add("echo")
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(order.values.count == 44)
                // The model handles one command after another or side by side; either way the shortest wait is not last.
                #expect(order.values.contains("slow 1"))
                try await reactor.disconnect()
            }
        }

        @Test("Payloads of every size come back whole, those that go in parts too")
        func payloadSizes() async throws {
            try await withRuntime(["PROBE_FPS": "5"]) { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                // Not one letter repeated: a part lost or doubled in the middle must show.
                let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789")
                for size in [0, 1, 1000, 16_000, 65_536, 200_000, 262_144, 270_000, 1_000_000] {
                    let payload = String((0..<size).map { alphabet[($0 &* 31 &+ $0 / 997) % alphabet.count] })
                    let begin = Stopwatch()
                    let reply = try await reactor.sendCommand("echo", ["payload": .string(payload)])
                    measured("echo_\(size)_bytes", begin.milliseconds, "ms")
                    #expect(reply?.data?["payload"]?.stringValue == payload)
                    #expect(reply?.data?["size"]?.intValue == size)
                }
                let after = try await reactor.sendCommand("echo", ["payload": "after"])
                #expect(after?.data?["payload"] == "after")
                try await reactor.disconnect()
            }
        }

        @Test("Messages the model broadcasts all arrive, in order")
        func broadcast() async throws {
            try await withRuntime(["PROBE_FPS": "5"]) { runtime in
                let reactor = try client(runtime.url)
                let indices = Recorder<Int>()
                let subscription = reactor.onMessage { message in
                    if message["type"] == "filler", let index = message["data"]?["index"]?.intValue { indices.add(index) }
                }
                try await reactor.connect()
                try await reactor.sendCommand("emit", ["count": 2000, "size": 100])
                #expect(await eventually(within: 10) { indices.values.count >= 2000 })
                #expect(indices.values == Array(0..<2000))
                subscription.cancel()
                try await reactor.disconnect()
            }
        }

        @Test("The schema of the running model names its commands")
        func schema() async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let schema = try await reactor.requestSchema()
                let paths = try #require(schema["paths"]?.objectValue)
                #expect(Set(paths.keys).isSuperset(of: ["/events/echo", "/events/set_video", "/events/set_prompt"]))
                try await reactor.disconnect()
            }
        }
    }
}
