import RTCBase
import Testing

@testable import RTCWire

@Suite struct SDPWriterTests {
    @Test("RFC 8866 §5: order of lines, CRLF everywhere, unknown attributes kept")
    func text() {
        var session = SessionDescription(sessionID: "12", sessionVersion: 3, bundleGroups: [["0"]])
        session.attributes = [SDPAttribute(name: "extmap-allow-mixed"), SDPAttribute(name: "x-reactor-frame-metadata", value: "1")]
        var media = MediaSection(kind: .video, protocolName: "UDP/TLS/RTP/SAVPF", formats: ["98"], mid: "0")
        media.direction = .recvonly
        media.iceUsernameFragment = "abcd"
        media.icePassword = "abcdefghijklmnopqrstuv"
        media.fingerprints = [Fingerprint(algorithm: "SHA-256", value: "aa:bb")]
        media.setup = .actpass
        media.rtcpMux = true
        media.codecs = [RTPCodec(payloadType: 98, name: "VP9", clockRate: 90_000, parameters: "profile-id=0", feedback: ["nack"])]
        media.candidates = ["candidate:1 1 udp 1 192.0.2.1 5 typ host"]
        session.sections = [media]
        let lines = [
            "v=0", "o=- 12 3 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=extmap-allow-mixed", "a=x-reactor-frame-metadata:1",
            "m=video 9 UDP/TLS/RTP/SAVPF 98", "c=IN IP4 0.0.0.0", "a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuv",
            "a=fingerprint:sha-256 AA:BB", "a=setup:actpass", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=rtpmap:98 VP9/90000",
            "a=rtcp-fb:98 nack", "a=fmtp:98 profile-id=0", "a=candidate:1 1 udp 1 192.0.2.1 5 typ host",
        ]
        #expect(session.write() == lines.map { $0 + "\r\n" }.joined())
    }

    @Test("SDP-06 every section carries c=, a refused one too")
    func connectionLines() {
        var session = SessionDescription(sessionID: "1")
        session.sections = [0, 9].map { MediaSection(kind: .audio, port: $0, protocolName: "UDP/TLS/RTP/SAVPF", formats: ["0"]) }
        #expect(session.write().split(separator: "\r\n").filter { $0 == "c=IN IP4 0.0.0.0" }.count == 2)
    }

    @Test("a line break in a value writes no line of its own")
    func noInjection() throws {
        var session = SessionDescription(sessionID: "1")
        session.attributes = [SDPAttribute(name: "x", value: "a\r\na=setup:active\nm=audio 9 RTP/AVP 0")]
        #expect(try SessionDescription(parsing: session.write()).sections.isEmpty)
        #expect(session.write().split(separator: "\r\n").count == 5)
    }

    @Test("SDP-15 msid, cname and FID group are written and read back")
    func sources() throws {
        var session = SessionDescription(sessionID: "1")
        var media = MediaSection(kind: .video, protocolName: "UDP/TLS/RTP/SAVPF", formats: ["96"], mid: "v")
        media.mediaStreamIDs = ["stream track"]
        media.sourceGroups = [SSRCGroup(semantics: "FID", ssrcs: [1, 2])]
        media.sources = [1, 2].map { SSRCAttribute(ssrc: $0, name: "cname", value: "c") }
        media.sctpMap = nil
        media.endOfCandidates = true
        session.sections = [media]
        #expect(try SessionDescription(parsing: session.write()) == session)
    }
}
