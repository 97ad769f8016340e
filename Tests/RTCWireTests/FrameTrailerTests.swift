import Foundation
import RTCBase
import Testing

@testable import RTCWire

@Suite struct FrameTrailerTests {
    private static let example = hex("08 01 10 9b e5 fa cf 03 1a 07 68 65 6c 6c 6f 2d 30 11 00 00 00 52 58 4d 54")

    private static func write(_ metadata: FrameMetadata) -> [UInt8] {
        var writer = ByteWriter()
        FrameTrailer.write(metadata, into: &writer)
        return writer.bytes
    }

    @Test("wire protocol §7.1: the example reads, and is written byte for byte")
    func example() throws {
        let frame = Array(repeating: 0xAB, count: 87) + Self.example
        let (metadata, count) = try #require(parseTrailer(frame))
        #expect(metadata == FrameMetadata(frameID: 1, captureTimeMicros: 972_993_179, userData: FrameUserData(Array("hello-0".utf8))))
        #expect(count == 25 && frame.count - count == 87)
        #expect(Self.write(metadata) == Self.example)
    }

    @Test("wire protocol §7.4: short, unmarked, over-long and unreadable ends are no trailer")
    func refused() {
        let bad = [
            "", "52584d54", "00000052584d54", "01000000 52584d54", "ffffffff 52584d54", "00000000 52584d55",
            "08 01000000 52584d54", "1a05 61 03000000 52584d54", "00 00 02000000 52584d54", "0b 01000000 52584d54",
            "08ffffffffffffffffffff01 0c000000 52584d54",
        ]
        for text in bad { #expect(parseTrailer(hex(text)) == nil, "\(text)") }
    }

    @Test("wire protocol §7.1: unknown fields are passed over, the last of a field counts, empty user data is none")
    func tolerant() throws {
        let message = hex("2005 2dffffffff 31 0000000000000000 3a0201ff 0801 0802 1a00")
        let frame = message + [UInt8(message.count), 0, 0, 0] + hex("52584d54")
        let (metadata, count) = try #require(parseTrailer(frame))
        #expect(metadata == FrameMetadata(frameID: 2) && count == frame.count)
    }

    @Test("wire protocol §7.1: zero and empty fields are left out; big values and 5000 bytes of user data come back")
    func roundTrip() throws {
        #expect(Self.write(FrameMetadata()) == hex("00000000 52584d54"))
        #expect(Self.write(FrameMetadata(userData: FrameUserData([]))) == hex("00000000 52584d54"))
        let large = FrameMetadata(frameID: .max, captureTimeMicros: .max, userData: FrameUserData(Array(repeating: 9, count: 5000)))
        let (metadata, count) = try #require(parseTrailer(Self.write(large)))
        #expect(metadata == large && count == Self.write(large).count)
        let captured = Self.write(
            FrameMetadata(frameID: 2, captureTimeMicros: 1, userData: FrameUserData(Array(repeating: 9, count: 5000))))
        #expect(captured.count == 5019 - 4, "as captured, but for the four longer bytes of its clock")
    }

    @Test(
        "trailers of the captures read as captured and are written the same", .enabled(if: SharedData.isPresent, "needs the shared folder"))
    func captures() throws {
        struct Entry: Decodable {
            struct Decoded: Decodable {
                var frame_id: UInt64
                var capture_time_us: UInt64
                var user_data: String
            }
            var trailer_hex: String?
            var trailers: [String]?
            var decoded: Decoded?
            var encoded_bytes: Int?
            var received_bytes: Int?
        }
        let data = Data(try SharedData.bytes("spec/captures/frame-metadata-trailers.json"))
        var seen = 0
        for entry in try JSONDecoder().decode([Entry].self, from: data) {
            for text in [entry.trailer_hex].compactMap({ $0 }) + (entry.trailers ?? []) where !text.isEmpty {
                let bytes = hex(text)
                let (metadata, count) = try #require(parseTrailer(bytes))
                #expect(count == bytes.count && Self.write(metadata) == bytes)
                if let decoded = entry.decoded {
                    #expect(metadata.frameID == decoded.frame_id && metadata.captureTimeMicros == decoded.capture_time_us)
                    #expect(metadata.userData == FrameUserData(Array(decoded.user_data.utf8)))
                    #expect(entry.received_bytes == (entry.encoded_bytes ?? 0) + count)
                }
                seen += 1
            }
        }
        #expect(seen == 4)
    }
}
