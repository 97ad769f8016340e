import Foundation

/// How long a fuzz entry is driven, and from which seed: a number of rounds, or a time.
///
/// `REACTOR_FUZZ_SEED` replays from a seed that failed, `REACTOR_FUZZ_ROUNDS` sets the rounds, and `REACTOR_FUZZ_SECONDS` drives
/// every entry for that long instead, and prints how many inputs that were. `Tests/fuzz` drives all of them.
public struct FuzzBudget: Sequence, IteratorProtocol {
    private var seed: UInt64
    private var left: UInt64
    private let deadline: ContinuousClock.Instant?
    private let name: String
    private var given: UInt64 = 0

    /// - Parameter name: what is driven, for the line that a run for a time prints.
    public init(rounds: UInt64, name: String = #function) {
        self.name = name
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
        seed = number("REACTOR_FUZZ_SEED") ?? 1
        let seconds = number("REACTOR_FUZZ_SECONDS")
        deadline = seconds.map { .now + .seconds(Int64(clamping: $0)) }
        left = seconds == nil ? number("REACTOR_FUZZ_ROUNDS") ?? rounds : .max
    }

    /// For entries that are slow and only ever fail by trapping: a case a seed, so that the log names the one that trapped. One
    /// case where a time is set.
    public static func starts(rounds: UInt64) -> [UInt64] {
        let whole = FuzzBudget(rounds: rounds)
        return whole.deadline == nil ? Array(whole.seed..<whole.seed + whole.left) : [whole.seed]
    }

    /// What a case of ``starts(rounds:)`` drives.
    public init(from start: UInt64, name: String = #function) {
        self.init(rounds: 1, name: name)
        seed = start
        if deadline == nil { left = 1 }
    }

    /// The next seed.
    public mutating func next() -> UInt64? {
        guard left > 0 else { return nil }
        if let deadline, left % 64 == 0, ContinuousClock.now >= deadline {
            print("FUZZED \(name): \(given) inputs")
            return nil
        }
        left -= 1
        given += 1
        defer { seed &+= 1 }
        return seed
    }
}
