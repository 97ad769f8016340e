import RTCBase
import RTCEngine
import RTCWire
import Testing

@Suite("ReceiveRouter")
struct ReceiveRouterTests {
    private func packet(ssrc: UInt32, payloadType: UInt8, mid: String? = nil) -> [UInt8] {
        var writer = ByteWriter()
        let header = RTPHeader(marker: true, payloadType: payloadType, sequenceNumber: 1, timestamp: 1, ssrc: ssrc)
        header.write(into: &writer, extensions: mid.map { [.mid($0, id: MediaSender.midID)] } ?? [])
        writer.write([0x10, 0x10, 1] as [UInt8])
        return writer.bytes
    }

    private func route(_ router: inout ReceiveRouter, _ bytes: [UInt8]) throws -> Int? {
        var ids = HeaderExtensionIDs()
        ids.mid = MediaSender.midID
        let header = try RTPHeader(parsing: bytes.span.bytes)
        let values = HeaderExtensionValues(parsing: bytes.span.bytes, header: header, ids: ids)
        return router.route(header, mid: values.mid, packet: bytes.span.bytes)
    }

    @Test("RTP-15 the first packet of an unannounced SSRC with MID is delivered")
    func firstPacket() {
        var engine = MediaSender.engine(MediaSender.session(videoSections: 2))
        var out = EngineOutputs()
        engine.handleRTP(packet(ssrc: 77, payloadType: 96, mid: "v1"), now: start, into: &out)
        #expect(out.events == [.firstPacket(section: 1, ssrc: 77)])
        #expect(out.frames.map(\.section) == [1])
        // Later packets need no MID.
        var next = packet(ssrc: 77, payloadType: 96)
        next[3] = 2
        next[7] = 9
        engine.handleRTP(next, now: start, into: &out)
        #expect(out.frames.map(\.section) == [1, 1])
    }

    @Test("the order is MID, known SSRC, announced SSRC, unique payload type")
    func order() throws {
        var session = MediaSender.session(announced: true, videoSections: 2)
        session.sections[1].videoCodecs[102] = .vp8
        var router = ReceiveRouter(sections: session.sections)
        #expect(try route(&router, packet(ssrc: MediaSender.ssrc, payloadType: 96)) == 0)
        #expect(try route(&router, packet(ssrc: MediaSender.rtxSSRC, payloadType: 97)) == 0)
        // Shared by two sections: undecidable.
        #expect(try route(&router, packet(ssrc: 5, payloadType: 96)) == nil)
        #expect(try route(&router, packet(ssrc: 5, payloadType: 102)) == 1)
        #expect(try route(&router, packet(ssrc: 5, payloadType: 96)) == 1)
        #expect(try route(&router, packet(ssrc: 6, payloadType: 111)) == 2)
        // A MID corrects an association, also an announced one, and holds from then on.
        #expect(try route(&router, packet(ssrc: MediaSender.ssrc, payloadType: 96, mid: "v1")) == 1)
        #expect(try route(&router, packet(ssrc: MediaSender.ssrc, payloadType: 96)) == 1)
        #expect(try route(&router, packet(ssrc: 8, payloadType: 111, mid: "nobody")) == 2)
    }

    @Test("any number of sources neither grows the table nor loses an announced one")
    func bounded() throws {
        var router = ReceiveRouter(sections: MediaSender.session(announced: true).sections)
        for ssrc in 1000..<3000 as Range<UInt32> { _ = try route(&router, packet(ssrc: ssrc, payloadType: 96, mid: "v0")) }
        #expect(try route(&router, packet(ssrc: MediaSender.ssrc, payloadType: 96)) == 0)
    }

    @Test("sections that receive nothing get nothing")
    func notReceiving() throws {
        var session = MediaSender.session()
        session.sections[0].receives = false
        var router = ReceiveRouter(sections: session.sections)
        #expect(try route(&router, packet(ssrc: 1, payloadType: 96, mid: "v0")) == nil)
    }
}
