import Foundation

/// Times of repeated runs, in processor time of the calling thread: what other programs of a busy machine take is not
/// counted.
enum Stopwatch {
    /// Nanoseconds per unit of work, one value for each run; `units` are what one run does.
    static func samples(_ count: Int, units: Int, _ body: () throws -> Void) rethrows -> [Double] {
        // The first run warms caches and is not counted.
        try body()
        return try (0..<count).map { _ in try nanoseconds(body) / Double(max(1, units)) }
    }

    static func nanoseconds(_ body: () throws -> Void) rethrows -> Double {
        let start = now
        try body()
        return now - start
    }

    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

/// Keeps the optimiser from removing what computes `value`.
@inline(never)
func consume<Value>(_ value: borrowing Value) {}
