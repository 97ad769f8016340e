import Foundation
import RTCCodec
import Testing

@Suite("OpusDecoder")
struct OpusDecoderTests {
    @Test("a tone keeps its frequency", arguments: [440.0, 1000.0], [1, 2])
    func tone(hertz: Double, channels: Int) throws {
        let encoder = try OpusEncoder(settings: .init(channels: channels, bitsPerSecond: 64_000))
        let decoder = try OpusDecoder(channels: channels)
        var output: [Int16] = []
        for packet in try packets(sine(hertz, seconds: 1, channels: channels), encoder) {
            let samples = try decode(packet, decoder)
            #expect(samples.count == 960 * channels)
            output += samples
        }
        let steady = stride(from: 12_000 * channels, to: output.count, by: channels).map { output[$0] }
        #expect(abs(frequency(steady) - hertz) < hertz * 0.01)
        #expect(abs(rms(steady) - 10_000 / 2.0.squareRoot()) < 2000)
    }

    @Test("AUD-03 a stereo packet decodes to one channel, a mono packet to two")
    func channels() throws {
        let stereo = try OpusEncoder(settings: .init(channels: 2, bitsPerSecond: 96_000))
        let toMono = try OpusDecoder(channels: 1)
        let mixed = try packets(sine(500, seconds: 0.5, channels: 2), stereo).flatMap { try decode($0, toMono) }
        #expect(mixed.count == 24_000)
        #expect(abs(frequency(Array(mixed[9600...])) - 500) < 5)

        let mono = try OpusEncoder(settings: .init(channels: 1))
        let toStereo = try OpusDecoder(channels: 2)
        let doubled = try packets(sine(500, seconds: 0.5), mono).flatMap { try decode($0, toStereo) }
        #expect(doubled.count == 48_000)
        #expect(stride(from: 0, to: doubled.count, by: 2).allSatisfy { doubled[$0] == doubled[$0 + 1] })
        #expect(rms(doubled) > 5000)
    }

    @Test("AUD-05 the packet says how long it is: 20, 40, 10 ms")
    func durations() throws {
        let encoder = try OpusEncoder()
        let decoder = try OpusDecoder()
        for milliseconds in [20, 40, 10, 60, 20] {
            let packet = try encoder.encode(Array(sine(300, seconds: 0.1)[..<(48 * milliseconds)]))
            #expect(OpusDecoder.samplesPerChannel(of: packet.span.bytes) == 48 * milliseconds)
            #expect(OpusDecoder.samplesPerChannel(of: packet.span.bytes, sampleRate: 16_000) == 16 * milliseconds)
            #expect(try decode(packet, decoder).count == 48 * milliseconds)
            #expect(decoder.lastPacketSamplesPerChannel == 48 * milliseconds)
        }
    }

    @Test("AUD-07 a loss is concealed with sound that fades, not with zeros")
    func concealment() throws {
        let encoder = try OpusEncoder(settings: .init(bitsPerSecond: 64_000))
        let decoder = try OpusDecoder()
        let before = try packets(sine(440, seconds: 0.4), encoder).flatMap { try decode($0, decoder) }
        let blocks = try (0..<15).map { _ in try conceal(960, decoder) }
        #expect(blocks.allSatisfy { $0.count == 960 })
        #expect(rms(blocks[0]) > 0.3 * rms(Array(before.suffix(960))))
        #expect(rms(blocks[14]) < 0.3 * rms(blocks[0]))
        // No step where the concealment begins: not more than the tone itself makes from one sample to the next, twice.
        let join = abs(Int(blocks[0][0]) - Int(before[before.count - 1]))
        #expect(join < 2 * 600 + 200)
    }

    @Test("AUD-07 a lost packet comes back from the next one's copy, closer than concealment")
    func forwardErrorCorrection() throws {
        let encoder = try OpusEncoder(settings: .init(bitsPerSecond: 32_000, expectedLossPercent: 20))
        let sent = try packets(voice(seconds: 3), encoder)
        let (whole, recovered, concealed) = (try OpusDecoder(), try OpusDecoder(), try OpusDecoder())
        var errorRecovered = 0.0
        var errorConcealed = 0.0
        for index in 0..<(sent.count - 1) {
            let truth = try decode(sent[index], whole)
            guard index >= 10, index % 5 == 0 else {
                _ = try decode(sent[index], recovered)
                _ = try decode(sent[index], concealed)
                continue
            }
            var fec = [Int16](repeating: 0, count: 960)
            let next = sent[index + 1]
            let count = try fec.withUnsafeMutableBufferPointer {
                try recovered.decodeFEC(next.span.bytes, samplesPerChannel: 960, into: $0)
            }
            #expect(count == 960)
            errorRecovered += distance(fec, truth)
            errorConcealed += distance(try conceal(960, concealed), truth)
        }
        #expect(errorRecovered < 0.5 * errorConcealed, "\(errorRecovered) against \(errorConcealed)")
    }

    @Test("FEC from a packet without a copy conceals")
    func noCopy() throws {
        let encoder = try OpusEncoder(settings: .init(bitsPerSecond: 64_000, usesFEC: false))
        let decoder = try OpusDecoder()
        let sent = try packets(sine(440, seconds: 0.2), encoder)
        for packet in sent.dropLast(2) { _ = try decode(packet, decoder) }
        var samples = [Int16](repeating: 0, count: 960)
        let next = sent[sent.count - 1]
        let count = try samples.withUnsafeMutableBufferPointer {
            try decoder.decodeFEC(next.span.bytes, samplesPerChannel: 960, into: $0)
        }
        #expect(count == 960)
        #expect(rms(samples) > 1000)
    }

    @Test("AUD-01 DTX packets decode to quiet of their duration; an empty packet stands for the last duration")
    func discontinuous() throws {
        let encoder = try OpusEncoder(settings: .init(bitsPerSecond: 24_000, usesDTX: true))
        let decoder = try OpusDecoder()
        var smallest = Int.max
        for index in 0..<60 {
            let block = index < 10 ? Array(sine(440, seconds: 0.02)) : [Int16](repeating: 0, count: 960)
            let packet = try encoder.encode(block)
            smallest = min(smallest, packet.count)
            let samples = try decode(packet, decoder)
            #expect(samples.count == 960)
            if index > 50 { #expect(rms(samples) < 50) }
        }
        #expect(smallest <= 2)
        #expect(try decode([], decoder).count == 960)
        _ = try decode(OpusEncoder().encode([Int16](repeating: 0, count: 1920)), decoder)
        #expect(try decode([], decoder).count == 1920)
        #expect(try decode([], OpusDecoder()).count == 960)
    }

    @Test("a malformed packet is a typed error and the decoder goes on")
    func malformed() throws {
        let decoder = try OpusDecoder()
        let good = try OpusEncoder().encode(Array(sine(440, seconds: 0.02)))
        // Code 3 without its count byte; code 3 with no frames; code 1 of odd length; code 2 with a length past the end; over 120 ms.
        for bytes: [UInt8] in [[0x03], [0x03, 0x00], [0x01, 1, 2, 3], [0x02, 200, 1], [0xfb, 0x3f], [0x1b, 0x3f]] {
            #expect(kind { try decode(bytes, decoder) } == .corrupt, "\(bytes)")
        }
        #expect(OpusDecoder.samplesPerChannel(of: ([0x03] as [UInt8]).span.bytes) == nil)
        #expect(OpusDecoder.samplesPerChannel(of: [UInt8]().span.bytes) == nil)
        #expect(try decode(good, decoder).count == 960)
    }

    @Test("room and durations are checked before libopus sees them")
    func arguments() throws {
        let decoder = try OpusDecoder(channels: 2)
        let packet = try OpusEncoder().encode(Array(sine(440, seconds: 0.02)))
        var short = [Int16](repeating: 0, count: 960)
        short.withUnsafeMutableBufferPointer { buffer in
            #expect(kind { try decoder.decode(packet.span.bytes, into: buffer) } == .tooLarge)
            #expect(kind { try decoder.conceal(960, into: buffer) } == .tooLarge)
            #expect(kind { try decoder.conceal(-120, into: buffer) } == .invalidArgument)
            #expect(kind { try decoder.conceal(100, into: buffer) } == .invalidArgument)
            #expect(kind { try decoder.conceal(.max / 120 * 120, into: buffer) } == .invalidArgument)
        }
        #expect(kind { try OpusDecoder(sampleRate: 44_100) } == .invalidArgument)
        #expect(kind { try OpusDecoder(channels: 3) } == .invalidArgument)
        let nothing = UnsafeMutableBufferPointer<Int16>(start: nil, count: 0)
        #expect(kind { try decoder.decode(packet.span.bytes, into: nothing) } == .tooLarge)
    }

    @Test("fuzz: any packet gives samples or a typed error", arguments: [1, 2])
    func fuzz(channels: Int) throws {
        let decoder = try OpusDecoder(channels: channels)
        let good = try packets(voice(seconds: 0.2), OpusEncoder())
        var samples = [Int16](repeating: 0, count: decoder.maxSamplesPerChannel * channels)
        var random = SeededGenerator(seed: 5)
        for round in 0..<1500 {
            var packet = good[round % good.count]
            if round % 3 == 0 {
                packet = (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            } else {
                packet[Int.random(in: 0..<packet.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                if round % 3 == 1 { packet.removeSubrange(Int.random(in: 0...packet.count, using: &random)...) }
            }
            samples.withUnsafeMutableBufferPointer { buffer in
                do throws(CodecError) {
                    let count =
                        round % 2 == 0
                        ? try decoder.decode(packet.span.bytes, into: buffer)
                        : try decoder.decodeFEC(packet.span.bytes, samplesPerChannel: 960, into: buffer)
                    #expect(count > 0 && count <= decoder.maxSamplesPerChannel, "round \(round)")
                } catch {
                    #expect(error.kind == .corrupt || error.kind == .tooLarge, "round \(round): \(error)")
                }
            }
        }
        #expect(try decode(good[0], decoder).count == 960 * channels)
    }

    // Signals and measures

    private func sine(_ hertz: Double, seconds: Double, channels: Int = 1) -> [Int16] {
        (0..<Int(48_000 * seconds)).flatMap { index in
            let value = Int16(10_000 * sin(2 * .pi * hertz * Double(index) / 48_000))
            return Array(repeating: value, count: channels)
        }
    }

    /// Something like a vowel whose pitch and loudness wander: what FEC carries and concealment cannot guess.
    private func voice(seconds: Double) -> [Int16] {
        var phase = 0.0
        return (0..<Int(48_000 * seconds)).map { index in
            let time = Double(index) / 48_000
            phase += 2 * .pi * (140 + 60 * sin(2 * .pi * 3.1 * time)) / 48_000
            let loudness = 0.55 + 0.45 * sin(2 * .pi * 5.3 * time)
            let sum = (1...12).reduce(0.0) { $0 + sin(Double($1) * phase) / Double($1) }
            return Int16(6000 * loudness * sum)
        }
    }

    private func packets(_ samples: [Int16], _ encoder: OpusEncoder) throws -> [[UInt8]] {
        let block = 960 * encoder.settings.channels
        return try stride(from: 0, through: samples.count - block, by: block).map { try encoder.encode(Array(samples[$0..<($0 + block)])) }
    }

    private func decode(_ packet: [UInt8], _ decoder: OpusDecoder) throws(CodecError) -> [Int16] {
        var samples = [Int16](repeating: 0, count: decoder.maxSamplesPerChannel * decoder.channels)
        let count = try samples.withUnsafeMutableBufferPointer { (buffer) throws(CodecError) in
            try decoder.decode(packet.span.bytes, into: buffer)
        }
        return Array(samples[..<(count * decoder.channels)])
    }

    private func conceal(_ count: Int, _ decoder: OpusDecoder) throws -> [Int16] {
        var samples = [Int16](repeating: 0, count: count * decoder.channels)
        let written = try samples.withUnsafeMutableBufferPointer { try decoder.conceal(count, into: $0) }
        return Array(samples[..<(written * decoder.channels)])
    }

    /// From rising zero crossings.
    private func frequency(_ samples: [Int16]) -> Double {
        var first: Int?
        var last = 0
        var count = 0
        for index in 1..<samples.count where samples[index - 1] < 0 && samples[index] >= 0 {
            if first == nil { first = index } else { count += 1 }
            last = index
        }
        guard let first, last > first else { return 0 }
        return Double(count) * 48_000 / Double(last - first)
    }

    private func rms(_ samples: [Int16]) -> Double {
        (samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(1, samples.count))).squareRoot()
    }

    private func distance(_ a: [Int16], _ b: [Int16]) -> Double { zip(a, b).reduce(0.0) { $0 + pow(Double($1.0) - Double($1.1), 2) } }
}
