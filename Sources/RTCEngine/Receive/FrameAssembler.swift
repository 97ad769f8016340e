// From packets in order to whole frames. In: the reorder buffer. Out: the run of numbers that makes the next frame, or
// why there is none yet. The marker completes a frame at once (RFC 7741 §4.1, RFC 9628 §4.1); a new timestamp completes
// one whose marker never came, unless VP9 says that it goes on (no E bit): senders that flush their queue for a key frame
// leave such torsos, with sequence numbers that show no gap. A VP9 picture of one layer also ends at its E bit (VID-17). A
// single packet that starts and ends its frame is a whole frame, also as the first one of a stream or right after a gap
// (VID-14). Left out: which frame can be decoded (`DecodeChain`), how long to wait for a gap (`ReceiveStream`).

import RTCBase
import RTCWire

/// Finds frames in a `ReorderBuffer`, starting at its head.
package struct FrameAssembler: Sendable {
    /// What lies at the head.
    package enum Step: Hashable, Sendable {
        /// Nothing, or a frame that goes on with packets not sent or not seen yet.
        case idle
        /// This number is missing and newer ones are there.
        case blocked(missing: Int64)
        /// These numbers make one frame.
        case frame(Range<Int64>)
        /// This many numbers carry nothing, or belong to a frame whose beginning is gone.
        case useless(count: Int64)
        /// The next frame begins after this many numbers, and the one at the head has no end: it was never sent.
        case torso(count: Int64)
    }

    /// Numbers before this one were looked at and belong to the frame at the head.
    private var scanned: Int64 = 0
    /// The frame at the head carries the marker of no packet and the buffer ends inside it.
    package private(set) var isInsideFrame = false

    package init() {}

    package mutating func next(in buffer: ReorderBuffer) -> Step {
        isInsideFrame = false
        guard let head = buffer.head, head < buffer.end else { return .idle }
        guard let first = buffer.packet(head) else { return .blocked(missing: head) }
        guard first.isFrameStart else { return .useless(count: 1) }
        if scanned <= head { scanned = head }
        while scanned < buffer.end {
            guard let packet = buffer.packet(scanned) else { return .blocked(missing: scanned) }
            switch Self.role(of: packet, in: first) {
            case .part: scanned += 1
            case .last: return .frame(head..<(scanned + 1))
            case .next:
                return Self.isWhole(head..<scanned, in: buffer) ? .frame(head..<scanned) : .torso(count: scanned - head)
            case .broken: return .useless(count: scanned - head + 1)
            }
        }
        isInsideFrame = true
        return .idle
    }

    /// The first frame after `missing` that is complete and passes `isDecodable`: what can be shown without waiting.
    package static func firstComplete(
        in buffer: ReorderBuffer, after missing: Int64, where isDecodable: (PayloadInfo) -> Bool
    ) -> Int64? {
        var number = missing + 1
        var start: (number: Int64, packet: BufferedPacket)?
        while number < buffer.end {
            guard let packet = buffer.packet(number) else {
                start = nil
                number += 1
                continue
            }
            if let current = start {
                switch role(of: packet, in: current.packet) {
                case .part: break
                case .last: return current.number
                case .next:
                    if isWhole(current.number..<number, in: buffer) { return current.number }
                    // Looked at again as the beginning of a frame.
                    start = nil
                    continue
                case .broken: start = nil
                }
            } else if let info = packet.info, info.isFrameStart, isDecodable(info) {
                if packet.isMarked || info.isFrameEnd { return number }
                start = (number, packet)
            }
            number += 1
        }
        return nil
    }

    /// The next number after `missing` at which a frame begins, or the end of the buffer.
    package static func nextStart(in buffer: ReorderBuffer, after missing: Int64) -> Int64 {
        var number = missing + 1
        while number < buffer.end {
            if buffer.packet(number)?.isFrameStart == true { return number }
            number += 1
        }
        return buffer.end
    }

    /// Whether a frame that is over by the next one's timestamp may have ended where it did.
    private static func isWhole(_ numbers: Range<Int64>, in buffer: ReorderBuffer) -> Bool {
        for number in numbers.reversed() {
            if let info = buffer.packet(number)?.info { return info.mayEndFrame }
        }
        return true
    }

    private enum Role { case part, last, next, broken }

    /// What `packet` is to the frame that begins with `first`; packets are asked in order.
    private static func role(of packet: BufferedPacket, in first: BufferedPacket) -> Role {
        switch packet.content {
        // Padding repeats the timestamp of the last media packet or has one of its own; it says nothing about frames.
        case .filler: .part
        case _ where packet.timestamp != first.timestamp: .next
        case .broken: .broken
        case .payload(let info, _, _): packet.isMarked || info.isFrameEnd ? .last : .part
        }
    }
}
