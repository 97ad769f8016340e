internal import ReactorCore

/// Bounds in bits per second; nil is "not set".
struct BitrateBounds: Sendable, Hashable {
    var min: Int?
    var start: Int?
    var max: Int?

    var isEmpty: Bool { min == nil && start == nil && max == nil }

    /// These bounds with those of `newer` that are set in their place.
    ///
    /// - Throws: BAD_REQUEST for a negative bound, or unless `min <= start <= max`.
    func updated(with newer: BitrateBounds, operation: CoreError.Operation) throws(CoreError) -> BitrateBounds {
        let merged = BitrateBounds(min: newer.min ?? min, start: newer.start ?? start, max: newer.max ?? max)
        let named = [("min", merged.min), ("start", merged.start), ("max", merged.max)].compactMap { name, value in
            value.map { (name, $0) }
        }
        if let negative = named.first(where: { $0.1 < 0 }) {
            throw CoreError(.badRequest, "\(negative.0) is \(negative.1) bit/s; a bitrate is not negative", operation: operation)
        }
        for (lower, upper) in zip(named, named.dropFirst()) where lower.1 > upper.1 {
            throw CoreError(
                .badRequest, "\(lower.0) is \(lower.1) bit/s and \(upper.0) is \(upper.1) bit/s; it takes min <= start <= max",
                operation: operation)
        }
        return merged.clamped
    }

    /// Far above what any connection carries, and far below where sums overflow.
    private var clamped: BitrateBounds {
        func clamp(_ value: Int?) -> Int? { value.map { Swift.min($0, Self.mostBitsPerSecond) } }
        return BitrateBounds(min: clamp(min), start: clamp(start), max: clamp(max))
    }

    static let mostBitsPerSecond = 10_000_000_000
}

/// Everything the app has set: for the connection and by track name.
struct BitrateSettings: Sendable {
    var connection = BitrateBounds()
    var tracks: [String: BitrateBounds] = [:]
}
