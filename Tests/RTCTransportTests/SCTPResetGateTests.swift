import RTCTransport
import Testing

@Suite("SCTPResetGate")
struct SCTPResetGateTests {
    private let header: [UInt8] = [0x13, 0x88, 0x13, 0x88, 1, 2, 3, 4, 0, 0, 0, 0]

    @Test("DC-12 an early reset request waits until its data has been acknowledged")
    func early() {
        var gate = makeGate()
        let request = withChecksum(header + reset(lastTSN: 102))
        send(sack(100), &gate)
        #expect(receive(request, &gate) == [])
        #expect(gate.takeReady() == nil)
        send(sack(101), &gate)
        #expect(gate.takeReady() == nil)
        send(sack(102), &gate)
        #expect(gate.takeReady() == request)
        #expect(gate.takeReady() == nil, "once")
        #expect(receive(request, &gate) == nil, "now it passes as it is")
    }

    @Test("the rest of the packet goes on without the request, both with a good checksum")
    func split() {
        var gate = makeGate()
        send(sack(0xffff_fffe), &gate)
        let data: [UInt8] = [0, 3, 0, 17, 0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 53, 9, 0, 0, 0]
        let packet = withChecksum(header + reset(lastTSN: 1) + data)
        #expect(receive(packet, &gate) == withChecksum(header + data))
        send(sack(1), &gate)
        #expect(gate.takeReady() == withChecksum(header + reset(lastTSN: 1)), "across the wrap of the TSN")
    }

    @Test("the first TSN is known from INIT, before anything has been acknowledged")
    func beforeFirstAcknowledgement() {
        var gate = makeGate()
        let request = withChecksum(header + reset(lastTSN: 7))
        #expect(receive(request, &gate) == nil, "nothing known, nothing held")
        let first: [UInt8] = [1, 0, 0, 20, 0, 0, 0, 1, 0, 1, 0, 0, 0, 10, 0, 10, 0, 0, 0, 7]
        #expect(receive(withChecksum(header + first), &gate) == nil)
        #expect(receive(withChecksum(header + reset(lastTSN: 6)), &gate) == nil)
        #expect(receive(request, &gate) == [])
    }

    @Test("a damaged packet is not made good by taking it apart, and random packets never trap")
    func damaged() {
        var gate = makeGate()
        send(sack(100), &gate)
        var request = withChecksum(header + reset(lastTSN: 102))
        request[9] ^= 1
        #expect(receive(request, &gate) == nil)
        var generator = SplitMix(seed: 8)
        for count in 0..<500 {
            var bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            _ = receive(bytes, &gate)
            bytes = withChecksum(header + [130, 0, 0, UInt8(truncatingIfNeeded: count)] + bytes.map { $0 & 15 })
            _ = receive(bytes, &gate)
            send(bytes, &gate)
        }
    }

    private func makeGate() -> SCTPResetGate {
        SCTPResetGate { packet in
            withChecksum(packet).withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self) }
        }
    }

    private func receive(_ packet: [UInt8], _ gate: inout SCTPResetGate) -> [UInt8]? {
        packet.withUnsafeBytes { gate.noteReceived($0).replacement }
    }

    private func send(_ packet: [UInt8], _ gate: inout SCTPResetGate) { packet.withUnsafeBytes { gate.noteSent($0) } }

    private func sack(_ tsn: UInt32) -> [UInt8] { header + [3, 0, 0, 16] + bytes(tsn) + [0, 1, 0, 0, 0, 0, 0, 0] }

    private func reset(lastTSN: UInt32) -> [UInt8] {
        [130, 0, 0, 22, 0, 13, 0, 18, 0, 0, 0, 5, 0, 0, 0, 4] + bytes(lastTSN) + [0, 4, 0, 0]
    }

    private func bytes(_ word: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }
}
