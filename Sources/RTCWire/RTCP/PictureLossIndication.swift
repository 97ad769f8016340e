package import RTCBase

/// PLI: the decoder lost its picture and wants a key frame (RFC 4585 §6.3.1).
package struct PictureLossIndication: Hashable, Sendable {
    package var senderSSRC: UInt32
    package var mediaSSRC: UInt32

    package init(senderSSRC: UInt32, mediaSSRC: UInt32) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
    }

    init(body: RawSpan) throws(WireError) {
        guard body.byteCount >= 8 else { throw .truncated }
        self.init(senderSSRC: body.uint32(at: 0), mediaSSRC: body.uint32(at: 4))
    }

    package func write(into writer: inout ByteWriter) {
        let start = RTCPHead.open(RTCPType.payloadSpecificFeedback, format: 1, into: &writer)
        writer.write(senderSSRC)
        writer.write(mediaSSRC)
        RTCPHead.close(start, in: &writer)
    }
}
