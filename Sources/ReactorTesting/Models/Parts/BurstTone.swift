#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// 440 Hz, and 1760 Hz on top for a tenth of a second when told, at 48 kHz.
struct BurstTone: Sendable {
    private var position = 0
    private var left = 0

    mutating func render(_ count: Int, begins burst: Bool) -> [Int16] {
        if burst { left = 4_800 }
        let samples = (0..<count).map { index in
            let turns = Double(position + index) / 48_000
            let high = index < left ? 12_000 * sin(2 * .pi * 1_760 * turns) : 0
            return Int16(6_000 * sin(2 * .pi * 440 * turns) + high)
        }
        left = max(0, left - count)
        position += count
        return samples
    }
}
