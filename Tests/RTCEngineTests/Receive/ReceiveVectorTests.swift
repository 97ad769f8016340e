import Foundation
import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

/// Files that nobody in this project made; see the README of `shared/vectors`.
enum SharedVectors {
    static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["REACTOR_SHARED"] { return URL(filePath: path).appending(path: "vectors") }
        // Tests/RTCEngineTests/Receive/<file> -> package root -> its neighbour.
        var root = URL(filePath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        return root.deletingLastPathComponent().appending(path: "shared/vectors")
    }()

    static func bytes(_ path: String) -> [UInt8]? { (try? Data(contentsOf: folder.appending(path: path))).map { [UInt8]($0) } }
    static var arePresent: Bool { FileManager.default.fileExists(atPath: folder.appending(path: "vp8").path) }
    static var vp8Names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "vp8").path)) ?? []).filter { $0.hasSuffix(".ivf") }
            .sorted()
    }

    /// Frames of an IVF file: a 32-byte head, then 12 bytes and data for each frame, little-endian.
    static func ivfFrames(_ name: String) -> [[UInt8]] {
        guard let file = bytes("vp8/\(name)"), file.count > 32 else { return [] }
        var frames: [[UInt8]] = []
        var offset = 32
        while offset + 12 <= file.count {
            let count = (0..<4).reduce(0) { $0 | Int(file[offset + $1]) << (8 * $1) }
            guard offset + 12 + count <= file.count else { break }
            frames.append(Array(file[(offset + 12)..<(offset + 12 + count)]))
            offset += 12 + count
        }
        return frames
    }

    /// RTP packets of a pcap file in which each record is Ethernet, IPv4, UDP.
    static func rtpPackets(_ name: String) -> [[UInt8]] {
        guard let file = bytes("rtp-captures/\(name)") else { return [] }
        var packets: [[UInt8]] = []
        var offset = 24
        while offset + 16 <= file.count {
            let count = (0..<4).reduce(0) { $0 | Int(file[offset + 8 + $1]) << (8 * $1) }
            guard offset + 16 + count <= file.count, count > 42 else { break }
            packets.append(Array(file[(offset + 16 + 42)..<(offset + 16 + count)]))
            offset += 16 + count
        }
        return packets
    }
}

@Suite("Receive vectors", .enabled(if: SharedVectors.arePresent, "shared/vectors is not here"))
struct ReceiveVectorTests {
    @Test("every VP8 vector survives a lossy, reordering, duplicating link byte by byte", arguments: SharedVectors.vp8Names)
    func vp8(name: String) {
        let frames = SharedVectors.ivfFrames(name)
        #expect(!frames.isEmpty)
        let conditions = LinkConditions(loss: 0.05, delayMilliseconds: 30, jitterMilliseconds: 4, reordering: 0.03, duplication: 0.02)
        var call = LossyCall(codec: .vp8, downlink: conditions, uplink: LinkConditions(loss: 0.05, delayMilliseconds: 30), seed: 11)
        call.run(frames: frames.map { ($0, VP8Descriptor.isKeyFrame($0.span.bytes)) })
        #expect(call.violations.isEmpty, "\(call.violations.prefix(3))")
        // What is missing lay before a key frame that was complete sooner (a frame without its reference is a violation).
        #expect(call.deliveries.last?.index == frames.count - 1)
        #expect(call.deliveries.count >= frames.count - 1 - frames.count / 50)
    }

    /// What a `.txt` says of its packets: sequence number, timestamp, marker and, for VP8, the kind of frame.
    private func list(_ name: String) -> [(sequence: Int, timestamp: UInt32, isMarked: Bool, isKeyFrame: Bool)] {
        guard let bytes = SharedVectors.bytes("rtp-captures/\(name)") else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            func number(after key: String) -> Int? {
                line.range(of: key).flatMap { Int(line[$0.upperBound...].prefix { $0.isNumber }) }
            }
            guard let sequence = number(after: "Seq="), let time = number(after: "Time=") else { return nil }
            return (sequence, UInt32(truncatingIfNeeded: time), line.contains("Mark"), line.contains("Keyframe"))
        }
    }

    private func engine(_ payloadTypes: [UInt8: VideoCodec]) -> PeerEngine {
        var session = MediaSender.session()
        session.sections[0].videoCodecs = payloadTypes
        session.sections[0].extensionIDs = HeaderExtensionIDs()
        return PeerEngine(session: session, localSSRC: 1, cname: "c", pool: FrameBufferPool())
    }

    @Test("the VP8 capture gives the frames its list names")
    func vp8Capture() {
        let list = list("vp8.txt")
        var engine = engine([96: .vp8])
        var out = EngineOutputs()
        let packets = SharedVectors.rtpPackets("vp8.pcap")
        #expect(packets.count == list.count)
        for (index, packet) in packets.enumerated() {
            engine.handleRTP(packet, now: start.adding(milliseconds: Int64(index) * 5), into: &out)
        }
        let expected = list.filter(\.isMarked)
        #expect(out.frames.map(\.frame.rtpTimestamp) == expected.map(\.timestamp))
        let keyFrames = Set(list.filter(\.isKeyFrame).map(\.timestamp))
        #expect(Set(out.frames.filter(\.frame.isKeyFrame).map(\.frame.rtpTimestamp)) == keyFrames)
        // The payloads, descriptors removed, are the frames.
        #expect(out.frameBytes.allSatisfy { !$0.isEmpty })
        #expect(out.requestedNumbers.isEmpty && out.pliCount == 0)
    }

    /// Half of this capture's packets were lost and never repaired.
    @Test("the VP9 capture gives the frames before its first loss, and asks for what is missing")
    func vp9Capture() {
        let list = list("vp9.txt")
        var engine = engine([98: .vp9])
        var out = EngineOutputs()
        let packets = SharedVectors.rtpPackets("vp9.pcap")
        #expect(packets.count == list.count)
        var now = start
        for packet in packets {
            now = now.adding(milliseconds: 8)
            engine.handleRTP(packet, now: now, into: &out)
            engine.run(until: now, into: &out)
        }
        var whole: [UInt32] = []
        for (previous, item) in zip([list[0]] + list, list) {
            if item.sequence > previous.sequence + 1 { break }
            if item.isMarked { whole.append(item.timestamp) }
        }
        #expect(whole.count == 16)
        #expect(out.frames.map(\.frame.rtpTimestamp) == whole)
        #expect(out.frames.map(\.frame.isKeyFrame) == [true] + Array(repeating: false, count: whole.count - 1))
        let present = Set(list.map(\.sequence))
        #expect(out.requestedNumbers.allSatisfy { !present.contains(Int($0)) || Int($0) > list[0].sequence })
        #expect(out.requestedNumbers.contains(19_375))
        #expect(out.pliCount >= 1)
        #expect(Double(out.pliCount) <= 1 + now.milliseconds(since: start) / 300)
    }
}
