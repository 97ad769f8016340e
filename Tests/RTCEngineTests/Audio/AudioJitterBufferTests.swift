import RTCBase
import RTCEngine
import RTCSimulation
import RTCSimulation
import Testing

/// Feeds a jitter buffer and plays from it in 10 ms steps, as the audio thread does.
private struct Player {
    var buffer = AudioJitterBuffer(targetDelayMilliseconds: 40)
    var decisions: [AudioDecision] = []
    /// Samples decided about but not yet "heard".
    var ahead = 0

    /// One 20 ms SILK packet whose second byte tells its number.
    static func packet(_ mark: UInt8, milliseconds: Int = 20) -> [UInt8] {
        let configuration: UInt8 =
            switch milliseconds {
            case 10: 8
            case 40: 10
            case 60: 11
            default: 9
            }
        return [configuration << 3, mark, 1, 2, 3]
    }

    @discardableResult
    mutating func insert(_ sequence: Int64, timestamp: UInt32, milliseconds: Int = 20) -> Bool {
        let bytes = Self.packet(UInt8(truncatingIfNeeded: sequence), milliseconds: milliseconds)
        return buffer.insert(sequence: sequence, timestamp: timestamp, payload: bytes.span.bytes)
    }

    /// 10 ms pass.
    mutating func tick() {
        while ahead < 480 {
            let decision = buffer.pull()
            #expect(decision.samples >= 120)
            decisions.append(decision)
            ahead += decision.samples
        }
        ahead -= 480
    }

    /// The numbers inside the packets played, in order.
    var played: [UInt8] {
        decisions.compactMap { if case .packet(let range, _, _) = $0 { buffer.withPayload(range) { $0.uint8(at: 1) } } else { nil } }
    }
    var concealed: Int { decisions.reduce(0) { if case .conceal(let samples, _) = $1 { $0 + samples } else { $0 } } }
    var repairs: Int { decisions.count { if case .fec = $0 { true } else { false } } }
}

@Suite("AudioJitterBuffer")
struct AudioJitterBufferTests {
    @Test("plays packets in order after the target delay, reordered arrivals included")
    func order() {
        var player = Player()
        for (sequence, stamp) in [(11, 960), (10, 0), (13, 2_880), (12, 1_920)] {
            player.insert(Int64(sequence), timestamp: UInt32(stamp))
        }
        for _ in 0..<8 { player.tick() }
        #expect(player.played == [10, 11, 12, 13])
        #expect(player.buffer.statistics.packetsLost == 0)
    }

    @Test("waits for 40 ms of sound, and not longer when it does not come")
    func startDelay() {
        var player = Player()
        player.insert(1, timestamp: 0)
        for _ in 0..<4 { player.tick() }
        #expect(player.played.isEmpty)
        player.tick()
        #expect(player.played == [1])
    }

    @Test("AUD-01 silence by DTX is no loss and leaves the delay as it was")
    func dtx() {
        var player = Player()
        var sequence: Int64 = 100
        var stamp: UInt32 = 0
        // Steady, then one packet every 400 ms, then steady; arrivals in real time.
        var schedule: [Int: (Int64, UInt32)] = [:]
        for millisecond in stride(from: 0, to: 4_000, by: 10) {
            let isQuiet = millisecond >= 1_000 && millisecond < 3_000
            guard millisecond % (isQuiet ? 400 : 20) == 0 || millisecond == 1_000 else { continue }
            stamp = UInt32(millisecond * 48)
            schedule[millisecond] = (sequence, stamp)
            sequence += 1
        }
        var levelBefore = 0
        for millisecond in stride(from: 0, to: 4_000, by: 10) {
            if let (number, time) = schedule[millisecond] { player.insert(number, timestamp: time) }
            player.tick()
            if millisecond == 900 { levelBefore = player.buffer.bufferedSamples }
        }
        #expect(player.buffer.statistics.packetsLost == 0)
        #expect(player.buffer.drops.total == 0)
        #expect(player.played.count >= Int(sequence) - 100 - 3)
        // Phase against the 400 ms rhythm may differ by one packet.
        #expect(abs(player.buffer.bufferedSamples - levelBefore) <= 960)
    }

    @Test("AUD-05 20, 40 and 10 ms packets play without a hole", arguments: [[20, 40, 10], [10, 60, 20], [60, 10, 40]])
    func changingPacketTime(_ durations: [Int]) {
        var player = Player()
        var sequence: Int64 = 0
        var stamp: UInt32 = .max - 3_000  // also across the wrap of the timestamp
        var due = 0
        var arrivals: [(at: Int, sequence: Int64, stamp: UInt32, duration: Int)] = []
        for duration in durations {
            for _ in 0..<20 {
                arrivals.append((due, sequence, stamp, duration))
                sequence += 1
                stamp &+= UInt32(duration * 48)
                due += duration
            }
        }
        // What is sent has been recorded before: a packet arrives when its last sample exists.
        for millisecond in stride(from: 0, to: due + 120, by: 10) {
            for arrival in arrivals where arrival.at + arrival.duration == millisecond {
                player.insert(arrival.sequence, timestamp: arrival.stamp, milliseconds: arrival.duration)
            }
            player.tick()
        }
        let packetSamples = player.decisions.reduce(0) { if case .packet(_, let samples, _) = $1 { $0 + samples } else { $0 } }
        #expect(player.buffer.statistics.packetsLost == 0)
        #expect(player.buffer.drops.total == 0)
        #expect(packetSamples == due * 48)
        #expect(player.repairs == 0)
    }

    @Test("AUD-07 a single loss is repaired from the next packet")
    func fec() {
        var player = Player()
        for sequence in [0, 1, 3, 4, 5] { player.insert(Int64(sequence), timestamp: UInt32(sequence * 960)) }
        for _ in 0..<12 { player.tick() }
        #expect(player.decisions.contains(.fec(player.rangeOfRepair, samples: 960, timestamp: 1_920)))
        #expect(player.played == [0, 1, 3, 4, 5])
        #expect(player.concealed == 0)
        #expect(player.buffer.statistics.packetsLost == 1)
    }

    @Test("AUD-07 a burst is concealed, its last packet repaired, and a latecomer is not played twice")
    func burst() {
        var player = Player()
        for sequence in [0, 1, 6, 7, 8] { player.insert(Int64(sequence), timestamp: UInt32(sequence * 960)) }
        for _ in 0..<11 { player.tick() }
        #expect(player.concealed == 3 * 960)
        for _ in 0..<2 { player.tick() }
        #expect(player.repairs == 1)
        player.insert(4, timestamp: 4 * 960)
        for _ in 0..<6 { player.tick() }
        #expect(player.played == [0, 1, 6, 7, 8])
        #expect(player.buffer.statistics.packetsLost == 4)
        #expect(player.buffer.drops[.audioLate] == 1)
    }

    @Test("AUD-07 a long hole fades out after 100 ms and goes on as silence")
    func fade() {
        var player = Player()
        for sequence in 0..<3 { player.insert(Int64(sequence), timestamp: UInt32(sequence * 960)) }
        for _ in 0..<40 { player.tick() }
        #expect(player.concealed == 4_800)
        let conceals = player.decisions.filter { if case .conceal = $0 { true } else { false } }
        #expect(conceals.dropLast().allSatisfy { $0 == .conceal(samples: 480, isFading: false) })
        #expect(conceals.last == .conceal(samples: 480, isFading: true))
        #expect(player.decisions.last == .silence(samples: 480))
    }

    @Test("sound that is late as a whole is played late, and the delay is taken back afterwards")
    func delayStep() {
        var player = Player()
        var arrivals: [Int: [Int64]] = [:]
        for sequence in 0..<300 {
            // A stall of 200 ms after a second: what was held back comes at once.
            let due = sequence * 20
            arrivals[due >= 1_000 && due < 1_200 ? 1_200 : due, default: []].append(Int64(sequence))
        }
        var levels: [Int] = []
        for millisecond in stride(from: 0, to: 6_000, by: 10) {
            for sequence in arrivals[millisecond] ?? [] { player.insert(sequence, timestamp: UInt32(sequence * 960)) }
            player.tick()
            levels.append(player.buffer.bufferedSamples)
        }
        #expect(levels[125] > 4_800)
        #expect(levels.last ?? .max < 4_800)
        // Nothing lost by the network; what was left out is counted.
        #expect(UInt64(player.played.count) + player.buffer.drops[.audioOverflow] >= 296)
    }

    @Test("AUD-07 at 5 % loss every hole is filled, most of it from FEC, and none with zeros", arguments: 1...5 as ClosedRange<UInt64>)
    func randomLoss(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var player = Player()
        var lost = 0
        for step in 0..<2_000 {
            if step % 2 == 0 {
                let number = step / 2
                if number > 3, number < 990, generator.chance(0.05) {
                    lost += 1
                } else {
                    player.insert(Int64(number), timestamp: UInt32(number * 960))
                }
            }
            player.tick()
        }
        let statistics = player.buffer.statistics
        #expect(statistics.packetsLost == UInt64(lost), "seed \(seed)")
        #expect(statistics.repairedSamples + statistics.concealedSamples == UInt64(lost * 960), "seed \(seed)")
        #expect(statistics.repairedSamples >= UInt64(lost * 960) * 8 / 10, "seed \(seed)")
        let silences = player.decisions.drop { if case .packet = $0 { false } else { true } }.count {
            if case .silence = $0 { true } else { false }
        }
        #expect(silences == 0, "seed \(seed)")
    }

    @Test("AUD-11 nothing of before a pause, and nothing that came during it, plays after it")
    func pause() {
        var player = Player()
        for sequence in 0..<5 { player.insert(Int64(sequence), timestamp: UInt32(sequence * 960)) }
        for _ in 0..<2 { player.tick() }
        player.buffer.pause()
        player.ahead = 0
        let before = player.played.count
        for sequence in 5..<50 { player.insert(Int64(sequence), timestamp: UInt32(sequence * 960)) }
        for _ in 0..<500 { player.tick() }
        #expect(player.played.count == before)
        player.buffer.resume()
        for sequence in 255..<260 { player.insert(Int64(sequence), timestamp: UInt32(sequence * 960)) }
        for _ in 0..<12 { player.tick() }
        #expect(player.played.dropFirst(before) == [255, 0, 1, 2, 3])
        #expect(player.concealed <= 1_920)
    }

    @Test("SYN-03 timestamps out are those that came in, whatever the arrivals looked like")
    func timestamps() {
        var player = Player()
        var generator = SplitMix64(seed: 20_240_607)
        var arrivals: [Int: [Int]] = [:]
        for sequence in 0..<200 { arrivals[(sequence * 20 + Int.random(in: 0...25, using: &generator)) / 10, default: []].append(sequence) }
        for step in 0..<410 {
            for sequence in arrivals[step] ?? [] { player.insert(Int64(sequence), timestamp: UInt32(sequence) * 960) }
            player.tick()
        }
        let stamps = player.decisions.compactMap { if case .packet(_, _, let stamp) = $0 { Int(stamp) } else { nil } }
        #expect(stamps.count > 190)
        #expect(stamps.allSatisfy { $0 % 960 == 0 })
        #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("RTP-10 a sender that begins anew far away is followed", arguments: [5_000, -5_000] as [Int64])
    func restart(_ jump: Int64) {
        var player = Player()
        for sequence in 0..<10 { player.insert(70_000 + Int64(sequence), timestamp: UInt32(sequence * 960)) }
        for _ in 0..<10 { player.tick() }
        for sequence in 0..<10 { player.insert(70_000 + jump + Int64(sequence), timestamp: 900_000_000 + UInt32(sequence * 960)) }
        for _ in 0..<30 { player.tick() }
        let stamps = player.decisions.compactMap { if case .packet(_, _, let stamp) = $0 { stamp } else { nil } }
        #expect(stamps.filter { $0 >= 900_000_000 }.count == 9)
    }

    @Test("bytes that are no Opus packet, too long ones and duplicates are counted and not stored")
    func badInput() {
        var buffer = AudioJitterBuffer()
        let inputs: [[UInt8]] = [[], [0x03], [0xFB, 0x3F], Array(repeating: 0x48, count: 2_000), Player.packet(1), Player.packet(1)]
        let stored = inputs.map { buffer.insert(sequence: 1, timestamp: 0, payload: $0.span.bytes) }
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
                milliseconds: [10, 20, 60].randomElement(using: &generator) ?? 20)
            player.tick()
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
