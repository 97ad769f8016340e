// What one step of `PeerEngine` wants done: RTP and RTCP to protect and send, frames for the decoders, audio packets for the
// jitter buffers, events. The shell owns one value, passes it into every call, drains it and calls `removeAll`, so that
// the arrays keep their memory and a step allocates nothing in steady state.

package import RTCBase

/// Collected results of one or more engine calls, drained by the shell (style guide §4, packet machines).
package struct EngineOutputs: Sendable {
    /// Unprotected RTP packets to send now, in this order, before the RTCP; `rtpPackets` says where each lies.
    package var rtp = ByteWriter(reservingCapacity: 16_384)
    package var rtpPackets: [Range<Int>] = []
    /// Unprotected RTCP datagrams, one after the other; `rtcpPackets` says where each lies.
    package private(set) var rtcp = ByteWriter(reservingCapacity: 2048)
    package private(set) var rtcpPackets: [Range<Int>] = []
    /// Complete frames in decode order, without trailer.
    package var frames: [(section: Int, frame: EncodedFrame)] = []
    /// At most one per call of `handleRTP`; it refers to bytes of the packet just given.
    package var audio: [AudioArrival] = []
    package var events: [EngineEvent] = []

    package init() {
        rtpPackets.reserveCapacity(32)
        rtcpPackets.reserveCapacity(8)
        frames.reserveCapacity(8)
        audio.reserveCapacity(4)
        events.reserveCapacity(4)
    }

    package var rtpBytes: [UInt8] { rtp.bytes }
    package var rtcpBytes: [UInt8] { rtcp.bytes }
    package var isEmpty: Bool {
        rtpPackets.isEmpty && rtcpPackets.isEmpty && frames.isEmpty && audio.isEmpty && events.isEmpty
    }

    /// Writes one RTCP datagram; several packets written by `body` form a compound (RFC 3550 §6.1).
    package mutating func appendRTCP(_ body: (inout ByteWriter) -> Void) {
        let start = rtcp.count
        body(&rtcp)
        if rtcp.count > start { rtcpPackets.append(start..<rtcp.count) }
    }

    package mutating func removeAll() {
        rtp.removeAll(keepingCapacity: true)
        rtpPackets.removeAll(keepingCapacity: true)
        rtcp.removeAll(keepingCapacity: true)
        rtcpPackets.removeAll(keepingCapacity: true)
        frames.removeAll(keepingCapacity: true)
        audio.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
    }
}

/// One audio packet, still inside the datagram it came in.
package struct AudioArrival: Hashable, Sendable {
    package var section: Int
    package var ssrc: UInt32
    /// Unwrapped to 64 bits; packets come in order of arrival, duplicates removed.
    package var sequence: Int64
    /// 48 kHz, as on the wire.
    package var timestamp: UInt32
    /// Where the payload lies in the packet given to `handleRTP`.
    package var payload: Range<Int>
    package var arrival: MonotonicTime
}

/// Something the shell or the app may want to know.
package enum EngineEvent: Hashable, Sendable {
    /// The first media packet of a source; padding alone does not make one (RTP-01).
    case firstPacket(section: Int, ssrc: UInt32)
    /// The RTP and wall-clock times of one instant at the sender (RFC 3550 §6.4.1).
    case senderReport(section: Int, ssrc: UInt32, ntp: NTPTimestamp, rtpTimestamp: UInt32, arrival: MonotonicTime)
    case goodbye(section: Int, ssrc: UInt32)
    /// The peer needs a key frame of what we send; told at most twice a second (RTP-19).
    case keyFrameRequested(section: Int)
    /// What the encoder of a video section is to make from now on: at the start, and when it changes by 5 % or more.
    case sendRate(section: Int, bitsPerSecond: Int64)
    /// More than 500 ms of media wait to leave: the encoder is to skip frames until it is told that half of it has left.
    case congested(section: Int, Bool)
}
