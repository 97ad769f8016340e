import RTCBase
import RTCEngine
import RTCWire

/// Numbers and packetises what one section sends. Network thread only.
final class TestMediaSender {
    let kind: MediaKind
    let ssrc = UInt32.random(in: 1...UInt32.max)
    var needsKeyFrame = true

    private let mid: String
    private let payloadType: UInt8
    private let ids: HeaderExtensionIDs
    private var sequence = UInt16.random(in: 0...UInt16.max)
    private var transportSequence: UInt16 = 0
    private var audioTimestamp = UInt32.random(in: 0...UInt32.max)
    private var vp8 = VP8Packetizer()
    private var vp9 = VP9Packetizer()
    private var cut = PacketizedFrame()

    init(section: MediaSection, codec: VideoCodec) {
        mid = section.mid ?? ""
        kind = section.kind == .video ? .video : .audio
        ids = HeaderExtensionIDs(section.headerExtensions)
        let name = section.kind == .video ? codec.rawValue : "opus"
        payloadType = section.codecs.first { $0.isNamed(name) }?.payloadType ?? 0
    }

    func packets(of frame: EncodedFrame, metadata: FrameMetadata?) -> [[UInt8]] {
        var bytes = ByteWriter()
        frame.bytes.withBytes { bytes.write($0) }
        if let metadata { FrameTrailer.write(metadata, into: &bytes) }
        let whole = bytes.bytes
        switch frame.codec {
        case .vp8: vp8.packetize(whole.span.bytes, into: &cut)
        case .vp9: vp9.packetize(whole.span.bytes, isKeyFrame: frame.isKeyFrame, into: &cut)
        }
        let last = cut.payloads.count - 1
        return cut.payloads.enumerated().map { index, range in
            let payload = cut.withPayload(range) { span in span.withUnsafeBytes { [UInt8]($0) } }
            return packet(payload, marker: index == last, timestamp: frame.rtpTimestamp)
        }
    }

    func packet(audio payload: [UInt8], samples: Int) -> [UInt8] {
        defer { audioTimestamp &+= UInt32(truncatingIfNeeded: samples) }
        return packet(payload, marker: false, timestamp: audioTimestamp)
    }

    private func packet(_ payload: [UInt8], marker: Bool, timestamp: UInt32) -> [UInt8] {
        let header = RTPHeader(
            marker: marker, payloadType: payloadType, sequenceNumber: sequence, timestamp: timestamp, ssrc: ssrc)
        sequence &+= 1
        transportSequence &+= 1
        var extensions: [HeaderExtension] = []
        if ids.mid != 0 { extensions.append(.mid(mid, id: ids.mid)) }
        if ids.transportSequenceNumber != 0 {
            extensions.append(.transportSequenceNumber(transportSequence, id: ids.transportSequenceNumber))
        }
        var writer = ByteWriter()
        header.write(into: &writer, extensions: extensions)
        writer.write(payload)
        return writer.bytes
    }
}
