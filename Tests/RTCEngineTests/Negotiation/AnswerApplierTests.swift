import RTCBase
import RTCEngine
import RTCWire
import Testing

private typealias Fixtures = NegotiationFixtures

@Suite("AnswerApplier")
struct AnswerApplierTests {
    private let offer = Fixtures.offer()
    private var answer: SessionDescription { Fixtures.answer(to: offer) }

    // MARK: Captures

    @Test("the vendor's pair negotiates to what both streamed", .enabled(if: NegotiationFixtures.hasCaptures, "shared/ is absent"))
    func vendorPair() throws {
        let offer = try SessionDescription(parsing: try #require(Fixtures.capture("sdk-1.13-offer.sdp")))
        let answer = try SessionDescription(parsing: try #require(Fixtures.capture("runtime-3.10-answer.sdp")))
        let session = try Fixtures.apply(answer, to: offer)
        #expect(session.usernameFragment == "x8Oj")
        #expect(session.password.utf8.count == 24)
        #expect(session.candidates.count == 4 && session.endOfCandidates)
        #expect(session.fingerprints.map(\.algorithm) == ["sha-256"])
        #expect(!session.isDTLSClient)
        #expect(session.sctpPort == 5000 && session.maxMessageBytes == 262_144)
        #expect(session.usesFrameMetadata)
        #expect(session.chunkingPeerMaxBytes == 67_108_864)
        #expect(session.sections.map(\.trackName) == ["webcam", "mic", "main_video", "main_audio"])
        #expect(session.sections.map(\.sends) == [true, true, false, false])
        #expect(session.sections.map(\.receives) == [false, false, true, true])
        #expect(session.rejectedTracks.isEmpty)
        let video = session.sections[2]
        #expect(video.videoCodecs == [98: .vp9, 96: .vp8])
        #expect(video.rtxPayloadTypes == [99: 98, 97: 96])
        #expect(video.preferredPayloadType == 98)
        #expect(video.announcedSSRCs == [1_044_290_280: 2_292_141_871])
        #expect(video.extensionIDs.mid == 9 && video.extensionIDs.transportSequenceNumber == 4 && video.extensionIDs.absoluteSendTime == 2)
        #expect(video.usesNACK && video.usesPLI && video.usesFIR && video.usesTransportFeedback && video.usesReducedSizeRTCP)
        #expect(video.cname == "yCilNxTaPLlcugHx")
        let audio = session.sections[3]
        #expect(audio.opusPayloadTypes == [111])
        #expect(audio.announcedSSRCs == [1_704_834_538: nil])
        #expect(!audio.usesNACK && audio.usesTransportFeedback)
        #expect(session.sections[0].localSSRC == 2_127_892_172 && session.sections[0].localRTXSSRC == 562_663_041)
        #expect(session.sections[1].localSSRC == 4_116_846_226 && session.sections[1].localRTXSSRC == nil)
    }

    @Test(
        "an answer without our attributes, extensions or feedback is a plain session",
        .enabled(if: NegotiationFixtures.hasCaptures, "shared/ is absent"))
    func minimalPair() throws {
        let offer = try SessionDescription(parsing: try #require(Fixtures.capture("aiortc-minimal-offer.sdp")))
        let answer = try SessionDescription(parsing: try #require(Fixtures.capture("runtime-3.10-answer-to-minimal-offer.sdp")))
        let configuration = OfferConfiguration(
            tracks: [
                TrackDeclaration(name: "main_video", kind: .video, direction: .recvonly),
                TrackDeclaration(name: "main_audio", kind: .audio, direction: .recvonly),
            ], cname: "c")
        let session = try Fixtures.apply(answer, to: offer, configuration)
        #expect(!session.usesFrameMetadata && session.chunkingPeerMaxBytes == nil)
        #expect(session.candidates.count == 2)
        let video = session.sections[0]
        #expect(video.receives && video.videoCodecs == [97: .vp8] && video.rtxPayloadTypes == [98: 97])
        #expect(video.usesNACK && video.usesPLI && !video.usesFIR && !video.usesTransportFeedback && !video.usesReducedSizeRTCP)
        #expect(video.extensionIDs.mid == 1 && video.extensionIDs.transportSequenceNumber == 0)
        #expect(video.announcedSSRCs == [257_180_883: 1_509_683_599])
        let audio = session.sections[1]
        #expect(audio.accepted && !audio.receives && !audio.sends)
        #expect(session.rejectedTracks.isEmpty)
    }

    @Test("our own offer in a willing peer's hands gives a full session")
    func ownOffer() throws {
        let session = try Fixtures.apply(answer)
        #expect(session.sections.map(\.sends) == [true, true, false, false])
        #expect(session.sections[2].videoCodecs == [98: .vp9, 96: .vp8])
        #expect(session.usesFrameMetadata && session.chunkingPeerMaxBytes == 67_108_864)
        #expect(session.sections[0].localSSRC == offer.sections[0].sources[0].ssrc)
        #expect(session.sections[2].announcedSSRCs.isEmpty)
    }

    // MARK: Tracks that carry nothing

    @Test("an answer with H264 alone leaves the track unusable with a reason, the session lives")
    func otherCodec() throws {
        var answer = answer
        answer.sections[2].codecs = [
            RTPCodec(payloadType: 102, name: "H264", clockRate: 90_000),
            RTPCodec(payloadType: 103, name: "rtx", clockRate: 90_000, parameters: "apt=102"),
        ]
        let session = try Fixtures.apply(answer)
        #expect(session.sections.map(\.accepted) == [true, true, false, true])
        #expect(!session.sections[2].receives && session.sections[2].videoCodecs.isEmpty && session.sections[2].rtxPayloadTypes.isEmpty)
        #expect(
            session.rejectedTracks == [RejectedTrack(trackName: "main_video", mid: "2", reason: .noCommonCodec(answered: ["H264", "rtx"]))])
        #expect(session.rejectedTracks[0].description.contains("main_video"))
        #expect(session.rejectedTracks[0].description.contains("H264"))
    }

    @Test("a section answered with port 0 is a refused track; a bundle-only one with port 0 lives (RFC 9143 §6)")
    func refusedTrack() throws {
        var answer = answer
        answer.sections[2].port = 0
        answer.bundleGroups = [["0", "1", "3", "4"]]
        answer.sections[3].port = 0
        answer.sections[3].bundleOnly = true
        let session = try Fixtures.apply(answer)
        #expect(session.rejectedTracks.map(\.reason) == [.refusedByPeer])
        #expect(session.sections[3].receives)
    }

    @Test("VP9 profile 2 is not ours, VP9 without a profile is profile 0, names have no case")
    func profiles() throws {
        var answer = answer
        answer.sections[2].codecs = [
            RTPCodec(payloadType: 100, name: "VP9", clockRate: 90_000, parameters: "profile-id=2"),
            RTPCodec(payloadType: 35, name: "vp9", clockRate: 90_000),
        ]
        answer.sections[3].codecs = [RTPCodec(payloadType: 40, name: "OPUS", clockRate: 48_000, channels: 2)]
        let session = try Fixtures.apply(answer)
        #expect(session.sections[2].videoCodecs[100] == nil)
        #expect(session.sections[2].videoCodecs[35] == .vp9)
        #expect(session.sections[2].preferredPayloadType == 35)
        #expect(session.sections[3].opusPayloadTypes == [40, 111])
    }

    // MARK: DTLS

    @Test("DTLS-04 the role comes from the answer alone", arguments: [(MediaSection.Setup.active, false), (.passive, true)])
    func roles(setup: MediaSection.Setup, isClient: Bool) throws {
        var answer = answer
        for index in answer.sections.indices { answer.sections[index].setup = setup }
        #expect(try Fixtures.apply(answer).isDTLSClient == isClient)
    }

    @Test("actpass, holdconn or no setup in an answer is refused", arguments: [MediaSection.Setup.actpass, .holdconn, nil])
    func badRoles(setup: MediaSection.Setup?) {
        var answer = answer
        answer.sections[0].setup = setup
        #expect(throws: NegotiationError.invalidSetup(setup?.rawValue ?? "missing")) { try Fixtures.apply(answer) }
    }

    @Test("SDP-14 sha-384 alone is enough, whatever its case", arguments: [("SHA-384", 48), ("sha-512", 64), ("Sha-256", 32)])
    func fingerprints(name: String, count: Int) throws {
        var answer = answer
        answer.sections[0].fingerprints = [
            Fingerprint(algorithm: "sha-1", value: Fixtures.hash(20)), Fingerprint(algorithm: name, value: Fixtures.hash(count)),
        ]
        #expect(try Fixtures.apply(answer).fingerprints.map(\.algorithm) == [name.lowercased()])
    }

    @Test("SDP-14 sha-1 or md5 alone, a hash of the wrong length or none at all is refused")
    func badFingerprints() {
        let cases: [([Fingerprint], NegotiationError)] = [
            ([Fingerprint(algorithm: "sha-1", value: Fixtures.hash(20))], .unsupportedFingerprint(algorithms: ["sha-1"])),
            ([Fingerprint(algorithm: "md5", value: Fixtures.hash(16))], .unsupportedFingerprint(algorithms: ["md5"])),
            ([Fingerprint(algorithm: "sha-256", value: Fixtures.hash(20))], .unsupportedFingerprint(algorithms: ["sha-256"])),
            ([Fingerprint(algorithm: "sha-256", value: "xyz")], .unsupportedFingerprint(algorithms: ["sha-256"])),
            ([], .missingFingerprint),
        ]
        for (fingerprints, error) in cases {
            var answer = answer
            answer.sections[0].fingerprints = fingerprints
            #expect(throws: error) { try Fixtures.apply(answer) }
        }
    }

    // MARK: Bundle and shape

    @Test("SDP-04 an answer without BUNDLE, or with sections outside it, is a typed error")
    func unbundled() {
        var answer = answer
        answer.bundleGroups = []
        #expect(throws: NegotiationError.notBundled(mid: "0")) { try Fixtures.apply(answer) }
        answer.bundleGroups = [["0", "1", "2", "4"]]
        #expect(throws: NegotiationError.notBundled(mid: "3")) { try Fixtures.apply(answer) }
        answer.bundleGroups = [["0", "1"], ["2", "3", "4"]]
        #expect(throws: NegotiationError.notBundled(mid: "2")) { try Fixtures.apply(answer) }
        answer.bundleGroups = [["0", "1", "2", "3", "4", "5"]]
        #expect(throws: NegotiationError.notBundled(mid: "5")) { try Fixtures.apply(answer) }
    }

    @Test("SDP-04 without BUNDLE one accepted section is fine")
    func singleSection() throws {
        let configuration = OfferConfiguration(tracks: [], cname: "c")
        var answer = Fixtures.answer(to: Fixtures.offer(configuration))
        answer.bundleGroups = []
        #expect(try Fixtures.apply(answer, to: nil, configuration).sections.isEmpty)
    }

    @Test("transport data come from the first accepted section of the group (RFC 9143 §7.3)")
    func taggedSection() throws {
        var answer = answer
        answer.sections[0].port = 0
        answer.sections[0].iceUsernameFragment = nil
        answer.sections[0].fingerprints = []
        answer.bundleGroups = [["2", "1", "3", "4"]]
        answer.sections[2].iceUsernameFragment = "tagged"
        answer.sections[2].candidates = ["candidate:a"]
        let session = try Fixtures.apply(answer)
        #expect(session.usernameFragment == "tagged")
        #expect(session.candidates == ["candidate:a"])
    }

    @Test("SDP-11 mids are opaque and must come back as they were sent")
    func mids() throws {
        var offer = offer
        let names = ["main_video_0123456789", "a", "+#$", "zz", "data-channel"]
        for index in offer.sections.indices { offer.sections[index].mid = names[index] }
        offer.bundleGroups = [names]
        let answer = Fixtures.answer(to: offer)
        let session = try Fixtures.apply(answer, to: offer)
        #expect(session.sections.map(\.mid) == Array(names.prefix(4)))
        var renamed = answer
        renamed.sections[1].mid = "b"
        #expect(throws: NegotiationError.midMismatch(index: 1, offered: "a", answered: "b")) { try Fixtures.apply(renamed, to: offer) }
    }

    @Test("another number, kind or protocol of sections is refused")
    func shape() {
        var answer = answer
        answer.sections.removeLast()
        #expect(throws: NegotiationError.sectionCountMismatch(offered: 5, answered: 4)) { try Fixtures.apply(answer) }
        answer = self.answer
        answer.sections.swapAt(2, 3)
        #expect(throws: NegotiationError.self) { try Fixtures.apply(answer) }
        answer = self.answer
        answer.sections[4].protocolName = "UDP/TLS/RTP/SAVPF"
        #expect(throws: NegotiationError.self) { try Fixtures.apply(answer) }
    }

    @Test("directions must fit; a missing one reads as sendrecv and fits (RFC 3264 §6.1)")
    func directions() throws {
        var answer = answer
        answer.sections[0].direction = .sendonly
        #expect(throws: NegotiationError.invalidDirection(mid: "0", offered: "sendonly", answered: "sendonly")) {
            try Fixtures.apply(answer)
        }
        answer.sections[0].direction = .sendrecv
        answer.sections[2].direction = .inactive
        let session = try Fixtures.apply(answer)
        #expect(session.sections[0].sends && !session.sections[0].receives)
        #expect(session.sections[2].accepted && !session.sections[2].receives)
    }

    @Test("everything refused, data channels refused, no rtcp-mux: typed errors")
    func refusals() {
        var answer = answer
        answer.sections[4].port = 0
        #expect(throws: NegotiationError.dataChannelsRefused) { try Fixtures.apply(answer) }
        for index in answer.sections.indices { answer.sections[index].port = 0 }
        #expect(throws: NegotiationError.nothingAccepted) { try Fixtures.apply(answer) }
        answer = self.answer
        answer.sections[1].rtcpMux = false
        #expect(throws: NegotiationError.missingMultiplexing(mid: "1")) { try Fixtures.apply(answer) }
    }

    @Test("ICE credentials must be there and of legal length, and never show in an error (RFC 8839 §5.4)")
    func credentials() {
        var answer = answer
        answer.sections[0].icePassword = nil
        #expect(throws: NegotiationError.missingICECredentials) { try Fixtures.apply(answer) }
        answer.sections[0].icePassword = "short-secret"
        let error = #expect(throws: NegotiationError.invalidICECredentials) { try Fixtures.apply(answer) }
        #expect(error?.description.contains("short-secret") == false)
        answer.sections[0].icePassword = String(repeating: "p", count: 22)
        answer.sections[0].iceUsernameFragment = String(repeating: "u", count: 257)
        #expect(throws: NegotiationError.invalidICECredentials) { try Fixtures.apply(answer) }
    }

    // MARK: Data channels and our attributes

    @Test(
        "max-message-size: missing is 64 KiB, 0 is any size (RFC 8841 §6.1)",
        arguments: [
            (nil, 65_536), (0, NegotiatedSession.unlimitedMessageBytes), (1_000, 1_000), (Int.max, NegotiatedSession.unlimitedMessageBytes),
        ]
            as [(Int?, Int)])
    func messageSize(declared: Int?, effective: Int) throws {
        var answer = answer
        answer.sections[4].maxMessageSize = declared
        #expect(try Fixtures.apply(answer).maxMessageBytes == effective)
    }

    @Test("SDP-01 the older data section is understood; an impossible port is not")
    func dataFlavours() throws {
        var answer = answer
        answer.sections[4].protocolName = "DTLS/SCTP"
        answer.sections[4].formats = ["5001"]
        answer.sections[4].sctpPort = nil
        answer.sections[4].sctpMap = "5001 webrtc-datachannel 1024"
        #expect(try Fixtures.apply(answer).sctpPort == 5_001)
        answer = self.answer
        answer.sections[4].sctpPort = 0
        #expect(throws: NegotiationError.invalidSCTPPort) { try Fixtures.apply(answer) }
    }

    @Test(
        "frame metadata is on only with version 1 on both sides",
        arguments: [("1", true), ("2", false), ("1.0", false), ("one", false), ("", false)])
    func frameMetadata(value: String, isOn: Bool) throws {
        var answer = answer
        answer.attributes = [SDPAttribute(name: "x-reactor-frame-metadata", value: value)]
        #expect(try Fixtures.apply(answer).usesFrameMetadata == isOn)
        answer.attributes = [SDPAttribute(name: "x-reactor-frame-metadata-2", value: "1")]
        #expect(try !Fixtures.apply(answer).usesFrameMetadata)
        var configuration = Fixtures.configuration
        configuration.offersFrameMetadata = false
        let plain = Fixtures.offer(configuration)
        answer = Fixtures.answer(to: plain)
        answer.attributes = [SDPAttribute(name: "x-reactor-frame-metadata", value: "1")]
        #expect(try !Fixtures.apply(answer, to: plain, configuration).usesFrameMetadata)
    }

    @Test(
        "chunking is on only when both declare version 1 with a readable size",
        arguments: [
            ("1 max-message-size=1000000", 1_000_000), ("1", 67_108_864), ("1 later=yes max-message-size=7 x", 7),
            ("1 max-message-size=0", 67_108_864),
            ("2 max-message-size=7", nil), ("1 max-message-size=many", nil), ("", nil),
        ] as [(String, Int?)])
    func chunking(value: String, limit: Int?) throws {
        var answer = answer
        answer.attributes = [SDPAttribute(name: "x-reactor-dc-chunking", value: value)]
        #expect(try Fixtures.apply(answer).chunkingPeerMaxBytes == limit)
        var configuration = Fixtures.configuration
        configuration.chunkingMaxMessageBytes = nil
        let plain = Fixtures.offer(configuration)
        answer = Fixtures.answer(to: plain)
        answer.attributes = [SDPAttribute(name: "x-reactor-dc-chunking", value: value)]
        #expect(try Fixtures.apply(answer, to: plain, configuration).chunkingPeerMaxBytes == nil)
    }

    @Test(
        "descriptions of other stacks give a session or a typed error", .enabled(if: NegotiationFixtures.hasCaptures, "shared/ is absent"))
    func corpora() throws {
        var outcomes = (sessions: 0, errors: 0)
        for text in Fixtures.corpora {
            guard let description = try? SessionDescription(parsing: text) else { continue }
            for offer in [description, offer] {
                do throws(NegotiationError) {
                    let session = try Fixtures.apply(description, to: offer)
                    #expect(session.sections.count <= Fixtures.tracks.count && !session.fingerprints.isEmpty)
                    outcomes.sessions += 1
                } catch {
                    #expect(!error.message.isEmpty)
                    outcomes.errors += 1
                }
            }
        }
        #expect(outcomes.errors > 0)
    }

    @Test("each error has a code and says what to do")
    func errorTexts() {
        let errors: [NegotiationError] = [
            .sectionCountMismatch(offered: 2, answered: 1), .sectionKindMismatch(index: 0, offered: "video", answered: "audio"),
            .midMismatch(index: 0, offered: "a", answered: "b"), .notBundled(mid: "1"), .missingMultiplexing(mid: "1"),
            .invalidDirection(mid: "1", offered: "sendonly", answered: "sendonly"), .missingICECredentials, .invalidICECredentials,
            .missingFingerprint, .unsupportedFingerprint(algorithms: ["sha-1"]), .invalidSetup("actpass"), .dataChannelsRefused,
            .invalidSCTPPort, .nothingAccepted, .nothingUsable, .repeatedMid("a"),
        ]
        #expect(Set(errors.map(\.code)).count == errors.count)
        #expect(errors.allSatisfy { $0.message.count > 20 })
    }
}
