import Foundation
import Reactor
import Testing

@testable import ReactorTesting

@Suite("Parts of the stock models")
struct PartsTests {
    @Test("Letters and digits look different from each other; small letters as capitals; the rest is a frame")
    func font() {
        let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?-:;/()+=&#×…\u{1F600}")
        let glyphs = characters.map(BitmapFont.glyph)
        #expect(Set(glyphs).count == characters.count)
        #expect(glyphs.allSatisfy { $0.count == BitmapFont.height && $0.allSatisfy { $0 < 32 } })
        #expect(BitmapFont.glyph("q") == BitmapFont.glyph("Q") && BitmapFont.glyph("ß") == BitmapFont.glyph("S"))
    }

    @Test("Text outside of the picture is clipped")
    func clipping() {
        let picture = Picture(width: 64, height: 48) { canvas in
            BitmapFont.draw(String(repeating: "W", count: 500), x: -9, y: -3, scale: 2, on: canvas)
            BitmapFont.draw("W", x: 60, y: 46, scale: 5, on: canvas)
        }
        #expect(picture.pixels.contains { $0 != 0xFF12_3456 })
    }

    @Test("The chord has the root asked for, and a change of it makes no click")
    func tone() {
        var tone = ChordTone()
        tone.target.root = 220
        let first = (0..<50).flatMap { _ in tone.render(960) }
        #expect(Self.power(first.suffix(24_000), 220) > 5 * Self.power(first.suffix(24_000), 247))
        tone.target.root = 247
        let second = (0..<50).flatMap { _ in tone.render(960) }
        #expect(Self.power(second.suffix(24_000), 247) > 5 * Self.power(second.suffix(24_000), 220))
        let all = first + second
        let steps = zip(all, all.dropFirst()).map { abs(Int($0) - Int($1)) }
        #expect(steps.max()! < 700, "a click")
        #expect(all.allSatisfy { abs(Int($0)) < 9_000 } && all.contains { abs(Int($0)) > 2_000 })
    }

    @Test("The strongest frequency is found, beside noise and a weaker one, and none in silence")
    func pitch() {
        for frequency in [440.0, 880, 1_234] {
            let tone = (0..<20_000).map { Int16(9_000 * sin(2 * .pi * frequency * Double($0) / 48_000) + 2_000 * sin(Double($0))) }
            #expect(abs(ProbeInputs.pitch(tone) - frequency) <= 2)
        }
        #expect(ProbeInputs.pitch([Int16](repeating: 0, count: 20_000)) == 0)
        #expect(ProbeInputs.pitch([1, 2, 3]) == 0)
    }

    @Test("Sound in pieces is the sound in one piece")
    func pieces() {
        var (whole, parts) = (ChordTone(), ChordTone())
        let expected = whole.render(9_600)
        #expect((0..<10).flatMap { _ in parts.render(960) } == expected)
    }

    @Test("Samples follow the clock; after a long pause they are not caught up")
    func sampleClock() {
        var clock = SampleClock(rate: 48_000)
        #expect((1...100).map { clock.due(at: Double($0) / 50) }.reduce(0, +) == 96_000)
        #expect(clock.due(at: 2) == 0)
        #expect(clock.due(at: 10) == 4_800)
        #expect(clock.due(at: 10.02) == 960)
    }

    @Test("SHA-256 of the standard's examples")
    func digests() {
        #expect(SHA256.hexText([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(SHA256.hexText("abc".utf8) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        #expect(SHA256.hexText(long.utf8) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    }

    @Test("A PNG file becomes a picture; what is transparent is dark")
    func png() throws {
        let image = try PNGImage.decode(bytes: Data(base64Encoded: Self.twoPixels)!)
        #expect(image.width == 2 && image.height == 1 && image.pixels == [0xFFFF_0000, 0xFF00_0000])
    }

    @Test("What is no PNG file, is cut off or is too large is refused with a reason")
    func badPNG() throws {
        let good = Data(base64Encoded: Self.twoPixels)!
        var huge = good
        huge.replaceSubrange(16..<24, with: [0, 0, 0x80, 0, 0, 0, 0x80, 0])
        var garbled = good
        garbled[good.count / 2] ^= 0xFF
        for file in [Data(), Data("hello".utf8), good.prefix(30), good.prefix(good.count - 20), huge, garbled] {
            let error = #expect(throws: LocalCommandError.self) { try PNGImage.decode(bytes: Data(file)) }
            #expect(error?.code == "unsupported_image" && (error?.message.count ?? 0) > 60)
        }
    }

    /// How much of a frequency there is.
    private static func power(_ samples: ArraySlice<Int16>, _ frequency: Double) -> Double {
        var (real, imaginary) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * Double.pi * frequency * Double(index) / 48_000
            real += Double(sample) * cos(angle)
            imaginary += Double(sample) * sin(angle)
        }
        return (real * real + imaginary * imaginary).squareRoot()
    }

    /// A red pixel and a transparent one, RGBA.
    private static let twoPixels = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAAEUlEQVR4nGP4z8Dwn/MEJwMAD4oC2er5Pe0AAAAASUVORK5CYII="

    /// 8 by 8, RGB.
    static let redSquare =
        "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGN4xsWFFTEMLQkAozA+gZHm+Z8AAAAASUVORK5CYII="
}
