// What the jitter buffer tells the playing side to do, and what it counts.

/// What the decoder is to do for the next stretch of sound.
package enum AudioDecision: Hashable, Sendable {
    /// Decode these bytes.
    case packet(Range<Int>, samples: Int, timestamp: UInt32)
    /// Decode the forward error correction inside these bytes; their own turn comes next.
    case fec(Range<Int>, samples: Int, timestamp: UInt32)
    /// Let the decoder invent; the fading one goes down to zero at its end.
    case conceal(samples: Int, isFading: Bool)
    /// Let the decoder invent for as long as the sender is silent (RFC 7587 §3.1.3): nothing is missing.
    case comfort(samples: Int)
    /// Zeros.
    case silence(samples: Int)

    /// Sampling instants at 48 kHz.
    package var samples: Int {
        switch self {
        case .packet(_, let samples, _), .fec(_, let samples, _), .conceal(let samples, _), .comfort(let samples),
            .silence(let samples):
            samples
        }
    }
}

/// What to do about the delay, besides playing.
package enum AudioAdjustment: Hashable, Sendable {
    case none
    /// Take out up to so many sampling instants of sound, without changing its pitch.
    case remove(atMost: Int, care: TimeStretcher.Care)
    /// Put about so many in.
    case insert(about: Int)
}

package struct AudioJitterStatistics: Hashable, Sendable {
    package var packetsReceived: UInt64 = 0
    package var packetsPlayed: UInt64 = 0
    /// Sequence numbers that were passed over when their time came.
    package var packetsLost: UInt64 = 0
    /// Sampling instants at 48 kHz, here and below.
    package var concealedSamples: UInt64 = 0
    package var repairedSamples: UInt64 = 0
    /// Left out to have less delay, and put in to have more.
    package var acceleratedSamples: UInt64 = 0
    package var expandedSamples: UInt64 = 0
    /// Times that the sound ran out though nothing was known to be lost.
    package var underruns: UInt64 = 0
    /// Places where sound was dropped whole, so that the next sample does not follow the last one.
    package var jumps: UInt64 = 0
    /// Delay aimed at and delay now, between the arrival of the fastest packets and the playing of their first sample.
    package var targetDelayNanoseconds: Int64 = 0
    package var currentDelayNanoseconds: Int64 = 0

    package init() {}
}
