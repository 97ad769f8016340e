// What arrives, in bits per second of the receiver's clock. In: arrival times and sizes. Out: the rate over the last
// moments. Packets whose feedback was lost are added with the next that is known, so that a lost report is no lost rate.

package struct AckedBitrate: Sendable {
    /// Bytes that arrived in spans of 10 ms; the ring holds `capacity` of them up to `head`.
    private var bytes: [Int32]
    private var head: Int64 = 0
    private var first: Int64?

    package init() { bytes = Array(repeating: 0, count: Self.capacity) }

    package mutating func add(arrival: Int64, byteCount: Int) {
        // Shifts of a negative number round down, which division does not.
        let span = arrival >> Self.spanShift
        if first == nil {
            first = span
            head = span
        }
        if span > head {
            guard span &- head < Int64(Self.capacity) else {
                self = AckedBitrate()
                add(arrival: arrival, byteCount: byteCount)
                return
            }
            while head < span {
                head += 1
                bytes[index(head)] = 0
            }
        }
        guard head &- span < Int64(Self.capacity) else { return }
        bytes[index(span)] = Int32(clamping: Int64(bytes[index(span)]) + Int64(byteCount))
    }

    /// Bits per second over the last `milliseconds`; nil until half of that has been seen.
    package func bitsPerSecond(milliseconds: Int) -> Double? {
        guard let first else { return nil }
        let wanted = min(max((Int64(milliseconds) * 1_000_000) >> Self.spanShift, 4), Int64(Self.capacity) - 1)
        let seen = min(head &- first, wanted)
        guard seen * 2 >= wanted else { return nil }
        var sum = 0.0
        // The newest span is not over; the oldest takes its place.
        for age in 1...seen { sum += Double(bytes[index(head &- age)]) }
        return sum * 8e9 / Double(seen << Self.spanShift)
    }

    private func index(_ span: Int64) -> Int { Int(truncatingIfNeeded: span) & (Self.capacity - 1) }

    /// 2^23 ns = 8.4 ms: a power of two, so that spans are shifts.
    private static let spanShift: Int64 = 23
    /// About one second.
    private static let capacity = 128
}
