import RTCBase
import RTCEngine
import RTCWire
import Testing

@Suite("PeerEngine")
struct PeerEngineTests {
    private func audioPacket(_ sequence: UInt16, timestamp: UInt32, payload: [UInt8] = [1, 2, 3], ssrc: UInt32 = 50, padding: Int = 0)
        -> [UInt8]
    {
        var sender = MediaSender(codec: .vp8)
        return sender.write(
            RTPHeader(payloadType: MediaSender.opus, sequenceNumber: sequence, timestamp: timestamp, ssrc: ssrc), payload, padding: padding)
    }

    @Test("audio passes straight through: unwrapped numbers, duplicates and padding removed, order of arrival kept")
    func audio() {
        var engine = MediaSender.engine()
        var out = EngineOutputs()
        for sequence in [65_534, 65_535, 1, 0, 1, 2] as [UInt16] {
            let packet = audioPacket(sequence, timestamp: UInt32(sequence) &* 960)
            engine.handleRTP(packet, now: start, into: &out)
            if let arrival = out.audio.last { #expect(Array(packet[arrival.payload]) == [1, 2, 3]) }
        }
        engine.handleRTP(audioPacket(3, timestamp: 0, payload: [], padding: 20), now: start, into: &out)
        let first = Int64(65_534 + 65_536)
        #expect(out.audio.map(\.sequence) == [first, first + 1, first + 3, first + 2, first + 4])
        #expect(out.events == [.firstPacket(section: 1, ssrc: 50)])
        #expect(engine.drops[.duplicatePacket] == 1)
        #expect(engine.drops[.paddingOnly] == 1)
        // A new source goes on with higher numbers.
        engine.handleRTP(audioPacket(7, timestamp: 0, ssrc: 51), now: start, into: &out)
        #expect(out.audio.last.map { $0.sequence > first + 4 } == true)
        // AUD-11: nothing passes while paused.
        engine.setReceiving(false, section: 1, now: start)
        let count = out.audio.count
        engine.handleRTP(audioPacket(8, timestamp: 0, ssrc: 51), now: start, into: &out)
        #expect(out.audio.count == count)
        #expect(engine.statistics(section: 1)?.packetsReceived == 2)
    }

    @Test("RTP-11 a compound's sender report and BYE are seen behind an SDES with more items than CNAME")
    func compound() {
        var engine = MediaSender.engine()
        var out = EngineOutputs()
        engine.handleRTP(audioPacket(1, timestamp: 960), now: start, into: &out)
        var writer = ByteWriter()
        RTCPPacket.senderReport(
            SenderReport(ssrc: 50, ntp: NTPTimestamp(rawValue: 77 << 32), rtpTimestamp: 960, packetCount: 1, octetCount: 3)
        ).write(into: &writer)
        // SDES with CNAME "a" and TOOL "bc", padded to 32 bits.
        writer.write([0x81, 202, 0, 4, 0, 0, 0, 50, 1, 1, 0x61, 6, 2, 0x62, 0x63, 0, 0, 0, 0, 0] as [UInt8])
        RTCPPacket.goodbye(Goodbye(ssrcs: [50, 999])).write(into: &writer)
        engine.handleRTCP(writer.bytes.span.bytes, now: start.adding(milliseconds: 5), into: &out)
        #expect(
            out.events.dropFirst() == [
                .senderReport(
                    section: 1, ssrc: 50, ntp: NTPTimestamp(rawValue: 77 << 32), rtpTimestamp: 960, arrival: start.adding(milliseconds: 5)),
                .goodbye(section: 1, ssrc: 50),
            ])
        engine.run(until: start.adding(milliseconds: 205), into: &out)
        let blocks = out.feedback.flatMap { packet -> [ReportBlock] in
            if case .receiverReport(let report) = packet { report.reports } else { [] }
        }
        #expect(blocks.map(\.lastSR) == [77 << 16])
        #expect(blocks.first.map { $0.delaySinceLastSR == 65_536 * 195 / 1000 } == true)
    }

    @Test("malformed packets are counted and answered by nothing")
    func malformed() {
        var engine = MediaSender.engine()
        var out = EngineOutputs()
        engine.handleRTP([0x80, 96], now: start, into: &out)
        engine.handleRTCP(([0x80, 200, 0] as [UInt8]).span.bytes, now: start, into: &out)
        var sender = MediaSender(codec: .vp8)
        engine.handleRTP(sender.write(RTPHeader(payloadType: 120, sequenceNumber: 1, timestamp: 1, ssrc: 4), [1]), now: start, into: &out)
        #expect(engine.drops[.malformedRTP] == 1 && engine.drops[.malformedRTCP] == 1 && engine.drops[.unknownStream] == 1)
        #expect(out.frames.isEmpty && out.events.isEmpty)
        for section in [-1, 7] {
            engine.requestKeyFrame(section: section, now: start, into: &out)
            engine.setReceiving(false, section: section, now: start)
            #expect(engine.statistics(section: section) == nil)
        }
    }

    @Test("transport-wide feedback tells of packets of every section, RTX and unroutable ones as well")
    func transportFeedback() {
        var engine = MediaSender.engine(MediaSender.session(announced: true))
        var sender = MediaSender(codec: .vp8)
        var out = EngineOutputs()
        var headers = [96, 97, 111, 120].map { RTPHeader(payloadType: $0, sequenceNumber: 1, timestamp: 1, ssrc: UInt32($0)) }
        headers[1].ssrc = MediaSender.rtxSSRC
        for header in headers { engine.handleRTP(sender.write(header, [0x10, 0, 0]), now: start, into: &out) }
        engine.run(until: start.adding(milliseconds: 150), into: &out)
        let statuses = out.feedback.compactMap { packet -> [PacketStatus]? in
            if case .transportFeedback(let feedback) = packet { feedback.packets } else { nil }
        }
        #expect(statuses == [Array(repeating: .received(delta250us: 0), count: 4)])
    }
}
