/// The command line.
struct BenchmarkOptions {
    struct UsageError: Error, CustomStringConvertible {
        var description: String
    }

    var isSmoke = false
    var filter: String?
    var jsonPath: String?
    var updatesBaseline = false
    var showsStacks = false
    var showsHelp = false

    /// Runs of which the median is taken.
    var sampleCount: Int { isSmoke ? 5 : 9 }

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        func value(_ name: String) throws -> String {
            guard let value = rest.popFirst() else { throw UsageError(description: "\(name) needs a value") }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--smoke": isSmoke = true
            case "--filter": filter = try value(argument)
            case "--json": jsonPath = try value(argument)
            case "--update-baseline": updatesBaseline = true
            case "--stacks": showsStacks = true
            case "--help", "-h": showsHelp = true
            default: throw UsageError(description: "unknown option \(argument)")
            }
        }
    }

    /// Names are paths; a filter is a part of one.
    func includes(_ name: String) -> Bool { filter.map { name.contains($0) } ?? true }

    static let help = """
        usage: Benchmarks [--smoke] [--filter NAME] [--json FILE] [--update-baseline] [--stacks]

          --smoke            short runs, for a few seconds in all; allocations are counted as in a full run
          --filter NAME      only benchmarks whose name contains NAME
          --json FILE        writes every result, with its samples, as JSON
          --update-baseline  writes the counted allocations to Benchmarks/Baselines instead of comparing
          --stacks           prints the call stacks of the first allocations that should not be there

        Exit status: 0, 1 when a packet allocates, a frame more than once, or a count is not that of the baseline, 2 for a
        wrong command line. Build with -c release: counts and times of a debug build say nothing.
        """
}
