// Cuts encoded frames into RTP payloads: each gets the codec's descriptor and at most `maxPayloadBytes` in all. In
// goes a frame with its trailer, out come payload bytes in one block of memory, to be put behind RTP headers. VP8:
// RFC 7741 §4; VP9: RFC 9628 §4, never in flexible mode (VID-07). Left out: headers, numbering, pacing, layers.

package import RTCBase
import RTCWire

/// Payloads of one frame, in order, in one block; reused from frame to frame.
package struct PacketizedFrame: Sendable {
    package fileprivate(set) var writer = ByteWriter()
    package fileprivate(set) var payloads: [Range<Int>] = []

    /// An RTP packet of this payload, with header, extensions and SRTP tag, stays below 1200 bytes on the wire.
    package static let defaultMaxPayloadBytes = 1_120

    package init() {}

    package mutating func removeAll() {
        writer.removeAll(keepingCapacity: true)
        payloads.removeAll(keepingCapacity: true)
    }

    package func withPayload<R>(_ range: Range<Int>, _ body: (RawSpan) -> R) -> R {
        body(writer.bytes.span.bytes.extracting(range))
    }
}

package struct VP8Packetizer: Sendable {
    private let maxPayloadBytes: Int
    /// 15 bits, one further for each frame.
    private var pictureID: UInt16

    package init(maxPayloadBytes: Int = PacketizedFrame.defaultMaxPayloadBytes, firstPictureID: UInt16 = 0) {
        self.maxPayloadBytes = maxPayloadBytes
        pictureID = firstPictureID & 0x7FFF
    }

    /// - Parameter isNonReference: nothing will refer to the frame.
    package mutating func packetize(_ frame: RawSpan, isNonReference: Bool = false, into result: inout PacketizedFrame) {
        let id = pictureID
        pictureID = (pictureID &+ 1) & 0x7FFF
        // Only the first payload starts a partition; where the others of the frame begin is not told (RFC 7741 §4.4).
        cut(frame, maxPayloadBytes: maxPayloadBytes, into: &result) { isFirst, _ in
            VP8Descriptor(isStartOfPartition: isFirst, isNonReference: isNonReference, pictureID: id)
        } write: {
            $0.write(into: &$1)
        } count: {
            $0.headerCount
        }
    }
}

package struct VP9Packetizer: Sendable {
    private let maxPayloadBytes: Int
    private var pictureID: UInt16
    /// Counts frames of the base layer, here all of them.
    private var tl0PictureIndex: UInt8

    package init(maxPayloadBytes: Int = PacketizedFrame.defaultMaxPayloadBytes, firstPictureID: UInt16 = 0) {
        self.maxPayloadBytes = maxPayloadBytes
        pictureID = firstPictureID & 0x7FFF
        tl0PictureIndex = 0
    }

    /// - Parameter size: of a key frame, to tell it in the scalability structure.
    package mutating func packetize(
        _ frame: RawSpan, isKeyFrame: Bool, size: (width: UInt16, height: UInt16)? = nil, into result: inout PacketizedFrame
    ) {
        let (id, index) = (pictureID, tl0PictureIndex)
        pictureID = (pictureID &+ 1) & 0x7FFF
        tl0PictureIndex &+= 1
        let structure = isKeyFrame ? size.map { VP9Descriptor.ScalabilityStructure(width: $0.width, height: $0.height) } : nil
        cut(frame, maxPayloadBytes: maxPayloadBytes, into: &result) { isFirst, isLast in
            VP9Descriptor(
                isStartOfFrame: isFirst, isEndOfFrame: isLast, isInterPredicted: !isKeyFrame, pictureID: id, tl0PictureIndex: index,
                scalabilityStructure: isFirst ? structure : nil)
        } write: {
            $0.write(into: &$1)
        } count: {
            $0.headerCount
        }
    }
}

/// Payloads of nearly equal size: a small last one costs as much as a large one and is lost as easily.
private func cut<Descriptor>(
    _ frame: RawSpan, maxPayloadBytes: Int, into result: inout PacketizedFrame,
    descriptor: (_ isFirst: Bool, _ isLast: Bool) -> Descriptor, write: (Descriptor, inout ByteWriter) -> Void,
    count: (Descriptor) -> Int
) {
    result.removeAll()
    let room = max(1, maxPayloadBytes - count(descriptor(true, true)))
    let parts = max(1, (frame.byteCount + room - 1) / room)
    var offset = 0
    for part in 0..<parts {
        let end = offset + (frame.byteCount - offset + parts - part - 1) / (parts - part)
        let start = result.writer.count
        write(descriptor(part == 0, part == parts - 1), &result.writer)
        result.writer.write(frame.extracting(offset..<end))
        result.payloads.append(start..<result.writer.count)
        offset = end
    }
}
