/// The words of a command line: the command first, then flags, options with a value (`--name value` or `--name=value`) and
/// positionals, in any order.
struct Arguments {
    private var words: [String]
    private var literal: [String] = []

    init(_ words: [String]) {
        if let end = words.firstIndex(of: "--") {
            self.words = Array(words[..<end])
            literal = Array(words[(end + 1)...])
        } else {
            self.words = words
        }
    }

    mutating func takeFlag(_ name: String) -> Bool {
        guard let index = words.firstIndex(of: name) else { return false }
        words.remove(at: index)
        return true
    }

    mutating func takeOption(_ name: String) throws -> String? {
        if let index = words.firstIndex(where: { $0.hasPrefix(name + "=") }) {
            return String(words.remove(at: index).dropFirst(name.count + 1))
        }
        guard let index = words.firstIndex(of: name) else { return nil }
        guard words.indices.contains(index + 1) else { throw UsageError("\(name) needs a value") }
        let value = words[index + 1]
        // `--snapshot --json`: the value was left out. One that begins with dashes is given as `--name=--value`.
        guard !value.hasPrefix("--") else { throw UsageError("\(name) needs a value") }
        words.removeSubrange(index...(index + 1))
        return value
    }

    mutating func takeNumber(_ name: String, in range: ClosedRange<Double>) throws -> Double? {
        guard let text = try takeOption(name) else { return nil }
        guard let value = Double(text), range.contains(value) else {
            throw UsageError("\(name) takes a number from \(range.lowerBound.short) to \(range.upperBound.short), not '\(text)'")
        }
        return value
    }

    /// The first word, unless that is an option: what an option before the command takes is not known yet.
    mutating func takeCommand() throws -> String? {
        guard let first = words.first else { return literal.isEmpty ? nil : literal.removeFirst() }
        guard first.hasPrefix("-") else { return words.removeFirst() }
        guard words.allSatisfy({ ["--help", "-h", "--version"].contains($0) }) else {
            throw UsageError("the command comes first, then its options: '\(first)' is none")
        }
        return nil
    }

    mutating func nextPositional() -> String? {
        if let index = words.firstIndex(where: { !$0.hasPrefix("-") || $0 == "-" }) { return words.remove(at: index) }
        return literal.isEmpty ? nil : literal.removeFirst()
    }

    /// Everything must have been understood.
    func requireEmpty() throws {
        if let word = words.first ?? literal.first { throw UsageError("'\(word)' is not understood here") }
    }
}

extension Double {
    /// Without a fraction part that says nothing.
    var short: String { self == rounded() && abs(self) < 1e15 ? String(Int64(self)) : String(self) }
}
