import RTCBase
import RTCWire
import Testing

@Suite("SenderExtensions")
struct SenderExtensionsTests {
    private func ids(mid: UInt8 = 9, time: UInt8 = 2, transport: UInt8 = 4) -> HeaderExtensionIDs {
        var ids = HeaderExtensionIDs()
        ids.mid = mid
        ids.absoluteSendTime = time
        ids.transportSequenceNumber = transport
        return ids
    }

    private func packet(_ extensions: SenderExtensions, withMID: Bool) -> [UInt8] {
        var writer = ByteWriter()
        let header = RTPHeader(marker: true, payloadType: 96, sequenceNumber: 7, timestamp: 8, ssrc: 9)
        header.writeFixed(hasExtensions: extensions.byteCount(withMID: withMID) > 0, into: &writer)
        extensions.write(withMID: withMID, absoluteSendTime: 0x12_3456, transportNumber: 0xABCD, into: &writer)
        writer.write([1, 2, 3] as [UInt8])
        return writer.bytes
    }

    @Test(
        "what is written reads back, in either form, and has the size that was told",
        arguments: [
            ("0", 9), ("0123456789abcdef", 14), ("a name of more than sixteen", 3), ("0", 15), ("x", 200),
        ] as [(String, UInt8)])
    func roundTrip(mid: String, id: UInt8) throws {
        let ids = ids(mid: id)
        let extensions = SenderExtensions(ids: ids, mid: mid)
        for withMID in [true, false] {
            let bytes = packet(extensions, withMID: withMID)
            let header = try RTPHeader(parsing: bytes.span.bytes)
            #expect(header.payloadCount == 3 && header.payloadOffset == 12 + extensions.byteCount(withMID: withMID))
            let values = HeaderExtensionValues(parsing: bytes.span.bytes, header: header, ids: ids)
            #expect(values.absoluteSendTime == 0x12_3456 && values.transportSequenceNumber == 0xABCD)
            #expect(values.mid.map { String(decoding: bytes[$0], as: UTF8.self) } == (withMID ? mid : nil))
        }
    }

    @Test("nothing negotiated: no block and no X bit")
    func none() throws {
        let extensions = SenderExtensions(ids: ids(mid: 0, time: 0, transport: 0), mid: "0")
        let bytes = packet(extensions, withMID: true)
        #expect(bytes[0] == 0x80 && bytes.count == 15)
        let header = try RTPHeader(parsing: bytes.span.bytes)
        #expect(header.payloadCount == 3 && header.marker)
    }

    @Test("send times are 6.18 seconds and wrap after 64")
    func time() {
        #expect(SenderExtensions.absoluteSendTime(MonotonicTime(nanoseconds: 1_500_000_000)) == 3 << 17)
        #expect(SenderExtensions.absoluteSendTime(MonotonicTime(nanoseconds: 65_500_000_000)) == 3 << 17)
        #expect(SenderExtensions.absoluteSendTime(MonotonicTime(nanoseconds: 63_999_999_999)) == 0xFF_FFFF)
    }
}
