// Counts and jitter of one received source, for our receiver reports and for the app. In: arrivals of original packets
// and of repaired ones. Out: report blocks (RFC 3550 §6.4.1, appendices A.3 and A.8). What the report says is the loss
// on the wire: a packet repaired by retransmission stays lost there (RFC 4588 §7), so that the sender sees the network
// as it is; `packetsLost` for the app counts only what stayed missing.

package import RTCBase
package import RTCWire

/// What the app may read about one received stream.
package struct ReceiveStreamStatistics: Hashable, Sendable {
    package var ssrc: UInt32?
    package var codec: VideoCodec?
    package var packetsReceived: UInt64 = 0
    package var bytesReceived: UInt64 = 0
    /// Expected minus received and repaired; negative when there were duplicates.
    package var packetsLost: Int64 = 0
    package var retransmittedReceived: UInt64 = 0
    package var nacksSent: UInt64 = 0
    package var plisSent: UInt64 = 0
    package var firsSent: UInt64 = 0
    package var framesAssembled: UInt64 = 0
    package var framesDropped: UInt64 = 0
    package var keyFrames: UInt64 = 0
    package var jitterSeconds: Double = 0
    /// Of a video stream: how much later it arrives than the sound made at the same time; negative when the sound is late.
    /// Nil without sound.
    package var audioOffsetSeconds: Double?
    /// Both streams had a sender report; before that the offset compares with their first packets.
    package var isAudioOffsetFromReports = false

    package init() {}
}

/// Reception state of one source (RFC 3550 A.1).
package struct ReceiveStatistics: Sendable {
    /// Ticks of the RTP clock per second.
    private let clockRate: Int64
    /// Unwrapped sequence numbers of the first and the newest packet.
    private var base: Int64?
    private var highest: Int64 = 0
    private var received: Int64 = 0
    private var repaired: Int64 = 0
    private(set) var bytes: UInt64 = 0
    /// Expected and received at the time of the previous report.
    private var priorExpected: Int64 = 0
    private var priorReceived: Int64 = 0
    /// In RTP ticks times 16, as in RFC 3550 A.8.
    private var jitterTimes16: Int64 = 0
    private var lastTransit: Int64?
    private var lastTimestamp: UInt32?
    /// The newest sender report: middle of its NTP time, and its arrival.
    private var lastReport: (middle: UInt32, arrival: MonotonicTime)?

    package init(clockRate: Int) { self.clockRate = Int64(max(1, clockRate)) }

    package mutating func receive(number: Int64, timestamp: UInt32, byteCount: Int, arrival: MonotonicTime) {
        if base == nil {
            base = number
            highest = number
        }
        base = min(base ?? number, number)
        highest = max(highest, number)
        received += 1
        bytes &+= UInt64(byteCount)
        updateJitter(timestamp: timestamp, arrival: arrival)
    }

    /// A packet came as retransmission: it is not lost for us, but it was lost on the wire.
    package mutating func receiveRepaired(number: Int64, byteCount: Int) {
        repaired += 1
        bytes &+= UInt64(byteCount)
    }

    package mutating func receiveSenderReport(ntp: NTPTimestamp, arrival: MonotonicTime) {
        lastReport = (ntp.middle32, arrival)
    }

    package var hasReceived: Bool { base != nil }
    package var packetsReceived: UInt64 { UInt64(clamping: received) }
    package var jitterSeconds: Double { Double(jitterTimes16) / 16 / Double(clockRate) }
    /// What stayed missing after repair.
    package var packetsLost: Int64 { expected - received - repaired }

    private var expected: Int64 { base.map { highest - $0 + 1 } ?? 0 }

    /// The report on this source since the previous one (A.3).
    package mutating func makeReportBlock(ssrc: UInt32, now: MonotonicTime) -> ReportBlock {
        let expectedInterval = expected - priorExpected
        let receivedInterval = received - priorReceived
        priorExpected = expected
        priorReceived = received
        let lost = expectedInterval - receivedInterval
        let fraction = expectedInterval > 0 && lost > 0 ? UInt8(min(255, lost * 256 / expectedInterval)) : 0
        var delay: UInt32 = 0
        if let lastReport {
            let elapsed = max(0, now.nanoseconds(since: lastReport.arrival))
            delay = UInt32(clamping: Int64(Double(elapsed) * 65_536 / 1e9))
        }
        return ReportBlock(
            ssrc: ssrc, fractionLost: fraction, cumulativeLost: Int32(min(max(expected - received, -0x80_0000), 0x7F_FFFF)),
            highestSequence: UInt32(truncatingIfNeeded: max(0, highest - SequenceUnwrapperOffset.value)),
            jitter: UInt32(clamping: jitterTimes16 / 16), lastSR: lastReport?.middle ?? 0, delaySinceLastSR: delay)
    }

    /// RFC 3550 A.8. Packets of one frame share a timestamp but leave one after the other, so only the first of each
    /// counts (as libwebrtc does); a jump is a new start, not jitter.
    private mutating func updateJitter(timestamp: UInt32, arrival: MonotonicTime) {
        guard timestamp != lastTimestamp else { return }
        lastTimestamp = timestamp
        let (seconds, rest) = arrival.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let arrivalTicks = seconds &* clockRate &+ rest * clockRate / 1_000_000_000
        let transit = arrivalTicks &- Int64(timestamp)
        defer { lastTransit = transit }
        guard let lastTransit else { return }
        // Differences modulo 2^32, because the RTP timestamp wraps.
        let difference = abs(Int64(Int32(truncatingIfNeeded: transit &- lastTransit)))
        guard difference < 5 * clockRate else { return }
        jitterTimes16 += difference - ((jitterTimes16 + 8) >> 4)
    }
}

/// `SequenceUnwrapper` starts one cycle up, so that older neighbours of the first packet stay positive; reports count
/// cycles from zero.
enum SequenceUnwrapperOffset {
    static let value: Int64 = 65_536
}
