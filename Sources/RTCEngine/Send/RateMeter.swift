// How much leaves per second, measured over windows of half a second. In: bytes and times. Out: bits per second.

package import RTCBase

package struct RateMeter: Sendable {
    private var rate: Int64
    private var bytes: Int64 = 0
    private var windowStart: MonotonicTime?

    /// - Parameter initial: said until the first window is over.
    package init(initial: Bitrate = Bitrate(bitsPerSecond: 0)) { rate = initial.bitsPerSecond }

    package mutating func add(byteCount: Int, now: MonotonicTime) {
        roll(now)
        if windowStart == nil { windowStart = now }
        bytes += Int64(byteCount)
    }

    package mutating func bitsPerSecond(now: MonotonicTime) -> Int64 {
        roll(now)
        return rate
    }

    private mutating func roll(_ now: MonotonicTime) {
        guard let start = windowStart, now.nanoseconds(since: start) >= Self.window else { return }
        rate = Bitrate(DataSize(bytes: bytes), overNanoseconds: now.nanoseconds(since: start))?.bitsPerSecond ?? 0
        bytes = 0
        windowStart = now
    }

    private static let window: Int64 = 500_000_000
}

/// Divides a rate among streams: the same for each, but to nobody more than it can use; what one leaves goes to the others.
package enum RateShare {
    /// - Parameters:
    ///   - ceilings: what each can use; negative for a stream that gets nothing.
    ///   - shares: the result, one for each; its memory is used again.
    package static func divide(_ total: Int64, ceilings: [Int64], into shares: inout [Int64]) {
        shares.removeAll(keepingCapacity: true)
        for ceiling in ceilings { shares.append(ceiling < 0 ? 0 : -1) }
        var rest = max(0, total)
        var waiting = shares.count { $0 < 0 }
        while waiting > 0 {
            let fair = rest / Int64(waiting)
            var settled = 0
            for index in shares.indices where shares[index] < 0 && ceilings[index] <= fair {
                shares[index] = ceilings[index]
                rest -= ceilings[index]
                settled += 1
            }
            waiting -= settled
            guard settled == 0 else { continue }
            for index in shares.indices where shares[index] < 0 { shares[index] = fair }
            return
        }
    }
}
