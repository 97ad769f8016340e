// What the parts cost, and the gate that the receive path of a packet allocates nothing. Times are medians of several runs
// next to a reference from the same run, so that figures of different machines can be compared by their ratios;
// allocations are counted, not estimated, and compared exactly with `Baselines`.

import Foundation

/// `swift run -c release Benchmarks [OPTIONS]`.
@main
struct Benchmarks {
    static func main() async {
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        exit(status)
    }

    /// Off the main actor: there every measured call would pay for a hop.
    @concurrent
    private static func run(_ arguments: [String]) async -> Int32 {
        let options: BenchmarkOptions
        do {
            options = try BenchmarkOptions(arguments)
        } catch {
            print("\(error)\n\n\(BenchmarkOptions.help)")
            return 2
        }
        if options.showsHelp {
            print(BenchmarkOptions.help)
            return 0
        }
        var report = BenchmarkReport(options: options)
        do {
            try await measure(options, into: &report)
            report.printTable()
            let failures = try report.checkAllocations()
            if let path = options.jsonPath { try report.writeJSON(to: path) }
            for failure in failures { print("FAILED: \(failure)") }
            return failures.isEmpty ? 0 : 1
        } catch {
            print("FAILED: \(error)")
            return 1
        }
    }

    @concurrent
    private static func measure(_ options: BenchmarkOptions, into report: inout BenchmarkReport) async throws {
        try ReceiveBenchmark.run(options, into: &report)
        await HandOffBenchmark.run(options, into: &report)
        try CodecBenchmark.run(options, into: &report)
        // It drives the SCTP stack of the process itself, in a time of its own: before there are connections, whose network thread
        // drives it too, and goes on with it while they close.
        try DataBenchmark.run(options, into: &report)
        try await PublishBenchmark.run(options, into: &report)
        try MessageBenchmark.run(options, into: &report)
    }
}
