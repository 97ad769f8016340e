import Foundation
import RTCBase
import Testing

@testable import RTCWire

@Suite struct ChunkAssemblerTests {
    private static func feed(_ assembler: inout ChunkAssembler, _ frame: [UInt8]) throws -> [UInt8]? {
        try assembler.receive(frame.span.bytes, isText: false)?.bytes
    }

    @Test("wire protocol §5.8: whole, joined, empty first frame, empty message, text")
    func messages() throws {
        var assembler = ChunkAssembler(maxMessageBytes: 100)
        #expect(try Self.feed(&assembler, [0, 7, 8]) == [7, 8])
        #expect(try Self.feed(&assembler, [1, 7]) == nil)
        #expect(try Self.feed(&assembler, [1]) == nil)
        #expect(try Self.feed(&assembler, [0, 8]) == [7, 8])
        #expect(try Self.feed(&assembler, [0]) == [])
        let text = try assembler.receive(([2, 0x41] as [UInt8]).span.bytes, isText: false)
        #expect(text?.isText == true && text?.bytes == [0x41])
    }

    @Test("wire protocol §5.8: reserved bits, a text-typed or headerless frame and a changed TEXT flag are errors")
    func protocolErrors() throws {
        for first in [4, 8, 0x0A, 0x80, 0xFF] as [UInt8] {
            var assembler = ChunkAssembler(maxMessageBytes: 100)
            #expect(throws: WireError.badValue) { try assembler.receive([first, 1].span.bytes, isText: false) }
        }
        var assembler = ChunkAssembler(maxMessageBytes: 100)
        #expect(throws: WireError.badValue) { try assembler.receive(([0, 1] as [UInt8]).span.bytes, isText: true) }
        #expect(throws: WireError.truncated) { try assembler.receive([UInt8]().span.bytes, isText: false) }
        for (first, second) in [(3, 0), (1, 2), (3, 1)] as [(UInt8, UInt8)] {
            var assembler = ChunkAssembler(maxMessageBytes: 100)
            #expect(try assembler.receive([first, 1].span.bytes, isText: false) == nil)
            #expect(throws: WireError.badValue) { try assembler.receive([second, 1].span.bytes, isText: false) }
        }
    }

    @Test("wire protocol §5.8: a message above the limit is discarded and counted, the next one arrives")
    func tooLarge() throws {
        var assembler = ChunkAssembler(maxMessageBytes: 4)
        #expect(try Self.feed(&assembler, [0, 1, 2, 3, 4]) == [1, 2, 3, 4])
        #expect(try Self.feed(&assembler, [0, 1, 2, 3, 4, 5]) == nil)
        #expect(try Self.feed(&assembler, [1, 1, 2, 3]) == nil)
        #expect(try Self.feed(&assembler, [1, 4, 5]) == nil)
        #expect(try Self.feed(&assembler, [0]) == nil)
        #expect(assembler.discardedMessages == 2)
        #expect(try Self.feed(&assembler, [0, 9]) == [9])
    }

    @Test("wire protocol §5.8: split messages join again", arguments: [0, 1, 65_534, 65_535, 65_536, 131_070, 200_126])
    func splitAndJoin(_ count: Int) throws {
        let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let frames = ChunkSplitter.frames(of: message.span.bytes, isText: count % 2 == 0)
        #expect(frames.count == max(1, (count + 65_534) / 65_535) && frames.allSatisfy { $0.count <= 65_536 })
        #expect(frames.dropLast().allSatisfy { $0.count == 65_536 && $0[0] & 1 == 1 })
        var assembler = ChunkAssembler(maxMessageBytes: count)
        for frame in frames.dropLast() { #expect(try assembler.receive(frame.span.bytes, isText: false) == nil) }
        let last = try #require(frames.last)
        let whole = try assembler.receive(last.span.bytes, isText: false)
        #expect(whole?.bytes == message && whole?.isText == (count % 2 == 0))
    }

    @Test(
        "captured frames: 200126 bytes come in frames of 65536, text carries 02",
        .enabled(if: SharedData.isPresent, "needs the shared folder"))
    func captures() throws {
        struct Entry: Decodable {
            struct Frame: Decodable {
                var bytes: Int
                var head: String
            }
            var frames: [Frame]?
            var frame_hex: String?
        }
        let data = Data(try SharedData.bytes("spec/captures/chunked-channel-frames.json"))
        let entries = try JSONDecoder().decode([Entry].self, from: data)
        let frames = try #require(entries.compactMap(\.frames).first)
        var assembler = ChunkAssembler(maxMessageBytes: 67_108_864)
        var whole: (isText: Bool, bytes: [UInt8])?
        for frame in frames {
            let head = hex(frame.head)
            whole = try assembler.receive((head + Array(repeating: 0x5A, count: frame.bytes - head.count)).span.bytes, isText: false)
        }
        #expect(whole?.bytes.count == 200_126 && whole?.isText == false)
        let message = whole?.bytes ?? []
        let ours = ChunkSplitter.frames(of: message.span.bytes, isText: false)
        #expect(ours.map(\.count) == frames.map(\.bytes) && ours.map { $0[0] } == frames.map { hex($0.head)[0] })
        let textFrame = hex(try #require(entries.compactMap(\.frame_hex).first))
        let text = try assembler.receive(textFrame.span.bytes, isText: false)
        #expect(text?.isText == true && text?.bytes.first == UInt8(ascii: "{"))
    }
}
