// Two whole peers over simulated networks, in virtual time: minutes of network weather in a fraction of a second each, the
// same for everybody who gives the same seed. Prints what came out by profile, and each run that broke a demand with
// the command that repeats it.

import Foundation
import RTCSimulation

/// `swift run -c release reactor-simulate [OPTIONS]`.
@main
struct ReactorSimulate {
    static func main() async {
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        exit(status)
    }

    /// Off the main actor: there every run would wait for it.
    @concurrent
    private static func run(_ arguments: [String]) async -> Int32 {
        let options: SimulateOptions
        do {
            options = try SimulateOptions(arguments)
        } catch {
            print("\(error)\n\n\(SimulateOptions.help)")
            return 2
        }
        switch options.task {
        case .help:
            print(SimulateOptions.help)
            return 0
        case .list:
            for profile in NetworkProfile.all { print(pad(profile.name, 14) + profile.explanation) }
            return 0
        case .one(let seed, let profile):
            let outcome = Outcome(profile.scenario(seed: seed))
            RunReport.printOne(outcome, showsSamples: options.showsSamples)
            return outcome.failures.isEmpty ? 0 : 1
        case .many(let seeds, let profile):
            return await runMany(seeds, profile: profile, jobs: options.jobs)
        case .traces(let directory):
            do {
                return try await runTraces(directory, options: options)
            } catch {
                print("the traces of \(directory) cannot be read: \(error)")
                return 2
            }
        }
    }

    private static func runMany(_ seeds: Range<UInt64>, profile: NetworkProfile?, jobs: Int) async -> Int32 {
        let begin = ContinuousClock.now
        let scenarios = { @Sendable (index: Int) in
            let seed = seeds.lowerBound + UInt64(index)
            return (profile ?? NetworkProfile.of(seed: seed)).scenario(seed: seed)
        }
        var table = ProfileTable()
        var failed = 0
        await ParallelRuns.run(count: seeds.count, jobs: jobs, scenario: scenarios) { outcome in
            table.add(outcome)
            guard !outcome.failures.isEmpty else { return }
            failed += 1
            RunReport.printFailure(outcome)
        }
        table.print()
        let seconds = Double((ContinuousClock.now - begin).components.seconds)
        print("\(seeds.count) seeds, \(Int(table.virtualSeconds)) s of virtual time in \(Int(seconds)) s, \(failed) failed")
        return failed == 0 ? 0 : 1
    }

    private static func runTraces(_ directory: String, options: SimulateOptions) async throws -> Int32 {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".up") || $0.hasSuffix(".down") }
            .sorted()
        let scenarios = try names.map { name in
            let bytes = try Data(contentsOf: URL(fileURLWithPath: directory).appendingPathComponent(name))
            return Scenario.trace(try DeliveryTrace(parsing: Array(bytes)), name: name, isLTE: name.contains("LTE"))
        }
        var outcomes: [Outcome] = []
        await ParallelRuns.run(count: scenarios.count, jobs: options.jobs, scenario: { scenarios[$0] }) { outcomes.append($0) }
        outcomes.sort { $0.scenario.profile < $1.scenario.profile }
        if options.showsSamples { for outcome in outcomes { RunReport.printOne(outcome, showsSamples: true) } }
        RunReport.printTraces(outcomes)
        for outcome in outcomes where !outcome.failures.isEmpty { RunReport.printFailure(outcome) }
        return outcomes.contains { !$0.failures.isEmpty } ? 1 : 0
    }
}
