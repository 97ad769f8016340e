import RTCBase
import Testing

@testable import RTCWire

@Suite struct HeaderExtensionsTests {
    private static let ids: HeaderExtensionIDs = {
        var ids = HeaderExtensionIDs()
        (ids.mid, ids.transportSequenceNumber, ids.absoluteSendTime, ids.audioLevel) = (9, 4, 2, 14)
        return ids
    }()

    /// A packet with this extension block and the payload `0102`.
    private static func read(_ profile: UInt16, _ block: [UInt8]) throws -> (
        values: HeaderExtensionValues, header: RTPHeader, packet: [UInt8]
    ) {
        var writer = ByteWriter()
        writer.write(hex("90e0 0001 00000002 00000003"))
        writer.write(profile)
        writer.write(UInt16(block.count / 4))
        writer.write(block)
        writer.write([1, 2])
        let header = try RTPHeader(bytes: writer.bytes)
        return (HeaderExtensionValues(parsing: writer.bytes.span.bytes, header: header, ids: ids), header, writer.bytes)
    }

    @Test("RFC 8285 §4.2: elements of the one-byte form")
    func oneByte() throws {
        let (values, header, packet) = try Self.read(0xBEDE, hex("41 1234  22 abcdef  90 37  e0 95 00"))
        #expect(values.transportSequenceNumber == 0x1234 && values.absoluteSendTime == 0xABCDEF)
        #expect(values.mid.map { Array(packet[$0]) } == [0x37])
        #expect(values.audioLevel == 0x15 && values.hasVoice == true)
        #expect(values.transportSequenceNumberOffset == 17 && values.absoluteSendTimeOffset == 20)
        #expect(header.payloadCount == 2)
    }

    @Test("RFC 8285 §4.3: elements of the two-byte form, with any appbits and an empty element", arguments: [0x1000, 0x100F] as [UInt16])
    func twoByte(_ profile: UInt16) throws {
        let (values, _, packet) = try Self.read(profile, hex("04 02 1234  00 07 00  09 03 616263  0e 01 7f 00"))
        #expect(values.transportSequenceNumber == 0x1234 && values.audioLevel == 127 && values.hasVoice == false)
        #expect(values.mid.map { Array(packet[$0]) } == Array("abc".utf8))
    }

    @Test("RTP-05 zero bytes between elements are skipped")
    func zeroPadding() throws {
        let (values, header, _) = try Self.read(0xBEDE, hex("9030 0000 0000 0041 1234 0000"))
        #expect(values.mid != nil && values.transportSequenceNumber == 0x1234 && header.payloadCount == 2)
    }

    @Test("RTP-05 id 15 and id 0 with a length stop the reading, what came before stays", arguments: ["f0", "ff", "05", "01"])
    func stopping(_ head: String) throws {
        let (values, header, _) = try Self.read(0xBEDE, hex("9030 \(head) 41 1234 0000"))
        #expect(values.mid != nil && values.transportSequenceNumber == nil)
        #expect(header.payloadOffset == 24 && header.payloadCount == 2, "the length word alone places the payload")
    }

    @Test("RTP-05 an element longer than the block ends the reading")
    func overlong() throws {
        #expect(try Self.read(0xBEDE, hex("9030 4f12")).values.transportSequenceNumber == nil)
        #expect(try Self.read(0xBEDE, hex("9030 4f12")).values.mid != nil)
        #expect(try Self.read(0x1000, hex("0902 3031 0404 1234")).values.transportSequenceNumber == nil)
        #expect(try Self.read(0x1000, hex("0901 3104")).values.mid != nil)
        #expect(try Self.read(0x1234, hex("0901 3100")).values.mid == nil, "an unknown profile is not read")
    }

    @Test("a value of the wrong size does not count, the first of an id does")
    func sizes() throws {
        let (values, _, packet) = try Self.read(0xBEDE, hex("40 12  21 abcd  90 31  90 32 000000"))
        #expect(values.transportSequenceNumber == nil && values.absoluteSendTime == nil)
        #expect(values.mid.map { Array(packet[$0]) } == [0x31])
    }

    @Test("RFC 8285 §4: written elements read back in the form that fits", arguments: [9, 15, 200] as [UInt8])
    func written(_ midID: UInt8) throws {
        var ids = Self.ids
        ids.mid = midID
        var writer = ByteWriter()
        let header = RTPHeader(payloadType: 96, sequenceNumber: 1, timestamp: 2, ssrc: 3)
        header.write(
            into: &writer,
            extensions: [
                .mid("video", id: midID), .transportSequenceNumber(0xFFFE, id: 4), .absoluteSendTime(0x010203, id: 2),
                .audioLevel(30, hasVoice: true, id: 14),
            ])
        let again = try RTPHeader(bytes: writer.bytes)
        #expect(again.extensionProfile == (midID < 15 ? 0xBEDE : 0x1000))
        let values = HeaderExtensionValues(parsing: writer.bytes.span.bytes, header: again, ids: ids)
        #expect(values.mid.map { String(decoding: writer.bytes[$0], as: UTF8.self) } == "video")
        #expect(values.transportSequenceNumber == 0xFFFE && values.absoluteSendTime == 0x010203)
        #expect(values.audioLevel == 30 && values.hasVoice == true)
    }

    @Test("ids come from the extmap lines by URI")
    func negotiatedIDs() {
        let ids = HeaderExtensionIDs([
            SDPHeaderExtension(id: 4, uri: HeaderExtensionURI.transportSequenceNumber),
            SDPHeaderExtension(id: 9, uri: HeaderExtensionURI.mid),
            SDPHeaderExtension(id: 3, uri: "urn:3gpp:video-orientation"),
        ])
        #expect(ids.transportSequenceNumber == 4 && ids.mid == 9 && ids.absoluteSendTime == 0)
    }
}
