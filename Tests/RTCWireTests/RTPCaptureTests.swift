import RTCBase
import Testing

@testable import RTCWire

/// RTP packets of a capture file against the list of fields beside it.
@Suite(.enabled(if: SharedData.isPresent, "needs the shared folder"))
struct RTPCaptureTests {
    /// The UDP payloads of a little-endian pcap file with Ethernet, IPv4 and UDP heads of 42 bytes.
    private static func packets(_ name: String) throws -> [[UInt8]] {
        let file = try SharedData.bytes("vectors/rtp-captures/\(name).pcap")
        var packets: [[UInt8]] = []
        var offset = 24
        while offset + 16 <= file.count {
            let count = (0..<4).reduce(0) { $0 | Int(file[offset + 8 + $1]) << (8 * $1) }
            packets.append(Array(file[(offset + 16 + 42)..<(offset + 16 + count)]))
            offset += 16 + count
        }
        return packets
    }

    private struct Listed {
        var count: Int
        var payloadType: UInt8
        var ssrc: UInt32
        var sequenceNumber: UInt16
        var timestamp: UInt32
        var marker: Bool
        var frame: String?
    }

    private static func list(_ name: String) throws -> [Listed] {
        let lines = try SharedData.text("vectors/rtp-captures/\(name).txt").split(separator: "\n")
        return try lines.map { line in
            // A wide count touches the next column in one of the lists.
            let words = line.replacing("PT=", with: " PT=").split { " \t,".contains($0) }
            func value(_ key: String) throws -> Substring {
                try #require(words.first { $0.hasPrefix(key + "=") }).dropFirst(key.count + 1)
            }
            return Listed(
                count: try #require(Int(words[3])), payloadType: try #require(UInt8(try value("PT").split(separator: "-").last ?? "")),
                ssrc: try #require(UInt32(try value("SSRC").dropFirst(2), radix: 16)),
                sequenceNumber: try #require(UInt16(try value("Seq"))), timestamp: try #require(UInt32(try value("Time"))),
                marker: words.contains("Mark"), frame: words.last { $0.hasSuffix("frame") || $0 == "Continuation" }.map(String.init))
        }
    }

    private static func header(_ packet: [UInt8], matches listed: Listed) throws -> RTPHeader {
        let header = try RTPHeader(bytes: packet)
        #expect(header.payloadType == listed.payloadType && header.ssrc == listed.ssrc)
        #expect(header.sequenceNumber == listed.sequenceNumber && header.timestamp == listed.timestamp && header.marker == listed.marker)
        #expect(packet.count + 42 == listed.count)
        return header
    }

    @Test("RFC 7741: the VP8 capture's descriptors, key frames and continuations are as listed")
    func vp8() throws {
        let (packets, list) = (try Self.packets("vp8"), try Self.list("vp8"))
        #expect(packets.count == list.count && list.count == 104)
        var lastPictureID: UInt16?
        for (packet, listed) in zip(packets, list) {
            let header = try Self.header(packet, matches: listed)
            let payload = packet[header.payloadRange]
            let descriptor = try VP8Descriptor(bytes: payload)
            let data = payload.dropFirst(descriptor.headerCount)
            #expect(!data.isEmpty)
            switch listed.frame {
            case "Keyframe": #expect(descriptor.isStartOfFrame && isVP8KeyFrame(Array(data)))
            case "Interframe": #expect(descriptor.isStartOfFrame && !isVP8KeyFrame(Array(data)))
            default: #expect(!descriptor.isStartOfFrame)
            }
            if listed.frame == "Keyframe" {
                let size = try #require(vp8KeyFrameSize(Array(data)))
                #expect(size.width > 0 && size.height > 0)
            }
            let pictureID = try #require(descriptor.pictureID)
            if let lastPictureID { #expect(pictureID == lastPictureID + (descriptor.isStartOfFrame ? 1 : 0)) }
            lastPictureID = pictureID
            var writer = ByteWriter()
            descriptor.write(into: &writer)
            #expect(writer.bytes == Array(payload.prefix(descriptor.headerCount)))
        }
    }

    @Test("RFC 9628: the VP9 capture's packets parse as listed; the first packet opens a key picture with its size")
    func vp9() throws {
        let (packets, list) = (try Self.packets("vp9"), try Self.list("vp9"))
        #expect(packets.count == list.count && list.count == 316)
        for (index, (packet, listed)) in zip(packets, list).enumerated() {
            let header = try Self.header(packet, matches: listed)
            let payload = packet[header.payloadRange]
            let descriptor = try VP9Descriptor(bytes: payload)
            let data = payload.dropFirst(descriptor.headerCount)
            // A VP9 frame begins with the frame marker, binary 10 (VP9 bitstream §6.2).
            if descriptor.isStartOfFrame { #expect(data.first.map { $0 >> 6 } == 2, "packet \(index)") }
            #expect(!data.isEmpty && descriptor.pictureID != nil)
            if header.marker { #expect(descriptor.isEndOfFrame) }
            if index == 0 {
                #expect(descriptor.isStartOfKeyFrame)
                #expect(descriptor.scalabilityStructure != nil)
            }
        }
    }
}
