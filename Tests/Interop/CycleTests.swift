import Foundation
import Reactor
import Testing

extension Interop {
    /// Connect, stream and disconnect over and over: nothing accumulates.
    @Suite("Cycles")
    struct CycleTests {
        @Test("Descriptors and threads return to the start value, memory is flat after the tenth cycle", .timeLimit(.minutes(8)))
        func cycles() async throws {
            let count = Settings.environment["REACTOR_INTEROP_CYCLES"].flatMap(Int.init) ?? (Settings.isFull ? 100 : 10)
            try await withRuntime { runtime in
                var start = ProcessUsage.now
                var residentAfterTen = 0
                var residents: [Int] = []
                for cycle in 1...count {
                    try await Self.cycle(runtime)
                    if cycle == 1 { start = await Self.quiet() }
                    let now = ProcessUsage.now.residentKB
                    residents.append(now)
                    if cycle == 10 { residentAfterTen = now }
                }
                let end = await ProcessUsage.settled(to: start)
                measured("cycles", Double(count), "cycles")
                measured("cycles_descriptors_start", Double(start.descriptors.count), "descriptors")
                measured("cycles_descriptors_end", Double(end.descriptors.count), "descriptors")
                measured("cycles_threads_start", Double(start.threads.count), "threads")
                measured("cycles_threads_end", Double(end.threads.count), "threads")
                measured("cycles_rss_first", Double(residents[0]) / 1024, "MB")
                measured("cycles_rss_tenth", Double(residentAfterTen) / 1024, "MB")
                measured("cycles_rss_last", Double(end.residentKB) / 1024, "MB")
                #expect(end.isWithin(start), "at the end: \(end)\nafter the first: \(start)")
                if count >= 100 {
                    #expect(end.residentKB - residentAfterTen < 3 * 1024, "\(residents)")
                }
            }
        }

        private static func cycle(_ runtime: RuntimeProcess) async throws {
            let reactor = try client(runtime.url)
            let frames = try reactor.track("main_video").videoFrames
            try await reactor.connect()
            var seen = 0
            for await frame in frames {
                if CounterBlocks(frame) != nil { seen += 1 }
                if seen == 5 { break }
            }
            #expect(seen == 5)
            try await reactor.sendCommand("echo", ["payload": "cycle"])
            try await reactor.disconnect()
            reactor.close()
        }

        /// The usage once idle connections are gone.
        private static func quiet() async -> ProcessUsage {
            _ = await eventually(within: 10) { ProcessUsage.now.descriptors.allSatisfy { !$0.hasPrefix("socket:") } }
            return .now
        }

        @Test("A client that is let go of without close() leaves nothing on this machine")
        func releasedWithoutClose() async throws {
            try await withRuntime(["ORPHAN_TIMEOUT_SECONDS": "1"]) { runtime in
                try await Self.cycle(runtime)
                let start = await Self.quiet()
                for _ in 0..<3 {
                    do {
                        let reactor = try client(runtime.url)
                        try await reactor.connect()
                        #expect(reactor.status == .ready)
                    }
                    try await runtime.stopSession()
                    _ = await eventually(within: 5) { await runtime.sessionState() == "ready" }
                }
                let end = await ProcessUsage.settled(to: start)
                #expect(end.isWithin(start), "at the end: \(end)\nat the start: \(start)")
            }
        }
    }
}
