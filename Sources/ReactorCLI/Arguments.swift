/// The words of a command line: flags, options with a value (`--name value` or `--name=value`) and positionals, in any order.
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
