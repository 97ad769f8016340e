/// Times of repeated runs.
enum Stopwatch {
    /// Nanoseconds per unit of work, one value for each run; `units` are what one run does.
    static func samples(_ count: Int, units: Int, _ body: () throws -> Void) rethrows -> [Double] {
        // The first run warms caches and is not counted.
        try body()
        return try (0..<count).map { _ in try nanoseconds(body) / Double(max(1, units)) }
    }

    static func nanoseconds(_ body: () throws -> Void) rethrows -> Double {
        let duration = try ContinuousClock().measure(body)
        let (seconds, attoseconds) = duration.components
        return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
    }
}

/// Keeps the optimiser from removing what computes `value`.
@inline(never)
func consume<Value>(_ value: borrowing Value) {}
