import ReactorCore

/// Commands and replies between values and protobuf bytes.
enum MessageBenchmark {
    static func run(_ options: BenchmarkOptions, into report: inout BenchmarkReport) throws {
        let count = options.isSmoke ? 2_000 : 20_000
        let command = DataClientMessage(
            requestID: "data_17", kind: .request,
            payload: .command(
                try Command(
                    type: "set_prompt",
                    data: .object(["prompt": .string("a mountain landscape at dawn"), "strength": .number(0.75), "seed": .number(42)]))))
        let bytes = try command.encode()
        var copies = 0
        let copy = Stopwatch.samples(options.sampleCount, units: count) {
            for _ in 0..<count {
                let array = [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, filled in
                    filled = buffer.initialize(fromContentsOf: bytes)
                }
                copies &+= array.count
            }
        }
        consume(copies)
        let reference = ("copy of the message", copy)
        if options.includes("message/command-encode") {
            let samples = try Stopwatch.samples(options.sampleCount, units: count) {
                for _ in 0..<count { consume(try command.encode()) }
            }
            report.add("message/command-encode", unit: "ns", samples: samples, reference: reference)
        }
        if options.includes("message/command-decode") {
            let samples = try Stopwatch.samples(options.sampleCount, units: count) {
                for _ in 0..<count { consume(try DataClientMessage(parsing: bytes)) }
            }
            report.add("message/command-decode", unit: "ns", samples: samples, reference: reference)
        }
    }
}
