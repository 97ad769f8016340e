// When what arrives was made, on the sender's wall clock, and how far sound and picture are apart. In: sender reports
// (RFC 3550 §6.4.1), timestamps of packets and frames with their arrival. Out: the sender's time of any RTP timestamp, and
// how much later a video stream comes in than the sound made at the same time. Arrival never makes a time (SYN-03): it only
// says how late something was. Until both streams have a report the first packets of both are taken for simultaneous
// (SYN-01 shows how wrong that can be). Left out: acting on it; frames are shown as they come.

package import RTCBase

/// The clocks of one connection's received streams, by section.
package struct MediaSynchronizer: Sendable {
    private struct Source: Sendable {
        let kind: MediaKind
        var ssrc: UInt32?
        /// One instant in both clocks, from the newest report.
        var report: (ntp: NTPTimestamp, timestamp: UInt32)?
        /// The first arrival, the stand-in for a report.
        var first: (timestamp: UInt32, arrival: MonotonicTime)?
        /// Arrival minus sender's time, smoothed; the zero point of the sender's time is `origin`. Nanoseconds.
        var lag: Int64?
        /// Arrival minus what the first arrival lets expect, smoothed. Nanoseconds.
        var arrivalLag: Int64 = 0

        var ticksPerSecond: Int64 { kind == .video ? 90_000 : Int64(OpusPacket.clockRate) }

        func nanoseconds(_ timestamp: UInt32, since earlier: UInt32) -> Int64 {
            Int64(Int32(bitPattern: timestamp &- earlier)) * 1_000_000_000 / ticksPerSecond
        }
    }

    /// How much later video arrives than the sound of the same moment.
    package struct Offset: Hashable, Sendable {
        /// Negative when the sound is late.
        package var nanoseconds: Int64
        /// False while one of the two streams had no sender report yet.
        package var isFromReports: Bool
    }

    /// Nil for sections that receive nothing.
    private var sources: [Source?]
    /// Lags are differences to this, so that they stay small.
    private var origin: NTPTimestamp?

    package init(kinds: [MediaKind?]) { sources = kinds.map { $0.map { Source(kind: $0) } } }

    package mutating func handleReport(section: Int, ssrc: UInt32, ntp: NTPTimestamp, rtpTimestamp: UInt32) {
        guard sources.indices.contains(section) else { return }
        follow(section: section, ssrc: ssrc)
        if origin == nil { origin = ntp }
        sources[section]?.report = (ntp, rtpTimestamp)
    }

    /// A packet (audio) arrived or a frame (video) is complete.
    package mutating func noteArrival(section: Int, ssrc: UInt32, timestamp: UInt32, arrival: MonotonicTime) {
        guard sources.indices.contains(section) else { return }
        follow(section: section, ssrc: ssrc)
        guard var source = sources[section] else { return }
        if let first = source.first {
            let expected = source.nanoseconds(timestamp, since: first.timestamp)
            let lag = arrival.nanoseconds(since: first.arrival) &- expected
            source.arrivalLag = source.arrivalLag &+ (lag &- source.arrivalLag) / Self.smoothing
        }
        // A timestamp may be 2^31 ticks away at most, so the stand-in moves on.
        if source.first == nil || arrival.nanoseconds(since: source.first?.arrival ?? arrival) > Self.longestReference {
            source.first = (timestamp, arrival.adding(nanoseconds: -source.arrivalLag))
        }
        if let origin, let time = Self.time(of: timestamp, source) {
            let lag = arrival.nanoseconds &- time.nanoseconds(since: origin)
            if let smoothed = source.lag, abs(lag &- smoothed) < Self.longestJump {
                source.lag = smoothed &+ (lag &- smoothed) / Self.smoothing
            } else {
                source.lag = lag
            }
        }
        sources[section] = source
    }

    /// The sender's wall-clock time of an RTP timestamp; nil before the first report on its stream.
    package func senderTime(section: Int, timestamp: UInt32) -> NTPTimestamp? {
        guard sources.indices.contains(section), let source = sources[section] else { return nil }
        return Self.time(of: timestamp, source)
    }

    /// Of a video section, against the first audio section that something arrived for.
    package func audioOffset(ofVideo section: Int) -> Offset? {
        guard sources.indices.contains(section), let video = sources[section], video.kind == .video, video.first != nil,
            let audio = sources.lazy.compactMap(\.self).first(where: { $0.kind == .audio && $0.first != nil })
        else { return nil }
        if let videoLag = video.lag, let audioLag = audio.lag {
            return Offset(nanoseconds: videoLag &- audioLag, isFromReports: true)
        }
        return Offset(nanoseconds: video.arrivalLag &- audio.arrivalLag, isFromReports: false)
    }

    /// Another source in a section begins anew.
    private mutating func follow(section: Int, ssrc: UInt32) {
        guard let source = sources[section], source.ssrc != ssrc else { return }
        sources[section] = Source(kind: source.kind, ssrc: ssrc)
    }

    private static func time(of timestamp: UInt32, _ source: Source) -> NTPTimestamp? {
        source.report.map { $0.ntp.adding(nanoseconds: source.nanoseconds(timestamp, since: $0.timestamp)) }
    }

    private static let smoothing: Int64 = 16
    /// More is a new relation of the clocks, not jitter.
    private static let longestJump: Int64 = 2_000_000_000
    private static let longestReference: Int64 = 3_600_000_000_000
}
