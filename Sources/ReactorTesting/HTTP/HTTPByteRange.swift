// The Range field (RFC 9110 §14.2) for one range of bytes. Several ranges, other units and broken fields are ignored, as the
// RFC allows: the answer is then the whole.

enum HTTPByteRange: Hashable, Sendable {
    case whole
    case part(Range<Int>)
    /// 416: the range begins behind the end.
    case unsatisfiable

    init(parsing field: String, length: Int) {
        self = .whole
        let text = field.filter { $0 != " " && $0 != "\t" }
        guard text.lowercased().hasPrefix("bytes=") else { return }
        let bounds = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else { return }
        // A number too large for Int lies behind the end of everything.
        let first = bounds[0].isEmpty ? nil : Int(bounds[0]) ?? Int.max
        let last = bounds[1].isEmpty ? nil : Int(bounds[1]) ?? Int.max
        switch (first, last) {
        case (let first?, let last):
            if let last, last < first { return }
            let end = min(length, last.map { $0 == .max ? $0 : $0 + 1 } ?? length)
            self = first < length ? .part(first..<end) : .unsatisfiable
        case (nil, let suffix?):
            self = suffix > 0 && length > 0 ? .part(max(0, length - min(suffix, length))..<length) : .unsatisfiable
        case (nil, nil): return
        }
    }
}
