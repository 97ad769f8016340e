// Decoded sound between decoder and application: what was made goes in at one end, blocks of 10 ms leave at the other, and
// the delay is changed in between. In: interleaved 16-bit samples at 48 kHz of one or two channels. Out: blocks. It keeps
// a little of what was played, from which sound is lengthened and steps are smoothed. Left out: when to do so.

/// A queue of sampling instants with some history before its head. Allocates a block's memory per block, nothing else.
package struct PlayoutQueue: Sendable {
    private var samples: [Int16] = []
    /// Where the first sampling instant lies that was not played.
    private var head = 0
    private var stretcher: TimeStretcher
    /// What is appended next does not continue what is there.
    private var isBroken = false

    package init(channels: Int = 1) {
        stretcher = TimeStretcher(channels: channels)
        reserve()
    }

    package var channels: Int { stretcher.channels }
    /// Sampling instants that wait to be played.
    package var pendingFrames: Int { samples.count / channels - head }

    // MARK: In

    /// The next samples do not continue those before: a step between them is drawn out over 5 ms.
    package mutating func markBreak() { isBroken = true }

    package mutating func append(_ new: Slice<UnsafeMutableBufferPointer<Int16>>) {
        let start = samples.count
        samples.append(contentsOf: new)
        joinIfBroken(at: start)
    }

    package mutating func appendSilence(frames: Int) {
        let start = samples.count
        samples.append(contentsOf: repeatElement(0, count: max(0, frames) * channels))
        joinIfBroken(at: start)
    }

    /// The last stretch before silence goes down to zero.
    package mutating func fadeOutEnd(frames: Int) {
        let count = min(frames, pendingFrames)
        let start = samples.count - count * channels
        for index in start..<samples.count {
            samples[index] = Int16(Int(samples[index]) * (count - 1 - (index - start) / channels) / max(1, count))
        }
    }

    /// Goes on with another number of channels; what waits is converted.
    package mutating func setChannels(_ count: Int) {
        guard count != channels, (1...2).contains(count) else { return }
        let old = samples
        samples.removeAll(keepingCapacity: true)
        if count == 2 {
            for sample in old { samples += [sample, sample] }
        } else {
            for index in stride(from: 0, to: old.count - 1, by: 2) { samples.append(Int16((Int(old[index]) + Int(old[index + 1])) / 2)) }
        }
        stretcher = TimeStretcher(channels: count)
        reserve()
    }

    // MARK: Out

    /// The next block; what is missing of it is silence.
    package mutating func takeBlock(frames: Int) -> [Int16] {
        if pendingFrames < frames { appendSilence(frames: frames - pendingFrames) }
        let start = head * channels
        let block = Array(samples[start..<start + frames * channels])
        head += frames
        if head >= Self.historyFrames + Self.slackFrames {
            samples.removeFirst((head - Self.historyFrames) * channels)
            head = Self.historyFrames
        }
        return block
    }

    /// Takes out up to `frames` sampling instants of what waits; how many it were.
    package mutating func accelerate(atMost frames: Int, care: TimeStretcher.Care) -> Int {
        stretcher.accelerate(&samples, from: head, atMost: frames, care: care)
    }

    /// Puts about `frames` sampling instants in before what waits; how many it were.
    package mutating func expand(about frames: Int) -> Int {
        stretcher.expand(&samples, from: head, about: frames, care: .gentle)
    }

    /// Forgets everything; what comes next begins from silence.
    package mutating func reset() {
        samples.removeAll(keepingCapacity: true)
        head = 0
        isBroken = true
    }

    // MARK: Joints

    private mutating func joinIfBroken(at start: Int) {
        guard isBroken, samples.count > start else { return }
        isBroken = false
        let frames = min(TimeStretcher.fadeFrames, (samples.count - start) / channels)
        for channel in 0..<channels {
            let before = start >= channels ? Float(samples[start - channels + channel]) : 0
            let step = before - Float(samples[start + channel])
            for frame in 0..<frames {
                let index = start + frame * channels + channel
                // The step decays along half a cosine, without a corner at either end: 1 - 3x² + 2x³.
                let x = Float(frame) / Float(frames)
                let value = Float(samples[index]) + step * (1 - x * x * (3 - 2 * x))
                samples[index] = Int16(max(-32_768, min(32_767, value.rounded())))
            }
        }
    }

    private mutating func reserve() { samples.reserveCapacity(Self.capacityFrames * channels) }

    private static let historyFrames = TimeStretcher.maxLagFrames
    /// How much is played before the memory is moved down.
    private static let slackFrames = 4_800
    /// History, what was played since, two packets of 120 ms and a stretch.
    private static let capacityFrames = historyFrames + slackFrames + 2 * OpusPacket.maxDurationSamples + TimeStretcher.maxLagFrames
}
