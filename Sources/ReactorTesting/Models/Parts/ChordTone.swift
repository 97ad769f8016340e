// A soft chord, 48 kHz, one channel. Pitch and loudness glide to what they are asked for, so a change is no click; each call goes
// on where the one before ended.

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

struct ChordTone: Sendable {
    static let sampleRate = 48_000

    /// What it should sound like.
    struct Target: Hashable, Sendable {
        /// Hertz of the lowest note.
        var root = 130.81
        var isMinor = false
        /// From 0 to 1.
        var loudness = 1.0
    }

    var target = Target()
    private var frequencies: [Double] = []
    private var phases = [0.0, 0.25, 0.5, 0.75]
    private var loudness = 0.0
    private var produced = 0

    /// Note by note: how much of it, and how fast it swells, in hertz.
    private static let notes: [(gain: Double, swell: Double)] = [(0.34, 0.07), (0.26, 0.11), (0.24, 0.13), (0.16, 0.19)]
    /// Of full scale, at most.
    private static let level = 0.22

    private var wanted: [Double] {
        let third = target.isMinor ? 6.0 / 5 : 5.0 / 4
        return [target.root, target.root * third, target.root * 3 / 2, target.root * 2]
    }

    /// The next `count` samples.
    mutating func render(_ count: Int) -> [Int16] {
        let wanted = wanted
        if frequencies.isEmpty { frequencies = wanted }
        var samples = [Int16](repeating: 0, count: count)
        var start = 0
        while start < count {
            // Pitch and loudness move in steps of a millisecond, a tenth of a second to get nearly there.
            let end = min(count, start + 48)
            let share = Double(end - start) / 48 * 0.02
            for note in 0..<4 { frequencies[note] += (wanted[note] - frequencies[note]) * share }
            let before = loudness
            loudness += (target.loudness - loudness) * share
            for note in 0..<4 {
                let (gain, swell) = Self.notes[note]
                let now = Double(produced + start) / Double(Self.sampleRate)
                let breath = 0.75 + 0.25 * sin(2 * .pi * swell * now)
                let step = frequencies[note] / Double(Self.sampleRate)
                var phase = phases[note]
                for index in start..<end {
                    let fade = before + (loudness - before) * Double(index - start) / Double(end - start)
                    samples[index] &+= Int16(32_767 * Self.level * gain * breath * fade * sin(2 * .pi * phase))
                    phase += step
                    if phase >= 1 { phase -= 1 }
                }
                phases[note] = phase
            }
            start = end
        }
        produced += count
        return samples
    }
}
