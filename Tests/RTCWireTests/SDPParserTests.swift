import RTCBase
import Testing

@testable import RTCWire

/// A minimal description around `sections`.
func description(_ sections: String..., session: String = "") -> String {
    "v=0\no=- 42 7 IN IP4 127.0.0.1\ns=-\nt=0 0\n" + session + sections.joined()
}

@Suite struct SDPParserTests {
    @Test("SDP-01 both flavours of the data section are read, and written in the flavour they came in")
    func dataSections() throws {
        let new =
            "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\nc=IN IP4 0.0.0.0\na=mid:0\na=sctp-port:5000\na=max-message-size:262144\n"
        let old = "m=application 9 DTLS/SCTP 5000\nc=IN IP4 0.0.0.0\na=mid:0\na=sctpmap:5000 webrtc-datachannel 1024\n"
        for text in [new, old] {
            let session = try SessionDescription(parsing: description(text))
            let media = try #require(session.sections.first)
            #expect(media.kind == .application && media.isDataChannel && media.dataChannelPort == 5000)
            #expect(try SessionDescription(parsing: session.write()) == session)
            let firstLine = try #require(text.split(separator: "\n").first)
            #expect(session.write().contains("\(firstLine)\r\n"))
        }
        #expect(try SessionDescription(parsing: description(new)).sections[0].maxMessageSize == 262_144)
        #expect(try SessionDescription(parsing: description(old)).sections[0].sctpPort == nil)
    }

    @Test("SDP-03 extmap-allow-mixed is a flag, at both levels; names are compared whole")
    func allowMixed() throws {
        let section =
            "m=video 9 UDP/TLS/RTP/SAVPF 96\na=extmap-allow-mixed\na=extmap:3 urn:x\na=midnight:5\na=rtcp-mux-only\na=unknown-flag\n"
        let session = try SessionDescription(parsing: description(section, session: "a=extmap-allow-mixed\n"))
        #expect(session.attribute("extmap-allow-mixed") == SDPAttribute(name: "extmap-allow-mixed"))
        let media = session.sections[0]
        #expect(media.attributes.map(\.name) == ["extmap-allow-mixed", "midnight", "rtcp-mux-only", "unknown-flag"])
        #expect(media.mid == nil && !media.rtcpMux)
        #expect(media.headerExtensions == [SDPHeaderExtension(id: 3, uri: "urn:x")])
    }

    @Test("SDP-06 a session-level c= is enough, and a missing one is tolerated")
    func connectionLines() throws {
        let session = try SessionDescription(
            parsing: description("m=audio 0 UDP/TLS/RTP/SAVPF 0\na=mid:a\n", session: "c=IN IP4 1.2.3.4\n"))
        #expect(session.sections[0].isRejected && session.sections[0].mid == "a")
        #expect(try SessionDescription(parsing: description("m=audio 9 UDP/TLS/RTP/SAVPF 0\n")).sections.count == 1)
    }

    @Test("RFC 9143 §6: port 0 with bundle-only is alive")
    func bundleOnly() throws {
        let session = try SessionDescription(parsing: description("m=audio 0 UDP/TLS/RTP/SAVPF 0\na=bundle-only\n"))
        #expect(session.sections[0].bundleOnly && !session.sections[0].isRejected)
    }

    @Test("SDP-08 LF, CRLF, both mixed, no final newline, blank lines and trailing spaces read the same")
    func lineEnds() throws {
        let text = description("m=application 0 UDP/DTLS/SCTP webrtc-datachannel\na=mid:data\na=sctp-port:5000\n")
        let lines = text.split(separator: "\n").map(String.init)
        let expected = try SessionDescription(parsing: text)
        let variants = [
            lines.joined(separator: "\r\n") + "\r\n", lines.joined(separator: "\r\n"), lines.joined(separator: "\n"),
            lines[0] + "\n" + lines.dropFirst().joined(separator: "\r\n") + "\r\n", text + "\r\n", text + "\n\n",
            lines.joined(separator: "  \r\n") + " \t", lines.joined(separator: "\r\r\n"),
        ]
        for (index, variant) in variants.enumerated() {
            #expect(try SessionDescription(parsing: variant) == expected, "variant \(index)")
        }
    }

    @Test("SDP-11 a mid is an opaque token", arguments: ["0", "main_video", "a-token-of-more-than-sixteen-characters", "+~"])
    func mids(_ mid: String) throws {
        let session = try SessionDescription(
            parsing: description("m=video 9 UDP/TLS/RTP/SAVPF 96\na=mid:\(mid)\n", session: "a=group:BUNDLE \(mid)\n"))
        #expect(session.sections[0].mid == mid && session.bundleGroups == [[mid]])
    }

    @Test("SDP-12 fmtp before rtpmap, rtcp-fb for all, payload types in 35-63: joined by number")
    func codecAssociation() throws {
        let media = try SessionDescription(
            parsing: description(
                "m=video 9 UDP/TLS/RTP/SAVPF 36 98 35 0\n", "a=fmtp:36 apt=98\n", "a=rtcp-fb:* nack\n", "a=fmtp:98 Profile-ID=2; x\n",
                "a=rtcp-fb:98 nack pli\n", "a=rtpmap:35 VP8/90000\n", "a=rtpmap:98 VP9/90000\n", "a=rtpmap:36 rtx/90000\n",
                "a=rtcp-fb:98 nack\n", "a=rtpmap:77 never/90000\n")
        ).sections[0]
        #expect(
            media.codecs == [
                RTPCodec(payloadType: 36, name: "rtx", clockRate: 90_000, parameters: "apt=98", feedback: ["nack"]),
                RTPCodec(payloadType: 98, name: "VP9", clockRate: 90_000, parameters: "Profile-ID=2; x", feedback: ["nack", "nack pli"]),
                RTPCodec(payloadType: 35, name: "VP8", clockRate: 90_000, feedback: ["nack"]),
                RTPCodec(payloadType: 0, name: "PCMU", clockRate: 8000, feedback: ["nack"]),
            ])
        let vp9 = try #require(media.codec(payloadType: 98))
        #expect(vp9.parameter("profile-id") == "2" && vp9.parameter("x") == "" && vp9.parameter("apt") == nil && vp9.isNamed("vp9"))
    }

    @Test(
        "SDP-14 fingerprints of sha-256, sha-384 and sha-512, whatever their case; sha-1 is read and marked",
        arguments: [("SHA-384", true), ("sha-256", true), ("Sha-512", true), ("sha-1", false), ("md5", false)])
    func fingerprints(_ algorithm: String, isSupported: Bool) throws {
        let session = try SessionDescription(
            parsing: description("m=audio 9 UDP/TLS/RTP/SAVPF 0\n", session: "a=fingerprint:\(algorithm) ab:CD:0e\n"))
        let fingerprint = try #require(session.sections[0].fingerprints.first)
        #expect(fingerprint.algorithm == algorithm.lowercased() && fingerprint.value == "AB:CD:0E")
        #expect(fingerprint.isSupported == isSupported && fingerprint.bytes == [0xAB, 0xCD, 0x0E])
    }

    @Test("RFC 9429 §5.8: transport attributes of the session apply where a section has none")
    func inheritance() throws {
        let shared =
            "a=ice-ufrag:sess\na=ice-pwd:sessionpassword0123456\na=ice-options:trickle\na=fingerprint:sha-256 AA:BB\na=setup:actpass\na=recvonly\na=extmap:1/sendonly urn:a\n"
        let own =
            "a=ice-ufrag:own0\na=ice-pwd:ownpassword01234567890\na=fingerprint:sha-256 CC:DD\na=setup:active\na=sendonly\na=extmap:1 urn:b\n"
        let session = try SessionDescription(
            parsing: description("m=audio 9 UDP/TLS/RTP/SAVPF 0\n", "m=audio 9 UDP/TLS/RTP/SAVPF 0\n" + own, session: shared))
        let (first, second) = (session.sections[0], session.sections[1])
        #expect(first.iceUsernameFragment == "sess" && first.setup == .actpass && first.fingerprints.map(\.value) == ["AA:BB"])
        #expect(first.iceOptions == ["trickle"] && first.direction == .recvonly)
        #expect(first.headerExtensions == [SDPHeaderExtension(id: 1, uri: "urn:a", direction: "sendonly")])
        #expect(second.iceUsernameFragment == "own0" && second.icePassword == "ownpassword01234567890" && second.setup == .active)
        #expect(second.fingerprints.map(\.value) == ["CC:DD"] && second.iceOptions == ["trickle"] && second.direction == .sendonly)
        #expect(second.headerExtensions == [SDPHeaderExtension(id: 1, uri: "urn:b")])
        #expect(session.attributes.isEmpty)
        #expect(try SessionDescription(parsing: session.write()) == session)
    }

    @Test("RFC 5576, RFC 8830: sources, groups and msid")
    func sources() throws {
        let media = try SessionDescription(
            parsing: description(
                "m=video 9 UDP/TLS/RTP/SAVPF 96\na=msid:stream track\na=ssrc-group:FID 1 4294967295\na=ssrc:1 cname:a:b\na=ssrc:4294967295 flag\n"
            )
        ).sections[0]
        #expect(media.mediaStreamIDs == ["stream track"] && media.sourceGroups == [SSRCGroup(semantics: "FID", ssrcs: [1, .max])])
        #expect(media.sources == [SSRCAttribute(ssrc: 1, name: "cname", value: "a:b"), SSRCAttribute(ssrc: .max, name: "flag")])
        #expect(media.cname(of: 1) == "a:b" && media.cname() == "a:b" && media.cname(of: 2) == nil)
    }

    @Test("RFC 8866 §9: malformed lines are refused with their number")
    func refused() {
        func problem(_ text: String) -> SDPError? {
            do {
                _ = try SessionDescription(parsing: text)
                return nil
            } catch { return error }
        }
        #expect(problem("") == SDPError(line: 0, problem: .badOrigin))
        #expect(problem("v=1\n") == SDPError(line: 1, problem: .badVersion))
        #expect(problem("o=- 1 1 IN IP4 x\n") == SDPError(line: 1, problem: .badVersion))
        #expect(problem("v=0\ns=-\n") == SDPError(line: 0, problem: .badOrigin))
        #expect(problem("v=0\nm=audio 9 RTP/AVP 0\n") == SDPError(line: 2, problem: .badOrigin))
        #expect(problem("v=0\no=- 1 two IN IP4 x\n") == SDPError(line: 2, problem: .badOrigin))
        #expect(problem(description("hello\n")) == SDPError(line: 5, problem: .badLine))
        #expect(problem(description("a=x:1\r2\r\n")) == SDPError(line: 5, problem: .badLine))
        #expect(problem(description("a=x:1\u{0}2\r\n")) == SDPError(line: 5, problem: .badLine))
        #expect(problem(description("m=audio x RTP/AVP 0\n")) == SDPError(line: 5, problem: .badMediaLine))
        #expect(problem(description("m=audio 65536 RTP/AVP 0\n")) == SDPError(line: 5, problem: .badMediaLine))
        for line in [
            "setup:both", "fingerprint:sha-256", "fingerprint:sha-256 A:BB", "ice-ufrag:", "sctp-port:65536", "max-message-size:-1",
            "rtpmap:96 VP8", "rtpmap:300 VP8/90000", "rtpmap:96 VP8/0", "extmap:x urn:a", "ssrc:-1 cname:a", "ssrc-group:FID x", "mid:",
            "candidate:", "rtcp-fb:96",
        ] {
            let name = String(line.split(separator: ":")[0])
            #expect(problem(description("m=audio 9 RTP/AVP 96\n", "a=\(line)\n")) == SDPError(line: 6, problem: .badAttribute(name: name)))
        }
    }

    @Test("an error names line and attribute, never a credential")
    func noSecrets() {
        let secret = "averysecretpassword with a blank"
        do {
            _ = try SessionDescription(parsing: description("m=audio 9 RTP/AVP 96\na=ice-pwd:\(secret)\n"))
            Issue.record("a password with blanks was read")
        } catch {
            #expect("\(error)" == "SDP line 6: malformed a=ice-pwd" && !String(reflecting: error).contains("secret"))
        }
    }

    @Test("text, lines and sections are bounded")
    func bounds() throws {
        let section = "m=audio 9 RTP/AVP 0\n"
        #expect(try SessionDescription(parsing: description(String(repeating: section, count: 128))).sections.count == 128)
        #expect(throws: SDPError(line: 133, problem: .tooManySections)) {
            try SessionDescription(parsing: description(String(repeating: section, count: 129)))
        }
        #expect(throws: SDPError(line: 4097, problem: .tooManyLines)) {
            try SessionDescription(parsing: description(String(repeating: "a=x\n", count: 5000)))
        }
        #expect(throws: SDPError(line: 0, problem: .textTooLong)) {
            try SessionDescription(parsing: description("a=x:" + String(repeating: "y", count: 256 * 1024)))
        }
    }

    @Test("a wildcard for every payload type does not multiply without bound")
    func wildcardFeedback() throws {
        let formats = (0..<128).map { "\($0)" }.joined(separator: " ")
        var text = "m=video 9 RTP/AVPF \(formats)\n"
        for payloadType in 0..<128 { text += "a=rtpmap:\(payloadType) VP8/90000\n" }
        for index in 0..<3000 { text += "a=rtcp-fb:* f\(index)\n" }
        let media = try SessionDescription(parsing: description(text)).sections[0]
        #expect(media.codecs.count == 128 && media.codecs.allSatisfy { $0.feedback.count <= 32 })
    }
}
