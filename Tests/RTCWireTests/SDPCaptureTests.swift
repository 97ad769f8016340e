import RTCBase
import Testing

@testable import RTCWire

/// Descriptions that the official client, the runtime and a third peer really sent.
@Suite(.enabled(if: SharedData.isPresent, "needs the shared folder"))
struct SDPCaptureTests {
    private static func read(_ name: String) throws -> SessionDescription {
        try SessionDescription(parsing: try SharedData.text("spec/captures/\(name).sdp"))
    }

    @Test(
        "captured descriptions read back as written, and no line but o= is lost",
        arguments: ["sdk-1.13-offer", "runtime-3.10-answer", "aiortc-minimal-offer", "runtime-3.10-answer-to-minimal-offer"])
    func roundTrip(_ name: String) throws {
        let text = try SharedData.text("spec/captures/\(name).sdp")
        let session = try Self.read(name)
        let written = session.write()
        #expect(try SessionDescription(parsing: written) == session)
        func lines(_ text: String) -> [String] {
            text.replacing("\r\n", with: "\n").split(separator: "\n").map(String.init)
                .filter { !$0.hasPrefix("o=") && !$0.hasPrefix("c=") }
                .map { $0.replacing("msid-semantic: ", with: "msid-semantic:") }.sorted()
        }
        // The data section's direction says nothing and is not written.
        #expect(lines(written) == lines(text))
    }

    @Test("wire protocol §4: the official client's offer")
    func offer() throws {
        let session = try Self.read("sdk-1.13-offer")
        #expect(session.sessionID == "1779041371021254166" && session.sessionVersion == 2)
        #expect(session.bundleGroups == [["0", "1", "2", "3", "4"]])
        #expect(session.attribute("x-reactor-frame-metadata")?.value == "1")
        #expect(
            ChunkFraming.Declaration(attributeValue: session.attribute(ChunkFraming.attributeName)?.value)?.maxMessageBytes == 67_108_864)
        #expect(session.sections.map(\.kind) == [.video, .audio, .video, .audio, .application])
        #expect(session.sections.map(\.direction) == [.sendonly, .sendonly, .recvonly, .recvonly, .sendrecv])
        let video = session.sections[0]
        #expect(video.setup == .actpass && video.iceUsernameFragment == "yE9E" && video.iceOptions == ["trickle", "goog-sped-v1"])
        #expect(video.rtcpMux && video.rtcpReducedSize && video.codecs.count == 11)
        #expect(video.codec(payloadType: 98)?.feedback == ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"])
        #expect(video.codec(payloadType: 99)?.parameter("apt") == "98")
        #expect(video.sourceGroups == [SSRCGroup(semantics: "FID", ssrcs: [2_127_892_172, 562_663_041])])
        #expect(video.cname(of: 562_663_041) == "T8SN7/hzbAj92WWO")
        let ids = HeaderExtensionIDs(video.headerExtensions)
        #expect(ids.mid == 9 && ids.transportSequenceNumber == 4 && ids.absoluteSendTime == 2 && ids.streamID == 10)
        #expect(HeaderExtensionIDs(session.sections[1].headerExtensions).audioLevel == 14)
        #expect(session.sections[1].codec(payloadType: 111)?.channels == 2)
        let data = session.sections[4]
        #expect(data.isDataChannel && data.dataChannelPort == 5000 && data.maxMessageSize == 262_144)
    }

    @Test("wire protocol §4: the runtime's answers")
    func answers() throws {
        let session = try Self.read("runtime-3.10-answer")
        #expect(session.sections.allSatisfy { $0.setup == .active && !$0.isRejected })
        #expect(session.sections[0].candidates.count == 4 && session.sections[0].endOfCandidates)
        #expect(session.sections[0].candidates[0].hasPrefix("candidate:3477033618 1 udp "))
        #expect(session.sections[2].codecs.first?.name == "VP9" && session.sections[2].direction == .sendonly)
        let minimal = try Self.read("runtime-3.10-answer-to-minimal-offer")
        #expect(minimal.sections.map(\.direction) == [.sendonly, .inactive, .sendrecv])
        let offer = try Self.read("aiortc-minimal-offer")
        #expect(offer.sections[0].port == 42_094 && offer.sections[0].fingerprints.map(\.algorithm) == ["sha-256", "sha-384", "sha-512"])
    }
}
