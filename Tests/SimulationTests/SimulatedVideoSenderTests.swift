import RTCBase
import RTCSimulation
import RTCWire
import Testing

@Suite("SimulatedVideoSender")
struct SimulatedVideoSenderTests {
    private static let start = MonotonicTime(milliseconds: 1_000)

    /// Runs in steps of 1 ms and gives the RTP datagrams with their times.
    private func run(_ sender: inout SimulatedVideoSender, from first: Int = 0, milliseconds: Int) -> [(
        at: Int, header: RTPHeader, bytes: [UInt8]
    )] {
        var packets: [(Int, RTPHeader, [UInt8])] = []
        for millisecond in first..<first + milliseconds {
            sender.poll(now: Self.start.adding(milliseconds: Int64(millisecond))) { datagram, isRTCP in
                if !isRTCP, let header = try? RTPHeader(parsing: datagram.span.bytes) { packets.append((millisecond, header, datagram)) }
            }
        }
        return packets
    }

    @Test("frames come at the rate, begin with a key frame, and their packets are numbered without a hole")
    func frames() {
        var sender = SimulatedVideoSender(SimulatedVideoSender.Configuration(), start: Self.start)
        let packets = run(&sender, milliseconds: 1_000)
        #expect(sender.frames.count == 30)
        #expect(sender.frames.map(\.isKeyFrame) == [true] + Array(repeating: false, count: 29))
        let numbers = packets.map(\.header.sequenceNumber)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
        #expect(packets.count(where: \.header.marker) == 30)
        #expect(packets.allSatisfy { $0.bytes.count <= 1_200 })
        // A key frame of 20 kB at 20 Mbit/s takes 8 ms.
        #expect(packets.filter { $0.header.timestamp == packets[0].header.timestamp }.last?.at == 8)
    }

    @Test("RTP-03 a NACK is answered by RTX with the original number in front", arguments: [true, false])
    func retransmission(usesRTX: Bool) throws {
        var configuration = SimulatedVideoSender.Configuration()
        if !usesRTX { configuration.rtxPayloadType = nil }
        var sender = SimulatedVideoSender(configuration, start: Self.start)
        let packets = run(&sender, milliseconds: 20)
        let lost = packets[3]
        var writer = ByteWriter()
        RTCPPacket.genericNACK(GenericNACK(senderSSRC: 1, mediaSSRC: configuration.ssrc, sequenceNumbers: [lost.header.sequenceNumber]))
            .write(into: &writer)
        sender.handleRTCP(writer.bytes.span.bytes, now: Self.start.adding(milliseconds: 25))
        let repair = try #require(run(&sender, from: 25, milliseconds: 3).first)
        let payload = repair.bytes[repair.header.payloadRange]
        let original = lost.bytes[lost.header.payloadRange]
        #expect(repair.header.marker == lost.header.marker && repair.header.timestamp == lost.header.timestamp)
        if usesRTX {
            #expect(repair.header.ssrc == configuration.rtxSSRC && repair.header.payloadType == 99)
            #expect(Array(payload.prefix(2)) == [UInt8(lost.header.sequenceNumber >> 8), UInt8(lost.header.sequenceNumber & 0xFF)])
            #expect(Array(payload.dropFirst(2)) == Array(original))
        } else {
            #expect(repair.header.sequenceNumber == lost.header.sequenceNumber)
            #expect(Array(payload) == Array(original))
        }
    }

    @Test("RTP-19 twenty PLIs in a second make at most four key frames, and never two within 300 ms")
    func keyFrames() {
        let configuration = SimulatedVideoSender.Configuration()
        var sender = SimulatedVideoSender(configuration, start: Self.start)
        var writer = ByteWriter()
        RTCPPacket.pictureLossIndication(PictureLossIndication(senderSSRC: 1, mediaSSRC: configuration.ssrc)).write(into: &writer)
        for step in 0..<20 {
            sender.handleRTCP(writer.bytes.span.bytes, now: Self.start.adding(milliseconds: Int64(step * 50)))
            _ = run(&sender, from: step * 50, milliseconds: 50)
        }
        let keys = sender.frames.filter(\.isKeyFrame).map(\.captured)
        #expect((2...4).contains(keys.count))
        #expect(zip(keys, keys.dropFirst()).allSatisfy { $1.milliseconds(since: $0) >= 300 })
    }
}
