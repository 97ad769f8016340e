import RTCBase
import RTCTransport
import Testing

// usrsctp is one per process, with one clock of timers. Each test runs in a process of its own, where it can let that clock go on
// as it likes without disturbing the network thread of other tests. A few decisions of the library read the real clock; tests of
// these let both go on together.

@Suite("SCTPAssociation", .serialized, .timeLimit(.minutes(5)))
struct SCTPAssociationTests {
    @Test("RFC 9260 §5.2 both ends connect at once and are up without a timer, every packet within the MTU")
    func simultaneousOpen() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            var wasUp = false
            pair.a.association.onUp = { wasUp = true }
            pair.a.association.connect()
            pair.b.association.connect()
            pair.deliverAll()
            #expect(wasUp && pair.a.association.isUp && pair.b.association.isUp)
            #expect(pair.a.send(1, [UInt8](repeating: 1, count: 50_000)) == .sent)
            pair.run(milliseconds: 200)
            #expect(pair.b.messages.map(\.bytes.count) == [50_000])
            #expect(pair.packetSizes.allSatisfy { $0 <= 1160 })
            #expect(pair.packetSizes.contains { $0 > 1100 })
        }
    }

    @Test("messages sent before the association is up follow when it is, in order")
    func sentEarly() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            for value in 0..<20 as Range<UInt8> { #expect(pair.a.send(1, [value]) == .sent) }
            #expect(pair.a.association.bufferedBytes == 20)
            pair.connect()
            pair.run(milliseconds: 100)
            #expect(pair.b.messages.map(\.bytes) == (0..<20).map { [$0] })
            #expect(pair.a.association.bufferedBytes == 0)
        }
    }

    @Test("DC-04 65535, 65536, 262144, 262145 bytes and one MiB arrive whole, with stream and PPID")
    func messageSizes() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            for (index, count) in [1, 65535, 65536, 262_144, 262_145, 1 << 20].enumerated() {
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index) }
                #expect(pair.a.send(UInt16(index), bytes, ppid: 51 + UInt32(index)) == .sent)
                pair.run(milliseconds: 1000, until: { pair.b.messages.count == index + 1 })
                let last = try #require(pair.b.messages.last)
                #expect(last.bytes == bytes && last.stream == index && last.ppid == 51 + UInt32(index))
            }
            #expect(pair.a.send(1, []) == .failed)
            #expect(pair.a.send(1, [UInt8](repeating: 0, count: SCTPAssociation.maxMessageBytes + 1)) == .failed)
            #expect(pair.a.send(2000, [1]) == .failed, "no such stream")
            #expect(pair.a.association.isUp)
        }
    }

    @Test("DC-04 one MiB under loss arrives whole out of partial deliveries, other streams meanwhile too")
    func largeMessageUnderLoss() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            var generator = SplitMix(seed: 4)
            pair.drops = { _, _ in Int.random(in: 0..<100, using: &generator) < 3 }
            let bytes = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            #expect(pair.a.send(1, bytes) == .sent)
            for value in 0..<50 as Range<UInt8> { #expect(pair.a.send(2, [value], ordered: value % 2 == 0) == .sent) }
            try await pair.runPatiently(milliseconds: 60_000, until: { pair.b.messages.count == 51 })
            #expect(pair.b.messages.first { $0.stream == 1 }?.bytes == bytes)
            #expect(Set(pair.b.messages.filter { $0.stream == 2 }.map { $0.bytes[0] }).count == 50)
        }
    }

    @Test("a message over the receiver's limit is dropped and counted, the next one arrives")
    func incomingLimit() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair(maxIncomingMessageBytes: 100_000)
            pair.connect()
            #expect(pair.a.send(1, [UInt8](repeating: 1, count: 100_001)) == .sent)
            #expect(pair.a.send(2, [UInt8](repeating: 2, count: 800_000)) == .sent)
            #expect(pair.a.send(1, [UInt8](repeating: 3, count: 100_000)) == .sent)
            pair.run(milliseconds: 2000, until: { !pair.b.messages.isEmpty })
            #expect(pair.b.messages.map(\.bytes) == [[UInt8](repeating: 3, count: 100_000)])
            #expect(pair.b.association.drops[.messageTooLarge] == 2)
        }
    }

    @Test("the send queue is bounded, says so, and drains in order down to zero buffered bytes")
    func sendQueue() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            var accepted = 0
            while accepted < 1000 {
                let result = pair.a.send(1, [UInt8](repeating: UInt8(truncatingIfNeeded: accepted), count: 64_000))
                if result != .sent {
                    #expect(result == .wouldBlock)
                    break
                }
                accepted += 1
            }
            #expect((20...200).contains(accepted))
            #expect(pair.a.association.bufferedBytes == accepted * 64_000)
            var falling: [Int] = []
            pair.a.association.onBufferedBytes = { falling.append($0) }
            pair.run(milliseconds: 20_000, until: { pair.b.messages.count == accepted })
            #expect(pair.b.messages.map { $0.bytes[0] } == (0..<accepted).map { UInt8(truncatingIfNeeded: $0) })
            pair.run(milliseconds: 100)
            #expect(pair.a.association.bufferedBytes == 0)
            #expect(falling == falling.sorted(by: >) && falling.last == 0)
            #expect(pair.a.send(1, [1]) == .sent)
        }
    }

    @Test("DC-14 one message: the buffered amount is reported once when it falls, down to zero")
    func bufferedAmountFalls() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            pair.run(milliseconds: 300)
            var reported: [Int] = []
            pair.a.association.onBufferedBytes = { reported.append($0) }
            #expect(pair.a.send(1, [UInt8](repeating: 7, count: 500)) == .sent)
            #expect(reported.isEmpty, "nothing has been acknowledged yet")
            pair.run(milliseconds: 1000)
            #expect(pair.b.messages.count == 1)
            #expect(reported == [0])
        }
    }

    @Test("DC-12 a reset reaches the peer after the data, is answered, and the stream can be used again")
    func resets() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            var resetAtB: [[UInt16]] = []
            var resetAtA: [[UInt16]] = []
            var doneAtA: [UInt16] = []
            var receivedBefore = -1
            pair.b.association.onStreamReset = { [unowned pair] streams in
                resetAtB.append(streams)
                receivedBefore = pair.b.messages.count
                pair.b.association.resetStreams(streams)
            }
            pair.a.association.onStreamReset = { resetAtA.append($0) }
            pair.a.association.onOutgoingStreamReset = { doneAtA += $0 }
            for _ in 0..<100 { #expect(pair.a.send(4, [UInt8](repeating: 1, count: 64_000)) == .sent) }
            #expect(pair.b.send(4, [9]) == .sent)
            pair.a.association.resetStreams([4])
            pair.run(milliseconds: 5000, until: { !resetAtA.isEmpty && !doneAtA.isEmpty })
            #expect(resetAtB == [[4]] && resetAtA == [[4]] && doneAtA == [4])
            #expect(receivedBefore == 100, "the data goes first")
            #expect(pair.a.send(4, [5]) == .sent)
            pair.run(milliseconds: 1000, until: { pair.b.messages.count == 101 })
            #expect(pair.b.messages.last?.bytes == [5])
        }
    }

    @Test("DC-12 many resets at once, one at a time, and of unused and impossible streams, under loss")
    func manyResets() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            var generator = SplitMix(seed: 12)
            pair.drops = { _, _ in Int.random(in: 0..<100, using: &generator) < 10 }
            var resetAtB: Set<UInt16> = []
            pair.b.association.onStreamReset = { resetAtB.formUnion($0) }
            let streams = (0..<200).map { UInt16($0) }
            for stream in streams where stream % 2 == 0 { #expect(pair.a.send(stream, [1]) == .sent) }
            pair.a.association.resetStreams(Array(streams[..<100]))
            for stream in streams[100...] { pair.a.association.resetStreams([stream]) }
            pair.a.association.resetStreams([5000])
            try await pair.runPatiently(milliseconds: 30_000, until: { resetAtB.count == 200 })
            #expect(resetAtB == Set(streams))
            #expect(pair.a.association.isUp)
        }
    }

    @Test("DC-12 a reset that comes before lost data of its stream is carried out after the repair")
    func resetBeforeData() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            var resetAtB: [[UInt16]] = []
            var messagesBefore = 0
            pair.b.association.onStreamReset = { [unowned pair] in
                resetAtB.append($0)
                messagesBefore = pair.b.messages.count
            }
            #expect(pair.a.send(4, [1]) == .sent)
            pair.run(milliseconds: 100)
            var areDataLost = true
            pair.drops = { packet, _ in areDataLost && packet[12] == 0 && packet.contains(0xEE) }
            // The request names the last chunk of any stream. One on another stream is missing, the ones behind it have come.
            #expect(pair.a.send(5, [UInt8](repeating: 0xEE, count: 200)) == .sent)
            #expect(pair.a.send(6, [3]) == .sent)
            pair.a.association.resetStreams([4])
            pair.run(milliseconds: 3000, until: { pair.a.sent.contains { $0[12] == 130 } })
            pair.run(milliseconds: 20)
            #expect(pair.a.sent.contains { $0[12] == 130 } && resetAtB.isEmpty)
            areDataLost = false
            try await pair.runInRealTime(milliseconds: 3000, until: { !resetAtB.isEmpty })
            #expect(resetAtB == [[4]] && messagesBefore == 3)
        }
    }

    @Test("DC-10 streams 0 and 65534 carry data when the association has them")
    func outermostStreams() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair(streamCount: 65535)
            pair.connect()
            for stream in [0, 65534] as [UInt16] {
                #expect(pair.a.send(stream, [1]) == .sent)
                #expect(pair.b.send(stream, [2]) == .sent)
            }
            #expect(pair.a.send(65535, [1]) == .failed)
            pair.run(milliseconds: 100)
            #expect(pair.a.messages.map(\.stream) == [0, 65534] && pair.b.messages.map(\.stream) == [0, 65534])
        }
    }

    @Test("DC-16 closing while packets arrive, 1000 times")
    func closeUnderTraffic() async {
        await #expect(processExitsWith: .success) {
            for round in 0..<1000 {
                let pair = try SCTPPair()
                pair.connect()
                for _ in 0..<20 {
                    _ = pair.a.send(1, [UInt8](repeating: 1, count: 3000))
                    _ = pair.b.send(1, [UInt8](repeating: 2, count: 3000))
                }
                let closing = round % 2 == 0 ? pair.a : pair.b
                switch round % 4 {
                case 0, 1: closing.association.onMessage = { _, _, _ in closing.association.close() }
                default: closing.association.close()
                }
                pair.run(milliseconds: 20)
                #expect(!closing.association.isUp && closing.down.isEmpty)
                closing.association.onMessage = { _, _, _ in }
                // Late packets and timers for what is gone.
                closing.association.close()
                closing.receive([UInt8](repeating: 0, count: 100))
            }
            #expect(SCTPStack.shared.associationCount == 0)
        }
    }

    @Test("an association dropped without close leaves nothing behind")
    func dropped() async {
        await #expect(processExitsWith: .success) {
            let time: MonotonicTime
            do {
                let pair = try SCTPPair()
                pair.connect()
                _ = pair.a.send(1, [1])
                time = pair.now
            }
            #expect(SCTPStack.shared.associationCount == 0)
            for step in 1...300 { SCTPStack.shared.tick(now: time.adding(milliseconds: Int64(step * 10))) }
            #expect(SCTPStack.shared.nextDeadline == nil, "no ticks when nothing is left")
        }
    }

    @Test("DC-01 data outstanding, the path there, nothing acknowledged: the association ends after the limit")
    func watchdog() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            pair.drops = { packet, _ in packet[12] == 3 || packet[12] == 0 }  // SACK and DATA
            #expect(pair.a.send(1, [1, 2, 3]) == .sent)
            pair.run(milliseconds: 14_000)
            #expect(pair.a.down.isEmpty && pair.a.association.isUp)
            pair.run(milliseconds: 2_000)
            #expect(pair.a.down.map(\.kind) == [.timeout])
            #expect(!pair.a.association.isUp)
            #expect(pair.b.down.map(\.kind) == [.closedByPeer], "the peer is told")
        }
    }

    @Test("DC-01 bulk data with loss both ways goes on without a stall")
    func bulkUnderLoss() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            var generator = SplitMix(seed: 1)
            pair.drops = { packet, _ in Int.random(in: 0..<100, using: &generator) < (packet[12] == 3 ? 20 : 1) }
            var sent = 0
            let bytes = [UInt8](repeating: 7, count: 64_000)
            try await pair.runPatiently(milliseconds: 600_000) {
                while sent < 300, pair.a.send(1, bytes) == .sent { sent += 1 }
                return pair.b.messages.count == 300
            }
            #expect(pair.b.messages.count == 300)
            #expect(pair.a.down.isEmpty)
        }
    }

    @Test("DC-03 a path that takes nothing for 50 ms loses no packet")
    func refusedPackets() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            pair.a.refuses = true
            for value in 0..<100 as Range<UInt8> { #expect(pair.a.send(1, [UInt8](repeating: value, count: 1000)) == .sent) }
            let offered = pair.a.refused
            pair.run(milliseconds: 50)
            #expect(offered > 0 && pair.b.messages.isEmpty)
            pair.a.refuses = false
            pair.run(milliseconds: 40)
            #expect(pair.b.messages.map { $0.bytes[0] } == (0..<100).map { $0 }, "no retransmission timer was needed")
        }
    }

    @Test("DC-19 with steady traffic a lost chunk is repaired within two timeouts", arguments: [1, 2, 3])
    func lostChunk(losses: Int) async {
        await #expect(processExitsWith: .success) { [losses] in
            let pair = try SCTPPair()
            pair.connect()
            #expect(pair.a.send(2, [0]) == .sent)
            pair.run(milliseconds: 300)
            var left = losses
            pair.drops = { packet, _ in
                guard left > 0, packet.contains(0xEE) else { return false }
                left -= 1
                return true
            }
            let start = pair.now
            #expect(pair.a.send(1, [UInt8](repeating: 0xEE, count: 200)) == .sent)
            try await pair.runInRealTime(milliseconds: 3000) {
                _ = pair.a.send(2, [1])
                return pair.b.messages.contains { $0.stream == 1 }
            }
            #expect(left == 0)
            // The least timeout is 200 ms, and 500 ms before the first measurement.
            #expect(pair.now.milliseconds(since: start) <= 1000)
        }
    }

    @Test("DC-19 the last chunk of all, lost with nothing behind it, is repaired by the timer")
    func lostLastChunk() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            var left = 1
            pair.drops = { packet, _ in
                guard left > 0, packet[12] == 0 else { return false }
                left -= 1
                return true
            }
            let start = pair.now
            #expect(pair.a.send(1, [1]) == .sent)
            try await pair.runInRealTime(milliseconds: 3000, until: { !pair.b.messages.isEmpty })
            #expect(left == 0 && pair.b.messages.count == 1)
            #expect(pair.now.milliseconds(since: start) <= 1000)
        }
    }

    @Test("DC-20 a reliable ordered and an unreliable unordered stream under loss keep their own properties")
    func mixedReliability() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            var generator = SplitMix(seed: 20)
            pair.drops = { packet, _ in packet[12] == 0 && Int.random(in: 0..<100, using: &generator) < 20 }
            for value in 0..<200 as Range<UInt8> {
                #expect(pair.a.send(1, [value]) == .sent)
                #expect(pair.a.send(2, [value], ordered: false, reliability: .maxRetransmits(0)) == .sent)
                #expect(pair.a.send(3, [value], ordered: false, reliability: .maxLifetimeMilliseconds(100)) == .sent)
                pair.run(milliseconds: 10)
            }
            try await pair.runInRealTime(milliseconds: 20_000) {
                pair.b.messages.filter { $0.stream == 1 }.count == 200 && pair.a.association.bufferedBytes == 0
            }
            let reliable = pair.b.messages.filter { $0.stream == 1 }.map { $0.bytes[0] }
            let unreliable = pair.b.messages.filter { $0.stream == 2 }.map { $0.bytes[0] }
            #expect(reliable == (0..<200).map { $0 })
            #expect(unreliable.count < 195 && unreliable.count > 100)
            #expect(Set(unreliable).count == unreliable.count)
            #expect(pair.a.association.bufferedBytes == 0, "abandoned messages are not buffered for ever")
            #expect(pair.a.down.isEmpty)
        }
    }

    @Test("the peer's abort ends the association at once")
    func peerAborts() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            pair.b.association.close()
            pair.deliverAll()
            #expect(pair.a.down.map(\.kind) == [.closedByPeer])
            #expect(pair.b.down.isEmpty, "no callback follows one's own close")
            #expect(pair.a.send(1, [1]) == .failed)
            #expect(SCTPStack.shared.associationCount == 0)
        }
    }

    @Test("the peer's SHUTDOWN ends the association at once")
    func peerShutsDown() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            _ = pair.a.send(1, [1])
            pair.run(milliseconds: 100)
            // Ports and tag as in b's packets; the acknowledged TSN as in its last SACK.
            let sack = try #require(pair.b.sent.last { $0[12] == 3 })
            pair.a.receive(withChecksum(Array(sack[..<8]) + [0, 0, 0, 0] + [7, 0, 0, 8] + sack[16..<20]))
            #expect(pair.a.down.map(\.kind) == [.closedByPeer])
        }
    }

    @Test("a silent peer: no association, and none is ever reported up")
    func silentPeer() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.a.association.connect()
            pair.drops = { _, _ in true }
            pair.run(milliseconds: 200_000, until: { !pair.a.down.isEmpty })
            #expect(pair.a.down.map(\.kind) == [.sctpFailed])
            let inits = pair.a.sent.filter { $0[12] == 1 }.count
            #expect(inits > 3)
        }
    }

    @Test("heartbeats go out about every second on an idle path and give a round trip")
    func heartbeats() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            try await pair.runInRealTime(milliseconds: 4000, until: { pair.a.sent.filter { $0[12] == 4 }.count == 2 })
            let heartbeats = pair.a.sent.filter { $0[12] == 4 }.count
            #expect(heartbeats == 2, "\(heartbeats) in four seconds")
            let roundTrip = try #require(pair.a.association.roundTripTimeNanoseconds)
            #expect(roundTrip > 0 && roundTrip < 1_000_000_000)
        }
    }

    @Test("damaged, cut and random packets never trap and end nothing")
    func garbage() async {
        await #expect(processExitsWith: .success) {
            let pair = try SCTPPair()
            pair.connect()
            for value in 0..<10 as Range<UInt8> { _ = pair.a.send(1, [UInt8](repeating: value, count: 2000)) }
            pair.run(milliseconds: 200)
            var generator = SplitMix(seed: 16)
            let samples = pair.a.sent
            for _ in 0..<20_000 {
                var packet = samples[Int.random(in: 0..<samples.count, using: &generator)]
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    packet[Int.random(in: 12..<packet.count, using: &generator)] = UInt8.random(in: .min ... .max, using: &generator)
                }
                if Bool.random(using: &generator) { packet.removeLast(Int.random(in: 0..<packet.count, using: &generator)) }
                // Half of them with a right checksum, so that they get past the first gate.
                if Bool.random(using: &generator), packet.count >= 12 { packet = withChecksum(packet) }
                // An ABORT or SHUTDOWN with the right tag is a valid one.
                if packet.count > 12, [6, 7, 8, 14].contains(packet[12]) { continue }
                pair.b.receive(packet)
                pair.a.outgoing.removeAll()
                pair.b.outgoing.removeAll()
            }
        }
    }
}
