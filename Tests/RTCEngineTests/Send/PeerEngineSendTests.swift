import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

/// A sending engine and a receiving one, in virtual time.
@Suite("PeerEngine, sending")
struct PeerEngineSendTests {
    private func limits(_ start: Int64, max: Int64 = 20_000_000) -> SendSettings {
        SendSettings(
            limits: BitrateLimits(
                min: Bitrate(bitsPerSecond: 60_000), start: Bitrate(bitsPerSecond: start), max: Bitrate(bitsPerSecond: max)),
            seed: 3, ntpOffset: NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000))
    }

    @Test(
        "a clean path: each frame arrives once, at 2 Mbit/s it has left within 15 ms, timers are 5 ms apart", arguments: VideoCodec.allCases
    )
    func clean(codec: VideoCodec) throws {
        var call = TwoPeers(settings: limits(2_000_000, max: 2_000_000))
        call.encoders[0]?.codec = codec
        call.encoders[0]?.fixedBitsPerSecond = 2_000_000
        call.encoders[0]?.keyFrameFactor = 1
        call.publish()
        call.run(milliseconds: 5_000)
        let frames = try #require(call.frames[0])
        #expect(frames.count >= 148)
        #expect(frames.map(\.number) == Array(0..<UInt64(frames.count)))
        #expect(call.latency(percentile: 0.5) <= 20 + 12)
        #expect(call.latency(percentile: 1) <= 20 + 15)
        #expect(call.violations.isEmpty)
        #expect(call.keyFrameRequests.isEmpty)
        // Frames, feedback and at most three steps of a frame.
        let wakes = zip(call.wakes, call.wakes.dropFirst()).map { $1.milliseconds(since: $0) }
        #expect(wakes.count { $0 < 4.9 } < wakes.count / 20)
        let statisticsFound = call.sender.sendStatistics(section: 0)
        let statistics = try #require(statisticsFound)
        // The last one may be half sent.
        #expect(statistics.framesSent + 1 >= UInt64(call.encoders[0]?.number ?? 0))
        #expect(statistics.codec == codec && statistics.keyFramesSent == 1 && statistics.framesDropped == 0)
        #expect(statistics.packetsLost == 0 && statistics.retransmittedPackets == 0)
        let roundTrip = try #require(statistics.roundTripSeconds)
        #expect(abs(roundTrip - 0.04) < 0.001)
    }

    @Test("losses are repaired by RTX", arguments: [0.02, 0.05, 0.10])
    func loss(share: Double) throws {
        var call = TwoPeers(
            forward: LinkConditions(loss: share, delayMilliseconds: 30), backward: LinkConditions(delayMilliseconds: 30),
            settings: limits(1_500_000, max: 1_500_000))
        call.encoders[0]?.fixedBitsPerSecond = 1_000_000
        call.publish()
        call.run(milliseconds: 10_000)
        // What is still on its way arrives.
        call.encoders[0]?.isOn = false
        call.run(milliseconds: 1_000)
        let frames = try #require(call.frames[0])
        let made = Double(call.encoders[0]?.number ?? 0)
        #expect(Double(frames.count) / made > (share > 0.05 ? 0.98 : 0.995))
        // A third of the frames waits for a repair at ten percent, and those after it with it.
        #expect(call.latency(percentile: 0.5) < (share > 0.05 ? 150 : 60))
        #expect(call.latency(percentile: 0.95) < 250)
        #expect(call.violations.isEmpty)
        let statisticsFound = call.sender.sendStatistics(section: 0)
        let statistics = try #require(statisticsFound)
        #expect(statistics.retransmittedPackets > 0 && statistics.nacksReceived > 0)
        #expect(abs(Double(statistics.packetsLost) / Double(statistics.packetsSent) - share) < share * 0.6)
    }

    @Test("losses are repaired without RTX too")
    func lossWithoutRTX() throws {
        var call = TwoPeers(
            forward: LinkConditions(loss: 0.03, delayMilliseconds: 30), settings: limits(1_500_000, max: 1_500_000), rtx: false)
        call.encoders[0]?.fixedBitsPerSecond = 1_000_000
        call.publish()
        call.run(milliseconds: 10_000)
        #expect(Double(call.frames[0]?.count ?? 0) / Double(call.encoders[0]?.number ?? 0) > 0.99)
        #expect(call.violations.isEmpty)
    }

    @Test("after the end not a byte more leaves for the section, and the other goes on; a new start begins with a key frame")
    func stop() throws {
        var call = TwoPeers(videoSections: 2, hasAudio: true, settings: limits(2_000_000))
        call.publish()
        call.run(milliseconds: 1500)
        call.withSender { engine, now, out in engine.stopSending(section: 0, now: now, into: &out) }
        let (mark, reports, events) = (call.sent.count, call.sentReports.count, call.events.count)
        call.run(milliseconds: 3000)
        let ssrcs = Set(call.sent[mark...].compactMap { try? RTPHeader(parsing: $0.bytes.span.bytes).ssrc })
        #expect(ssrcs.isDisjoint(with: [1000, 2000]) && ssrcs.isSuperset(of: [1001, 3000]))
        let reported = call.sentReports[reports...].compactMap { if case .senderReport(let report) = $0 { report.ssrc } else { nil } }
        #expect(!reported.contains(1000) && reported.contains(1001) && reported.contains(3000))
        #expect(!call.events[events...].contains { if case .keyFrameRequested(0) = $0 { true } else { false } })
        // All of it: silence.
        call.withSender { engine, now, out in
            engine.stopSending(section: 1, now: now, into: &out)
            engine.stopSending(section: 2, now: now, into: &out)
        }
        let end = (call.sent.count, call.sentReports.count)
        call.run(milliseconds: 3000)
        #expect(call.sent.count == end.0 && call.sentReports.count == end.1)
        #expect(call.sender.nextDeadline() == nil || call.sender.nextDeadline().map { $0 > call.now } == true)
        // Again.
        let frames = call.frames[0]?.count ?? 0
        call.withSender { engine, now, out in engine.startSending(section: 0, now: now, into: &out) }
        call.encoders[0]?.wantsKeyFrame = false
        call.run(milliseconds: 1000)
        let again = try #require(call.frames[0]?.dropFirst(frames).first)
        #expect(again.isKeyFrame)
        #expect(call.violations.isEmpty)
    }

    @Test("audio does not wait behind a key frame")
    func audio() throws {
        var call = TwoPeers(hasAudio: true, settings: limits(500_000, max: 500_000))
        call.encoders[0]?.keyFrameFactor = 20
        call.publish()
        call.run(milliseconds: 2000)
        let sent = call.packets(of: 3000)
        #expect(sent.count == 100 || sent.count == 101)
        for (index, entry) in sent.enumerated() { #expect(entry.packet.time == start.adding(milliseconds: 20 * Int64(index))) }
        #expect(sent.map(\.header.marker).count { $0 } == 1 && sent[0].header.marker)
        for (previous, next) in zip(sent, sent.dropFirst()) { #expect(next.header.timestamp == previous.header.timestamp &+ 960) }
        #expect(call.audio.count >= 98)
        #expect(call.violations.isEmpty)
    }

    @Test("a rate that falls: congested above 500 ms, whole frames dropped above two seconds, then a key frame, and everything decodes")
    func congestion() throws {
        var call = TwoPeers(settings: limits(4_000_000, max: 4_000_000))
        call.encoders[0]?.fixedBitsPerSecond = 4_000_000
        call.publish()
        call.run(milliseconds: 2000)
        #expect(call.encoders[0]?.isCongested == false)
        call.encoders[0]?.obeysCongestion = false
        call.encoders[0]?.fixedBitsPerSecond = 3_000_000
        call.withSender { engine, now, out in
            let low = Bitrate(bitsPerSecond: 200_000)
            engine.setBitrateLimits(BitrateLimits(min: low, start: low, max: low), now: now, into: &out)
        }
        call.run(milliseconds: 4000)
        #expect(call.events.contains(.congested(section: 0, true)))
        #expect(call.sender.sendStatistics(section: 0)?.framesDropped ?? 0 > 10)
        #expect(call.sender.sendStatistics(section: 0).map { $0.queueSeconds < 3 } == true)
        call.encoders[0]?.fixedBitsPerSecond = nil
        call.run(milliseconds: 8000)
        #expect(call.events.contains(.congested(section: 0, false)))
        #expect(call.encoders[0]?.isCongested == false)
        // It went on, and what came was decodable: the receiver's chain and `violations` say so.
        let last = try #require(call.frames[0]?.last)
        #expect(last.number + 5 >= call.encoders[0]?.number ?? 0)
        #expect(call.violations.isEmpty)
    }

    @Test("an encoder that skips while it is congested keeps the queue below its bound")
    func skipping() throws {
        var call = TwoPeers(settings: limits(4_000_000, max: 4_000_000))
        call.publish()
        call.run(milliseconds: 1000)
        call.withSender { engine, now, out in
            let low = Bitrate(bitsPerSecond: 150_000)
            engine.setBitrateLimits(BitrateLimits(min: low, start: low, max: low), now: now, into: &out)
        }
        call.run(milliseconds: 5000)
        #expect(call.sender.sendStatistics(section: 0)?.framesDropped == 0)
        #expect(call.sender.sendStatistics(section: 0).map { $0.queueSeconds < 0.6 } == true)
        #expect(call.frames[0].map { UInt64($0.count) + 3 >= call.encoders[0]?.number ?? 0 } == true)
    }

    @Test("RTP-19 twenty PLIs in a second ask the encoder twice; a FIR is a command of its own, its repeat is not")
    func keyFrameRequests() throws {
        var call = TwoPeers(settings: limits(1_000_000))
        call.publish()
        call.run(milliseconds: 2000)
        let before = call.keyFrameRequests.count
        for _ in 0..<20 {
            call.withSender { engine, now, out in
                var writer = ByteWriter()
                PictureLossIndication(senderSSRC: 1, mediaSSRC: 1000).write(into: &writer)
                engine.handleRTCP(writer.bytes.span.bytes, now: now, into: &out)
            }
            call.run(milliseconds: 50)
        }
        #expect((1...2).contains(call.keyFrameRequests.count - before))
        call.run(milliseconds: 1000)
        let middle = call.keyFrameRequests.count
        for sequence in [4, 4, 4] as [UInt8] {
            call.withSender { engine, now, out in
                var writer = ByteWriter()
                FullIntraRequest(senderSSRC: 1, entries: [.init(ssrc: 1000, sequence: sequence), .init(ssrc: 77, sequence: 1)]).write(
                    into: &writer)
                engine.handleRTCP(writer.bytes.span.bytes, now: now, into: &out)
            }
            call.run(milliseconds: 600)
        }
        #expect(call.keyFrameRequests.count - middle == 1)
        let statisticsFound = call.sender.sendStatistics(section: 0)
        let statistics = try #require(statisticsFound)
        #expect(statistics.plisReceived == 20 && statistics.firsReceived == 1)
        #expect(call.violations.isEmpty)
    }

    @Test("RTP-17 five percent loss: few requests for key frames")
    func requestsUnderLoss() throws {
        var call = TwoPeers(
            forward: LinkConditions(loss: 0.05, delayMilliseconds: 25), backward: LinkConditions(loss: 0.05, delayMilliseconds: 25),
            settings: limits(2_000_000, max: 2_000_000))
        call.encoders[0]?.fixedBitsPerSecond = 1_500_000
        call.publish()
        call.run(milliseconds: 20_000)
        #expect(call.sender.sendStatistics(section: 0)?.plisReceived ?? 0 <= 6)
        #expect(call.violations.isEmpty)
    }

    @Test("sender reports: with the first packet, then once a second with an SDES, counts of the SSRC alone")
    func senderReports() throws {
        var call = TwoPeers(hasAudio: true, settings: limits(1_000_000))
        call.publish()
        call.run(milliseconds: 3500)
        var reports: [UInt32: [SenderReport]] = [:]
        var names: Set<String> = []
        for packet in call.sentReports {
            if case .senderReport(let report) = packet { reports[report.ssrc, default: []].append(report) }
            if case .sourceDescription(let description) = packet { names.formUnion(description.chunks.compactMap(\.cname)) }
        }
        #expect(names == ["sender"])
        #expect((4...6).contains(reports[1000]?.count ?? 0) && (4...6).contains(reports[3000]?.count ?? 0))
        for ssrc in [1000, 3000] as [UInt32] {
            let list = try #require(reports[ssrc])
            let rate = ssrc == 1000 ? 90_000.0 : 48_000
            for (first, second) in zip(list, list.dropFirst()) {
                let seconds = Double(second.ntp.nanoseconds(since: first.ntp)) / 1e9
                let ticks = Double(Int32(bitPattern: second.rtpTimestamp &- first.rtpTimestamp))
                #expect(abs(ticks / rate - seconds) < 0.001)
                #expect(second.packetCount >= first.packetCount && second.octetCount >= first.octetCount)
            }
            let last = try #require(list.last)
            let packets = call.packets(of: ssrc)
            #expect(Int(last.packetCount) <= packets.count && Int(last.packetCount) > packets.count / 2)
            let octets = packets.prefix(Int(last.packetCount)).map(\.header.payloadCount).reduce(0, +)
            #expect(Int(last.octetCount) == octets)
        }
        #expect(call.sender.nextDeadline() != nil)
    }

    @Test("SYN-01 late pictures: the offset to the sound is known from sender reports, not from arrival")
    func synchronization() throws {
        var call = TwoPeers(hasAudio: true, settings: limits(1_000_000, max: 1_000_000))
        call.encoders[0]?.fixedBitsPerSecond = 500_000
        call.encoders[0]?.keyFrameFactor = 1
        call.publish()
        call.run(milliseconds: 100)
        // Nothing is sent as video for the first while.
        call.run(milliseconds: 4000)
        let statisticsFound = call.receiver.statistics(section: 0)
        let statistics = try #require(statisticsFound)
        #expect(statistics.isAudioOffsetFromReports)
        // A frame takes some milliseconds to leave; a sound packet ends 20 ms after its beginning.
        let offset = try #require(statistics.audioOffsetSeconds)
        #expect(abs(offset - (-0.015)) < 0.01)
        let frame = try #require(call.frames[0]?.last)
        let timeFound = call.receiver.senderTime(section: 0, rtpTimestamp: frame.timestamp)
        let time = try #require(timeFound)
        let expected = NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000).adding(nanoseconds: frame.capturedAt.nanoseconds)
        #expect(abs(time.nanoseconds(since: expected)) < 100_000)
    }

    @Test("frames of several tracks with one capture time have one sender time")
    func oneCaptureTime() throws {
        var call = TwoPeers(videoSections: 3, settings: limits(3_000_000, max: 3_000_000))
        for section in 0..<3 {
            call.encoders[section]?.fixedBitsPerSecond = Int64(200_000 * (1 + section))
            call.encoders[section]?.capturesMetadata = true
        }
        call.publish()
        call.run(milliseconds: 3000)
        var times: [UInt64: Set<Int64>] = [:]
        let origin = NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000)
        for section in 0..<3 {
            for frame in call.frames[section] ?? [] {
                let timeFound = call.receiver.senderTime(section: section, rtpTimestamp: frame.timestamp)
                let time = try #require(timeFound)
                times[try #require(frame.metadata?.captureTimeMicros), default: []].insert((time.nanoseconds(since: origin) + 500) / 1000)
            }
        }
        #expect(times.count > 80)
        #expect(times.values.allSatisfy { $0.count == 1 })
    }

    @Test("held off the core for 300 ms: what waited leaves without a burst above the bound")
    func stall() throws {
        var call = TwoPeers(hasAudio: false, settings: limits(2_000_000, max: 2_000_000))
        call.encoders[0]?.fixedBitsPerSecond = 2_000_000
        call.encoders[0]?.keyFrameFactor = 1
        call.publish()
        call.run(milliseconds: 3000)
        call.stalls = [call.now.adding(milliseconds: 7)..<call.now.adding(milliseconds: 307)]
        call.run(milliseconds: 3000)
        // 15 ms at two and a half times the rate, and the packet that crosses it.
        var largest = 0
        for (index, packet) in call.sent.enumerated() {
            let batch = call.sent[index...].prefix { $0.time == packet.time }.map(\.bytes.count).reduce(0, +)
            largest = max(largest, batch)
        }
        #expect(largest <= 15 * 5_000_000 / 8 / 1000 + 1200)
        #expect(call.frames[0].map { UInt64($0.count) + 2 >= call.encoders[0]?.number ?? 0 } == true)
        #expect(call.violations.isEmpty)
    }

    @Test("two sections share the rate; what one cannot use the other gets")
    func sharing() throws {
        var call = TwoPeers(videoSections: 2, settings: limits(2_000_000, max: 2_000_000))
        call.publish()
        call.run(milliseconds: 3000)
        let first = try #require(call.encoders[0]?.rate)
        let second = try #require(call.encoders[1]?.rate)
        #expect(first > 850_000 && abs(first - second) < first / 10)
        call.withSender { engine, now, out in
            engine.setVideoCeiling(Bitrate(bitsPerSecond: 300_000), section: 0, now: now, into: &out)
        }
        #expect(call.encoders[0].map { (280_000...300_000).contains($0.rate) } == true)
        #expect(call.encoders[1].map { $0.rate > 1_500_000 } == true)
        call.run(milliseconds: 1000)
        #expect(call.violations.isEmpty)
    }

    @Test("a clean path of 20 Mbit/s: 2 Mbit/s are reached within 2 s from 500 kbit/s")
    func start2Megabits() throws {
        var call = TwoPeers(settings: SendSettings(seed: 9))
        call.withSender { engine, now, out in
            engine.setVideoCeiling(Bitrate(bitsPerSecond: 4_000_000), section: 0, now: now, into: &out)
        }
        call.forward.conditions.rateBitsPerSecond = 20_000_000
        call.publish()
        call.run(milliseconds: 2000)
        #expect(call.encoders[0].map { $0.rate >= 2_000_000 } == true)
        #expect(call.violations.isEmpty)
    }

    @Test("a peer without transport-wide feedback: reports alone, no numbers in the packets")
    func withoutFeedback() throws {
        var call = TwoPeers(settings: limits(1_000_000), transportFeedback: false)
        call.publish()
        call.run(milliseconds: 5000)
        let packet = try #require(call.sent.last)
        let header = try RTPHeader(parsing: packet.bytes.span.bytes)
        #expect(
            HeaderExtensionValues(parsing: packet.bytes.span.bytes, header: header, ids: TwoPeers.extensionIDs).transportSequenceNumber
                == nil)
        #expect(call.frames[0].map { UInt64($0.count) + 3 >= call.encoders[0]?.number ?? 0 } == true)
        #expect(call.violations.isEmpty)
    }
}
