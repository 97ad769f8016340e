import Testing

@testable import ReactorTesting

@Suite("FragmentedMP4Writer")
struct FragmentedMP4WriterTests {
    private static let writer = FragmentedMP4Writer(video: .init(width: 641, height: 360, bitsPerSecond: 700_000), hasSound: true)

    private static func run(decodeTime: UInt64, count: Int, duration: UInt32, allSync: Bool, fill: UInt8) -> FragmentedMP4Writer.Run {
        var run = FragmentedMP4Writer.Run(decodeTime: decodeTime, samples: [], data: [])
        for index in 0..<count {
            run.samples.append(.init(byteCount: index + 3, duration: duration, isSync: allSync || index == 0))
            run.data += [UInt8](repeating: fill &+ UInt8(index & 31), count: index + 3)
        }
        return run
    }

    @Test("wire 2.9: the init segment has the measured brands, two tracks and a trex for each")
    func initSegment() throws {
        let boxes = try #require(MP4Box.parse(Self.writer.initSegment()))
        #expect(boxes.map(\.type) == ["ftyp", "moov"])
        // Byte for byte what the captured init segment starts with.
        #expect(Array(Self.writer.initSegment().prefix(28)) == Array("\0\0\0\u{1c}ftypiso5\0\0\u{2}\0iso5iso6mp41".utf8))
        let moov = boxes[1]
        #expect(moov.boxes().map(\.type) == ["mvhd", "trak", "trak", "mvex"])
        #expect(moov.at("mvex")?.boxes().map(\.type) == ["trex", "trex"])
        #expect(moov.at("mvex")?.boxes().map { $0.uint(4) } == [1, 2])
        let tracks = moov.boxes().filter { $0.type == "trak" }
        #expect(tracks.map { $0.at("tkhd")?.uint(12) } == [1, 2])
        #expect(tracks.map { $0.at("tkhd")?.uint(76) } == [641 << 16, 0])
        #expect(tracks.map { $0.at("mdia", "mdhd")?.uint(12) } == [15_360, 48_000])
        #expect(tracks.map { $0.at("mdia", "hdlr")?.uint(8) } == [0x7669_6465, 0x736f_756e])
        for track in tracks {
            let table = try #require(track.at("mdia", "minf", "stbl"))
            #expect(table.boxes().map(\.type) == ["stsd", "stts", "stsc", "stsz", "stco"])
            for list in ["stts", "stsc", "stco"] { #expect(table.at(list)?.uint(4) == 0) }
            #expect(table.at("stsz")?.uint(8) == 0)
        }
    }

    @Test("VP9 and Opus are described as their bindings say")
    func configurations() throws {
        let moov = try #require(MP4Box.parse(Self.writer.initSegment())?.last)
        let tracks = moov.boxes().filter { $0.type == "trak" }
        let vp09 = try #require(tracks[0].at("mdia", "minf", "stbl", "stsd", "vp09"))
        #expect(vp09.uint(24, bytes: 2) == 641 && vp09.uint(26, bytes: 2) == 360)
        // Version 1; profile 0, level 2.1, 8 bits, 4:2:0 beside luma, limited range, BT.601, no initialization data.
        #expect(vp09.at("vpcC").map { Array($0.body) } == [1, 0, 0, 0, 0, 21, 0x82, 6, 6, 6, 0, 0])
        let opus = try #require(tracks[1].at("mdia", "minf", "stbl", "stsd", "Opus"))
        #expect(opus.uint(16, bytes: 2) == 1 && opus.uint(24) == 48_000 << 16)
        #expect(opus.at("dOps").map { Array($0.body) } == [0, 1, 0, 0, 0, 0, 0xbb, 0x80, 0, 0, 0])
        #expect(Self.writer.codecs == "vp09.00.21.08,opus")
    }

    @Test("a level holds the size, the pixels per second and the bitrate")
    func levels() {
        func level(_ width: Int, _ height: Int, _ rate: Int = 100_000) -> Int {
            FragmentedMP4Writer.level(of: .init(width: width, height: height, bitsPerSecond: rate))
        }
        #expect(level(160, 90) == 10)
        #expect(level(160, 90, 300_000) == 11)
        #expect(level(640, 360) == 21)
        #expect(level(1280, 720) == 31)
        #expect(level(1920, 1080) == 40)
        #expect(level(16_000, 16_000) == 62)
    }

    @Test("wire 2.9: a media segment is styp, an index per track, moof and mdat, and every sample is found again")
    func segment() throws {
        let video = Self.run(decodeTime: 61_440, count: 120, duration: 512, allSync: false, fill: 1)
        let sound = Self.run(decodeTime: 192_000, count: 200, duration: 960, allSync: true, fill: 100)
        let bytes = Self.writer.segment(sequence: 2, video: video, sound: sound)
        let boxes = try #require(MP4Box.parse(bytes))
        #expect(boxes.map(\.type) == ["styp", "sidx", "sidx", "moof", "mdat"])
        #expect(Array(bytes.prefix(24)) == Array("\0\0\0\u{18}stypmsdh\0\0\0\0msdhmsix".utf8))
        #expect(boxes[3].at("mfhd")?.uint(4) == 2)

        let fragments = MP4Fragment.parse(bytes)
        #expect(fragments.map(\.track) == [1, 2])
        for (fragment, run) in zip(fragments, [video, sound]) {
            #expect(fragment.tfhdFlags == 0x02_0038)
            #expect(fragment.tfdtVersion == 1)
            #expect(fragment.decodeTime == run.decodeTime)
            #expect(fragment.samples.map(\.bytes.count) == run.samples.map(\.byteCount))
            #expect(fragment.samples.flatMap(\.bytes) == run.data)
            #expect(fragment.samples.map(\.isSync) == run.samples.map(\.isSync))
            #expect(fragment.end == run.decodeTime + run.duration)
        }
        // Each index leads to the moof, and from there to the end.
        for (index, run) in zip(boxes[1...2], [video, sound]) {
            #expect(index.uint(12, bytes: 8) == run.decodeTime)
            #expect(index.start + index.size + Int(index.uint(20, bytes: 8)) == boxes[3].start)
            #expect(boxes[3].start + Int(index.uint(32)) == bytes.count)
            #expect(index.uint(36) == run.duration)
            #expect(index.uint(40) == 0x9000_0000)
        }
    }

    @Test("samples of different durations and key frames within a chunk keep both")
    func uneven() throws {
        var run = Self.run(decodeTime: 0, count: 5, duration: 512, allSync: false, fill: 0)
        run.samples[1].duration = 1024
        run.samples[3].isSync = true
        let fragment = try #require(MP4Fragment.parse(Self.writer.segment(sequence: 1, video: run, sound: nil)).first)
        #expect(fragment.samples.map(\.duration) == [512, 1024, 512, 512, 512])
        #expect(fragment.samples.map(\.isSync) == [true, false, false, true, false])
        #expect(fragment.samples.flatMap(\.bytes) == run.data)
    }

    @Test("a track that there is not, or that has nothing, is left out")
    func oneTrack() throws {
        let onlySound = FragmentedMP4Writer(video: nil, hasSound: true)
        let moov = try #require(MP4Box.parse(onlySound.initSegment())?.last)
        #expect(moov.boxes().map(\.type) == ["mvhd", "trak", "mvex"])
        #expect(moov.at("mvex")?.boxes().map { $0.uint(4) } == [2])
        #expect(onlySound.codecs == "opus")

        let sound = Self.run(decodeTime: 0, count: 1, duration: 960, allSync: true, fill: 9)
        let empty = FragmentedMP4Writer.Run(decodeTime: 0, samples: [], data: [])
        for bytes in [
            onlySound.segment(sequence: 1, video: nil, sound: sound), Self.writer.segment(sequence: 1, video: empty, sound: sound),
        ] {
            #expect(MP4Box.parse(bytes)?.map(\.type) == ["styp", "sidx", "moof", "mdat"])
            #expect(MP4Fragment.parse(bytes).map(\.track) == [2])
            #expect(MP4Fragment.parse(bytes).first?.samples.first?.bytes == sound.data)
        }
    }
}
