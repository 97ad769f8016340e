import RTCBase
import RTCEngine
import RTCSimulation
import Testing

/// Feeds a jitter buffer and plays from it in 10 ms steps, as the audio thread does. The delay is left alone, or changed to
/// the sample.
private struct Player {
    var buffer = AudioJitterBuffer()
    var decisions: [AudioDecision] = []
    /// Samples decided about but not yet "heard".
    var ahead = 0
    var milliseconds: Int64 = 0
    var changesDelay = false
    /// What is on its way, by the time it arrives.
    var arrivals: [Int64: [(sequence: Int64, timestamp: UInt32, duration: Int)]] = [:]

    /// A SILK packet with FEC whose third byte tells its number.
    static func packet(_ mark: UInt8, milliseconds: Int = 20, hasRepair: Bool = true) -> [UInt8] {
        let configuration: UInt8 =
            switch milliseconds {
            case 10: 8
            case 40: 10
            case 60: 11
            default: 9
            }
        let flag: UInt8 = milliseconds == 60 ? 0x10 : milliseconds == 40 ? 0x20 : 0x40
        return [configuration << 3, hasRepair ? flag : 0, mark, 2, 3]
    }

    mutating func schedule(_ sequence: Int64, timestamp: UInt32, at time: Int64, duration: Int = 20) {
        arrivals[time, default: []].append((sequence, timestamp, duration))
    }

    /// Packets of 20 ms that arrive when they were made.
    mutating func schedule(_ sequences: [Int64]) {
        for sequence in sequences { schedule(sequence, timestamp: UInt32(sequence * 960), at: sequence * 20) }
    }

    @discardableResult
    mutating func insert(_ sequence: Int64, timestamp: UInt32, duration: Int = 20) -> Bool {
        let bytes = Self.packet(UInt8(truncatingIfNeeded: sequence), milliseconds: duration)
        return buffer.insert(
            sequence: sequence, timestamp: timestamp, payload: bytes.span.bytes, arrival: MonotonicTime(milliseconds: milliseconds))
    }

    /// Arrivals up to this moment, and the block that is due.
    mutating func tick() {
        for time in milliseconds - 9...milliseconds {
            for packet in arrivals[time] ?? [] { insert(packet.sequence, timestamp: packet.timestamp, duration: packet.duration) }
        }
        let now = MonotonicTime(milliseconds: milliseconds)
        fill(now)
        if changesDelay {
            var change = 0
            switch buffer.adjustment(now: now, pendingSamples: ahead) {
            case .none: break
            case .insert(let samples): change = samples
            case .remove(let samples, _): change = -min(samples, ahead)
            }
            ahead += change
            if change != 0 { buffer.didAdjust(by: change, now: now) }
            fill(now)
        }
        ahead -= 480
        milliseconds += 10
    }

    private mutating func fill(_ now: MonotonicTime) {
        while ahead < 480 {
            let decision = buffer.pull(now: now, pendingSamples: ahead)
            #expect(decision.samples >= 1)
            decisions.append(decision)
            ahead += decision.samples
        }
    }

    mutating func play(until end: Int64) { while milliseconds < end { tick() } }

    /// The numbers inside the packets played, in order.
    var played: [UInt8] {
        decisions.compactMap { if case .packet(let range, _, _) = $0 { buffer.withPayload(range) { $0.uint8(at: 2) } } else { nil } }
    }
    var concealed: Int { decisions.reduce(0) { if case .conceal(let samples, _) = $1 { $0 + samples } else { $0 } } }
    var repairs: Int { decisions.count { if case .fec = $0 { true } else { false } } }
    /// Time that passed without any sound decided.
    var silent: Int { decisions.reduce(0) { if case .silence(let samples) = $1 { $0 + samples } else { $0 } } }
}

@Suite("AudioJitterBuffer")
struct AudioJitterBufferTests {
    @Test("plays packets in order, reordered arrivals included")
    func order() {
        var player = Player()
        for (sequence, at) in [(11, 20), (10, 25), (13, 60), (12, 65)] as [(Int64, Int64)] {
            player.schedule(sequence, timestamp: UInt32(sequence * 960), at: at)
        }
        player.play(until: 140)
        #expect(player.played == [10, 11, 12, 13])
        #expect(player.buffer.statistics.packetsLost == 0)
    }

    @Test("begins 10 ms after the first packet")
    func startDelay() {
        var player = Player()
        player.schedule([0, 1])
        player.tick()
        #expect(player.played.isEmpty)
        player.tick()
        #expect(player.played == [0])
    }

    @Test("AUD-01 silence by DTX is no loss and leaves the delay as it was", arguments: [true, false])
    func dtx(sendsQuietPackets: Bool) {
        var player = Player()
        var sequence: Int64 = 100
        var delays: [Int64: Int64] = [:]
        for millisecond in stride(from: Int64(0), to: 5_000, by: 10) {
            // Steady, then one packet every 400 ms, then steady; arrivals in real time.
            let isQuiet = millisecond >= 1_000 && millisecond < 3_000
            if millisecond % (isQuiet ? 400 : 20) == 0 || millisecond == 1_000 {
                if isQuiet && sendsQuietPackets {
                    let bytes: [UInt8] = [9 << 3]
                    player.buffer.insert(
                        sequence: sequence, timestamp: UInt32(millisecond * 48), payload: bytes.span.bytes,
                        arrival: MonotonicTime(milliseconds: millisecond))
                } else {
                    player.insert(sequence, timestamp: UInt32(millisecond * 48))
                }
                sequence += 1
            }
            player.tick()
            let adjustment = player.buffer.adjustment(now: MonotonicTime(milliseconds: millisecond), pendingSamples: player.ahead + 480)
            #expect(adjustment == .none, "at \(millisecond)")
            delays[millisecond] = player.buffer.statistics.currentDelayNanoseconds
        }
        #expect(player.buffer.statistics.packetsLost == 0)
        #expect(player.buffer.drops.total == 0)
        #expect(player.buffer.statistics.packetsPlayed >= UInt64(sequence) - 100 - 2)
        #expect(delays[990] == 10_000_000 && delays[4_990] == 10_000_000)
        // A sender that announces its silence is not concealed for.
        if sendsQuietPackets { #expect(player.concealed == 0 && player.buffer.statistics.underruns == 0) }
    }

    @Test("AUD-05 20, 40 and 10 ms packets play without a hole", arguments: [[20, 40, 10], [10, 60, 20], [60, 10, 40]])
    func changingPacketTime(_ durations: [Int]) {
        var player = Player()
        var sequence: Int64 = 0
        var stamp: UInt32 = .max - 3_000  // also across the wrap of the timestamp
        var due: Int64 = 0
        for duration in durations {
            for _ in 0..<20 {
                // What is sent has been recorded before: a packet arrives when its last sample exists.
                player.schedule(sequence, timestamp: stamp, at: due + 60, duration: duration)
                sequence += 1
                stamp &+= UInt32(duration * 48)
                due += Int64(duration)
            }
        }
        player.play(until: due + 140)
        let packetSamples = player.decisions.reduce(0) { if case .packet(_, let samples, _) = $1 { $0 + samples } else { $0 } }
        #expect(player.buffer.statistics.packetsLost == 0)
        #expect(player.buffer.drops.total == 0)
        #expect(packetSamples == Int(due) * 48)
        #expect(player.repairs == 0)
        let last = player.decisions.lastIndex { if case .packet = $0 { true } else { false } } ?? 0
        let conceals = player.decisions[...last].count { if case .conceal = $0 { true } else { false } }
        #expect(conceals == 0)
    }

    @Test("AUD-07 a single loss is repaired from the next packet")
    func fec() {
        var player = Player()
        // All of it is there in time.
        for sequence in [0, 1, 3, 4, 5] { player.insert(Int64(sequence), timestamp: UInt32(sequence * 960)) }
        player.play(until: 120)
        #expect(player.decisions.contains(.fec(player.rangeOfRepair, samples: 960, timestamp: 1_920)))
        #expect(player.played == [0, 1, 3, 4, 5])
        #expect(player.concealed == 0)
        #expect(player.buffer.statistics.packetsLost == 1)
    }

    @Test("AUD-07 a burst is concealed, its last packet repaired, and a latecomer is not played twice")
    func burst() {
        var player = Player()
        for sequence in [0, 1, 6, 7, 8] { player.insert(Int64(sequence), timestamp: UInt32(sequence * 960)) }
        player.play(until: 130)
        #expect(player.concealed == 3 * 960)
        #expect(player.repairs == 1)
        player.insert(4, timestamp: 4 * 960)
        player.play(until: 190)
        #expect(player.played == [0, 1, 6, 7, 8])
        #expect(player.buffer.statistics.packetsLost == 4)
        #expect(player.buffer.drops[.audioLate] == 1)
    }

    @Test("AUD-07 a hole before a packet without FEC is concealed")
    func noRepair() {
        var player = Player()
        for sequence in [0, 1, 3, 4] {
            let bytes = Player.packet(UInt8(sequence), hasRepair: false)
            player.buffer.insert(
                sequence: Int64(sequence), timestamp: UInt32(sequence * 960), payload: bytes.span.bytes,
                arrival: MonotonicTime(milliseconds: 0))
        }
        player.play(until: 100)
        #expect(player.repairs == 0)
        #expect(player.concealed == 960)
        #expect(player.played == [0, 1, 3, 4])
        #expect(player.buffer.statistics.packetsLost == 1)
    }

    @Test("AUD-07 a long hole fades out after 100 ms and goes on as silence")
    func fade() {
        var player = Player()
        player.schedule([0, 1, 2])
        player.play(until: 400)
        #expect(player.concealed == 4_800)
        let conceals = player.decisions.filter { if case .conceal = $0 { true } else { false } }
        #expect(conceals.dropLast().allSatisfy { $0 == .conceal(samples: 480, isFading: false) })
        #expect(conceals.last == .conceal(samples: 480, isFading: true))
        #expect(player.decisions.last == .silence(samples: 480))
    }

    @Test("sound that is late as a whole is played late and whole, and then the buffer asks for less delay")
    func delayStep() {
        var player = Player()
        for sequence in 0..<300 as Range<Int64> {
            // A stall of 200 ms after a second: what was held back comes at once.
            let due = sequence * 20
            player.schedule(sequence, timestamp: UInt32(sequence * 960), at: due >= 1_000 && due < 1_200 ? 1_200 : due)
        }
        player.play(until: 1_300)
        let adjustment = player.buffer.adjustment(now: MonotonicTime(milliseconds: 1_300), pendingSamples: player.ahead + 480)
        guard case .remove(let samples, .urgent) = adjustment else {
            Issue.record("\(adjustment)")
            return
        }
        #expect((9_000...9_600).contains(samples))
        player.play(until: 6_300)
        #expect(player.buffer.statistics.packetsPlayed == 300)
        #expect(player.buffer.drops.total == 0)
    }

    @Test("AUD-07 at 5 % loss every hole is filled, most of it from FEC, and none with zeros", arguments: 1...5 as ClosedRange<UInt64>)
    func randomLoss(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var player = Player()
        player.changesDelay = true
        var lost = 0
        for number in 0..<1_000 as Range<Int64> {
            if number > 3, number < 990, generator.chance(0.05) {
                lost += 1
            } else {
                player.schedule(number, timestamp: UInt32(number * 960), at: number * 20)
            }
        }
        player.play(until: 20_000)
        let statistics = player.buffer.statistics
        #expect(statistics.packetsLost == UInt64(lost), "seed \(seed)")
        // A loss or two are concealed before the delay makes room for repairs.
        #expect(statistics.repairedSamples >= UInt64(lost * 960) * 8 / 10, "seed \(seed)")
        #expect(statistics.concealedSamples <= UInt64(lost * 960) * 2 / 10 + 960, "seed \(seed)")
        #expect(player.silent == 480, "seed \(seed)")
    }

    @Test("AUD-11 nothing of before a pause, and nothing that came during it, plays after it")
    func pause() {
        var player = Player()
        player.schedule(Array(0..<600))
        player.play(until: 100)
        player.buffer.pause()
        player.ahead = 0
        let before = player.played.count
        player.play(until: 5_100)
        #expect(player.played.count == before)
        player.buffer.resume()
        player.play(until: 5_200)
        // Packet 255 arrives at 5100 ms.
        #expect(player.played.dropFirst(before).first == 255)
        #expect(player.played.dropFirst(before).count >= 4)
        #expect(player.concealed == 0)
    }

    @Test("SYN-03 timestamps out are those that came in, whatever the arrivals looked like")
    func timestamps() {
        var player = Player()
        var generator = SplitMix64(seed: 20_240_607)
        for sequence in 0..<200 as Range<Int64> {
            player.schedule(sequence, timestamp: UInt32(sequence) * 960, at: sequence * 20 + .random(in: 0...25, using: &generator))
        }
        player.play(until: 4_100)
        let stamps = player.decisions.compactMap { if case .packet(_, _, let stamp) = $0 { Int(stamp) } else { nil } }
        #expect(stamps.count > 190)
        #expect(stamps.allSatisfy { $0 % 960 == 0 })
        #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("RTP-10 a sender that begins anew far away is followed", arguments: [5_000, -5_000] as [Int64])
    func restart(_ jump: Int64) {
        var player = Player()
        for sequence in 0..<10 as Range<Int64> {
            player.schedule(70_000 + sequence, timestamp: UInt32(sequence * 960), at: sequence * 20)
            player.schedule(70_000 + jump + sequence, timestamp: 900_000_000 + UInt32(sequence * 960), at: 200 + sequence * 20)
        }
        player.play(until: 500)
        let stamps = player.decisions.compactMap { if case .packet(_, _, let stamp) = $0 { stamp } else { nil } }
        #expect(stamps.filter { $0 >= 900_000_000 }.count == 9)
    }

    @Test("a heap of more than the ring holds leaves the newest, played soon")
    func overflow() {
        var player = Player()
        player.schedule(Array(0..<50))
        for sequence in 50..<250 as Range<Int64> { player.schedule(sequence, timestamp: UInt32(sequence * 960), at: 5_000) }
        player.play(until: 5_050)
        #expect(player.buffer.drops[.audioOverflow] > 180)
        #expect(player.played.last.map { $0 >= 235 } == true)
    }

    @Test("bytes that are no Opus packet, too long ones and duplicates are counted and not stored")
    func badInput() {
        var buffer = AudioJitterBuffer()
        let inputs: [[UInt8]] = [[], [0x03], [0xFB, 0x3F], Array(repeating: 0x48, count: 2_000), Player.packet(1), Player.packet(1)]
        let stored = inputs.map {
            buffer.insert(sequence: 1, timestamp: 0, payload: $0.span.bytes, arrival: MonotonicTime(milliseconds: 0))
        }
        #expect(stored == [false, false, false, false, true, false])
        #expect(buffer.drops[.malformedPayload] == 3)
        #expect(buffer.drops[.oversizePacket] == 1)
        #expect(buffer.drops[.duplicatePacket] == 1)
    }

    @Test("arbitrary numbers and times neither trap nor stop the sound")
    func arbitrary() {
        var generator = SplitMix64(seed: 20_240_607)
        var player = Player()
        for _ in 0..<20_000 {
            let sequence =
                Int64.random(in: 65_000...65_600, using: &generator)
                + (Bool.random(using: &generator) ? 0 : Int64.random(in: -40_000...40_000, using: &generator))
            player.insert(
                sequence, timestamp: .random(in: .min ... .max, using: &generator),
                duration: [10, 20, 60].randomElement(using: &generator) ?? 20)
            player.tick()
            let now = MonotonicTime(milliseconds: player.milliseconds)
            _ = player.buffer.adjustment(now: now, pendingSamples: player.ahead)
            _ = player.buffer.phaseError(now: now, pendingSamples: player.ahead)
        }
        #expect(player.buffer.bufferedSamples >= 0)
    }
}

extension Player {
    /// Where the bytes of the one repair lie.
    fileprivate var rangeOfRepair: Range<Int> {
        for case .fec(let range, _, _) in decisions { return range }
        return 0..<0
    }
}
