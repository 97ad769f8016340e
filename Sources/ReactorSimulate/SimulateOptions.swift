import RTCSimulation

/// What the command line asks for.
struct SimulateOptions: Sendable {
    enum Task: Sendable {
        case help
        case list
        case one(seed: UInt64, profile: NetworkProfile)
        case many(seeds: Range<UInt64>, profile: NetworkProfile?)
        case traces(directory: String)
    }

    struct UsageError: Error, CustomStringConvertible {
        let description: String
    }

    var task = Task.many(seeds: 1..<161, profile: nil)
    var jobs = 2
    var showsSamples = false

    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        var (seeds, first) = (160 as UInt64, 1 as UInt64)
        var seed: UInt64?
        var profile: NetworkProfile?
        var fixed: Task?
        while let word = rest.popFirst() {
            switch word {
            case "--help", "-h": fixed = .help
            case "--list": fixed = .list
            case "--traces": fixed = .traces(directory: try Self.value(of: word, &rest))
            case "--samples": showsSamples = true
            case "--seeds": seeds = try Self.number(of: word, &rest)
            case "--first": first = try Self.number(of: word, &rest)
            case "--seed": seed = try Self.number(of: word, &rest)
            case "--jobs": jobs = max(1, Int(try Self.number(of: word, &rest)))
            case "--profile":
                let name = try Self.value(of: word, &rest)
                guard let found = NetworkProfile.named(name) else {
                    throw UsageError(description: "no profile \"\(name)\"; --list shows them")
                }
                profile = found
            default: throw UsageError(description: "what is \"\(word)\"?")
            }
        }
        if let fixed {
            task = fixed
        } else if let seed {
            task = .one(seed: seed, profile: profile ?? NetworkProfile.of(seed: seed))
        } else {
            task = .many(seeds: first..<first + seeds, profile: profile)
        }
    }

    private static func value(of word: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError(description: "\(word) needs a value") }
        return value
    }

    /// Up to a million: seeds are counted, and jobs.
    private static func number(of word: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> UInt64 {
        let text = try value(of: word, &rest)
        guard let number = UInt64(text), number <= 1_000_000 else {
            throw UsageError(description: "\(word) takes a number up to 1000000, not \"\(text)\"")
        }
        return number
    }

    static let help = """
        reactor-simulate [--seeds N] [--first N] [--profile NAME] [--jobs N]
            N seeds (160), one after the other from --first (1) on, of all profiles in turn or of one
        reactor-simulate --seed N [--profile NAME] [--samples]
            one run, with its numbers, and with its course in steps of a second
        reactor-simulate --traces DIRECTORY [--samples]
            recorded links (.up and .down, one millisecond stamp for each packet of 1500 bytes)
        reactor-simulate --list
            the profiles
        Ends with status 1 when a run broke a demand.
        """
}
