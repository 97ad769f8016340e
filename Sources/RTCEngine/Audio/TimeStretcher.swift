// Shortens or lengthens sound without changing its pitch: a stretch that looks like its neighbour is left out or played
// twice, and the joint is cross-faded where both look alike (waveform similarity overlap-add: Verhelst and Roelands 1993).
// In: interleaved 16-bit samples, with some already played before them. Out: the same samples, some fewer or more.
// The first sample stays and the last ones stay, so that what is before and behind joins without a step. Left out: when
// and how much (`AudioJitterBuffer`), resampling.

/// Finds joints and makes them. Nothing allocates after `init`, but `samples` may grow by `maxLagFrames`.
package struct TimeStretcher: Sendable {
    package let channels: Int
    /// Mono copy of the samples looked at, at full rate and averaged down to a quarter of it.
    private var mono: [Float]
    private var coarse: [Float]
    /// Similarity of each lag of the coarse search.
    private var scores: [Float]

    package init(channels: Int) {
        self.channels = max(1, channels)
        mono = Array(repeating: 0, count: Self.maxLagFrames + Self.fadeFrames + 8)
        coarse = Array(repeating: 0, count: mono.count / Self.step)
        scores = Array(repeating: 0, count: Self.maxLagFrames / Self.step + 1)
    }

    /// How alike the two sides of a joint must be.
    package enum Care: Sendable {
        /// Speech and music hardly change.
        case gentle
        /// To get rid of much delay soon; it may be heard.
        case urgent

        fileprivate var leastSimilarity: Float { self == .gentle ? 0.75 : 0.25 }
    }

    /// Takes out at most `frames` sampling instants from those behind `start`, which need `shortestFrames`.
    ///
    /// - Parameter start: the first one not played yet.
    /// - Returns: how many were taken out; 0 when no place is good enough.
    package mutating func accelerate(_ samples: inout [Int16], from start: Int, atMost frames: Int, care: Care) -> Int {
        let available = samples.count / channels - start
        let most = min(frames, Self.maxLagFrames, available - Self.fadeFrames)
        guard most >= Self.minLagFrames || (most > 0 && isQuiet(samples, start..<start + most + Self.fadeFrames)) else { return 0 }
        // The template is the start; candidates lie behind it.
        load(samples, start..<start + most + Self.fadeFrames)
        guard let joint = bestLag(upTo: most, templateAtEnd: false, wanted: most, prefersLonger: false, care: care) else { return 0 }
        // Backwards, since a fade longer than the lag writes where it has yet to read.
        for frame in (0..<Self.fadeFrames).reversed() {
            let weights = fade(frame, similarity: joint.similarity)
            for channel in 0..<channels {
                let old = Float(samples[(start + frame) * channels + channel])
                let place = (start + joint.lag + frame) * channels + channel
                samples[place] = Self.rounded(old * weights.out + Float(samples[place]) * weights.in)
            }
        }
        samples.removeSubrange(start * channels..<(start + joint.lag) * channels)
        return joint.lag
    }

    /// Puts about `frames` sampling instants in at `start`, made from those before it.
    ///
    /// - Returns: how many were put in; 0 when no place is good enough.
    package mutating func expand(_ samples: inout [Int16], from start: Int, about frames: Int, care: Care) -> Int {
        let most = min(start, Self.maxLagFrames)
        guard most >= Self.minLagFrames, samples.count / channels - start >= Self.fadeFrames else { return 0 }
        load(samples, start - most..<start + Self.fadeFrames)
        let wanted = min(max(frames, Self.minLagFrames), most)
        guard let joint = bestLag(upTo: most, templateAtEnd: true, wanted: wanted, prefersLonger: true, care: care) else { return 0 }
        let (lag, place) = (joint.lag, start * channels)
        samples.append(contentsOf: repeatElement(0, count: lag * channels))
        // Moves what is behind, then repeats what is before.
        for index in stride(from: samples.count - 1, through: place + lag * channels, by: -1) {
            samples[index] = samples[index - lag * channels]
        }
        for index in place..<place + lag * channels { samples[index] = samples[index - lag * channels] }
        for frame in 0..<Self.fadeFrames {
            let weights = fade(frame, similarity: joint.similarity)
            for channel in 0..<channels {
                let index = place + frame * channels + channel
                let old = Float(samples[index + lag * channels])
                samples[index] = Self.rounded(old * weights.out + Float(samples[index]) * weights.in)
            }
        }
        return lag
    }

    // MARK: Likeness

    private struct Joint {
        var lag: Int
        var similarity: Float
    }

    /// The lag nearest to the wanted one among those that fit nearly as well as the best.
    ///
    /// - Parameter templateAtEnd: the template is the last `fadeFrames` of what was loaded and candidates lie before it; else
    ///   it is the first and they lie behind.
    private mutating func bestLag(
        upTo most: Int, templateAtEnd: Bool, wanted: Int, prefersLonger: Bool, care: Care
    ) -> Joint? {
        let length = most + Self.fadeFrames
        let origin = templateAtEnd ? most : 0
        func place(_ lag: Int) -> Int { templateAtEnd ? most - lag : lag }
        // Below audibility any joint will do, so it is made where it is wanted.
        if power(0..<length) < Self.quietPower { return Joint(lag: wanted, similarity: 0) }

        let coarseOrigin = origin / Self.step
        let (least, last) = (Self.minLagFrames / Self.step, most / Self.step)
        guard least <= last else { return nil }
        var best: Float = -1
        for lag in least...last {
            let other = templateAtEnd ? coarseOrigin - lag : lag
            let score = other < 0 ? -1 : Self.similarity(coarse, coarseOrigin, other, Self.fadeFrames / Self.step)
            scores[lag] = score
            best = max(best, score)
        }
        guard best >= care.leastSimilarity else { return nil }
        let enough = max(care.leastSimilarity, best - Self.tolerance)
        var chosen = 0
        var distance = Int.max
        for lag in least...last where scores[lag] >= enough {
            // On the near side of the wanted length a joint costs only time, on the far side it may cost a block.
            let difference = lag * Self.step - wanted
            let cost = prefersLonger && difference < 0 ? -3 * difference : abs(difference)
            if cost < distance { (chosen, distance) = (lag, cost) }
        }
        // Up to the peak beside it, where the periods meet.
        while chosen > least, scores[chosen - 1] > scores[chosen] { chosen -= 1 }
        while chosen < last, scores[chosen + 1] > scores[chosen] { chosen += 1 }
        var joint = Joint(lag: 0, similarity: -1)
        // The coarse place is good to a step; its neighbourhood at full rate finds the peak.
        for lag in max(Self.minLagFrames, (chosen - 2) * Self.step)...min(most, (chosen + 2) * Self.step) {
            let score = Self.similarity(mono, origin, place(lag), Self.fadeFrames)
            if score > joint.similarity { joint = Joint(lag: lag, similarity: score) }
        }
        return joint.similarity >= care.leastSimilarity ? joint : nil
    }

    private mutating func load(_ samples: [Int16], _ frames: Range<Int>) {
        let scale = 1 / Float(channels)
        for (target, frame) in frames.enumerated() {
            var sum: Float = 0
            for channel in 0..<channels { sum += Float(samples[frame * channels + channel]) }
            mono[target] = sum * scale
        }
        for target in 0..<frames.count / Self.step {
            var sum: Float = 0
            for offset in 0..<Self.step { sum += mono[target * Self.step + offset] }
            coarse[target] = sum
        }
    }

    private func isQuiet(_ samples: [Int16], _ frames: Range<Int>) -> Bool {
        var sum: Float = 0
        for index in frames.lowerBound * channels..<frames.upperBound * channels { sum += Float(samples[index]) * Float(samples[index]) }
        return sum < Self.quietPower * Float(max(1, frames.count * channels))
    }

    private func power(_ range: Range<Int>) -> Float {
        var sum: Float = 0
        for index in range { sum += mono[index] * mono[index] }
        return sum / Float(max(1, range.count))
    }

    /// Normalised cross-correlation, -1 to 1.
    private static func similarity(_ values: [Float], _ first: Int, _ second: Int, _ count: Int) -> Float {
        var (product, firstPower, secondPower): (Float, Float, Float) = (0, 1, 1)
        for index in 0..<count {
            let (a, b) = (values[first + index], values[second + index])
            product += a * b
            firstPower += a * a
            secondPower += b * b
        }
        return product / (firstPower * secondPower).squareRoot()
    }

    /// Weights of both sides; they keep the power of two signals of this likeness.
    private func fade(_ frame: Int, similarity: Float) -> (out: Float, in: Float) {
        let coming = (Float(frame) + 0.5) / Float(Self.fadeFrames)
        let going = 1 - coming
        let gain = 1 / (going * going + coming * coming + 2 * max(0, similarity) * going * coming).squareRoot()
        return (going * gain, coming * gain)
    }

    private static func rounded(_ value: Float) -> Int16 { Int16(max(-32_768, min(32_767, value.rounded()))) }

    /// 2.5 ms: the period of a high voice.
    package static let minLagFrames = 120
    /// 15 ms: the period of 67 Hz, below every voice.
    package static let maxLagFrames = 720
    /// 5 ms of cross-fade.
    package static let fadeFrames = 240
    /// What `accelerate` must find behind the start to take out one period of most voices.
    package static let usefulFrames = 960
    /// The coarse search runs at 12 kHz; voices have their pitch below 500 Hz.
    private static let step = 4
    private static let tolerance: Float = 0.06
    /// About -66 dB of full scale.
    private static let quietPower: Float = 16 * 16
}
