import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

private typealias Fixtures = NegotiationFixtures

@Suite("AnswerBuilder")
struct AnswerBuilderTests {
    /// The far end of the fixtures' offer: what they send comes here, and the other way round.
    private static let tracks = [
        TrackDeclaration(name: "webcam", kind: .video, direction: .recvonly),
        TrackDeclaration(name: "mic", kind: .audio, direction: .recvonly),
        TrackDeclaration(name: "main_video", kind: .video, direction: .sendonly),
        TrackDeclaration(name: "main_audio", kind: .audio, direction: .sendonly),
    ]
    private static let configuration = OfferConfiguration(tracks: tracks, streamID: "far-stream", cname: "far-cname")
    private static let transport = LocalTransportParameters(
        usernameFragment: "wxyz", password: "remote-password-of-24-ch", fingerprint: Fixtures.fingerprint,
        candidates: ["candidate:7 1 udp 2122194687 192.0.2.2 60702 typ host"], gatheringComplete: true)

    private func respond(
        _ offer: SessionDescription, _ configuration: OfferConfiguration = AnswerBuilderTests.configuration,
        names: [String: String] = [:]
    ) throws(NegotiationError) -> (answer: SessionDescription, session: NegotiatedSession) {
        var generator = SplitMix64(seed: 2)
        return try AnswerBuilder.answer(
            offer, configuration: configuration, trackNames: names, transport: Self.transport, sessionID: "99", using: &generator)
    }

    /// An offer of one video section, as another stack might write it.
    private func videoOffer(
        _ codecs: [RTPCodec], direction: MediaSection.Direction = .sendrecv, mid: String? = "v"
    ) -> SessionDescription {
        var section = MediaSection(kind: .video, protocolName: "UDP/TLS/RTP/SAVPF", formats: codecs.map { "\($0.payloadType)" }, mid: mid)
        section.codecs = codecs
        section.direction = direction
        section.rtcpMux = true
        section.setup = .actpass
        (section.iceUsernameFragment, section.icePassword) = ("abcd", "0123456789abcdefghijkl")
        section.fingerprints = [Fixtures.fingerprint]
        return SessionDescription(sessionID: "1", bundleGroups: mid.map { [[$0]] } ?? [], sections: [section])
    }

    private let vp8 = RTPCodec(payloadType: 120, name: "VP8", clockRate: 90_000, feedback: ["nack", "nack pli", "ccm fir", "goog-remb"])

    // MARK: Two of ours

    @Test("our offer and our answer agree: what one sends the other receives, with the same numbers")
    func bothEnds() throws {
        let offer = Fixtures.offer()
        let (answer, far) = try respond(offer)
        let parsed = try SessionDescription(parsing: answer.write())
        let near = try Fixtures.apply(parsed, to: offer)
        #expect(near.sections.map(\.trackName) == far.sections.map(\.trackName))
        #expect(near.sections.map(\.mid) == far.sections.map(\.mid))
        #expect(near.sections.map(\.sends) == [true, true, false, false] && far.sections.map(\.receives) == near.sections.map(\.sends))
        #expect(far.sections.map(\.sends) == near.sections.map(\.receives))
        #expect(near.isDTLSClient == false && far.isDTLSClient)
        #expect(near.usesFrameMetadata && far.usesFrameMetadata)
        #expect(near.chunkingPeerMaxBytes == 67_108_864 && far.chunkingPeerMaxBytes == 67_108_864)
        #expect(near.hasDataChannels && far.hasDataChannels && far.maxMessageBytes == 262_144)
        #expect(near.usernameFragment == "wxyz" && far.usernameFragment == "abcd")
        for (ours, theirs) in zip(near.sections, far.sections) {
            #expect(ours.accepted && theirs.accepted)
            #expect(ours.videoCodecs == theirs.videoCodecs && ours.opusPayloadTypes == theirs.opusPayloadTypes)
            #expect(ours.rtxPayloadTypes == theirs.rtxPayloadTypes && ours.preferredPayloadType == theirs.preferredPayloadType)
            #expect(ours.extensionIDs == theirs.extensionIDs && theirs.extensionIDs.mid == 9)
            #expect(ours.usesTransportFeedback && theirs.usesTransportFeedback && theirs.usesReducedSizeRTCP)
            let (sender, receiver) = ours.sends ? (ours, theirs) : (theirs, ours)
            let ssrc = try #require(sender.localSSRC)
            #expect(receiver.announcedSSRCs == [ssrc: sender.localRTXSSRC])
        }
        #expect(far.sections[0].cname == "our-cname" && near.sections[2].cname == "far-cname")
        #expect(far.rejectedTracks.isEmpty && near.rejectedTracks.isEmpty)
    }

    @Test("a two-way section sends and receives under one name")
    func twoWay() throws {
        let both = [
            TrackDeclaration(name: "picture", kind: .video, direction: .sendonly, isTwoWay: true),
            TrackDeclaration(name: "sound", kind: .audio, direction: .sendonly, isTwoWay: true),
        ]
        let configuration = OfferConfiguration(tracks: both, cname: "c")
        let offer = Fixtures.offer(configuration)
        #expect(offer.sections.map(\.direction) == [.sendrecv, .sendrecv, .sendrecv])
        let (answer, far) = try respond(offer, configuration)
        let near = try Fixtures.apply(answer, to: offer, configuration)
        #expect((near.sections + far.sections).allSatisfy { $0.sends && $0.receives && $0.localSSRC != nil })
        #expect(answer.sections[0].direction == .sendrecv)
        // One that only receives takes a two-way section half.
        let (half, session) = try respond(offer, OfferConfiguration(tracks: [Self.tracks[0]], cname: "c"))
        #expect(half.sections[0].direction == .recvonly && session.sections[0].receives && !session.sections[0].sends)
        #expect(half.sections[0].sources.isEmpty && half.sections[0].mediaStreamIDs.isEmpty)
        #expect(half.sections[1].direction == .inactive && session.sections[1].accepted && session.sections[1].rejection == nil)
    }

    // MARK: DTLS

    @Test(
        "DTLS-04 actpass is answered active, and the role is that of the answer",
        arguments: [(MediaSection.Setup.actpass, MediaSection.Setup.active), (.passive, .active), (.active, .passive)])
    func roles(offered: MediaSection.Setup, answered: MediaSection.Setup) throws {
        var offer = Fixtures.offer()
        for index in offer.sections.indices { offer.sections[index].setup = offered }
        let (answer, session) = try respond(offer)
        #expect(answer.sections.allSatisfy { $0.setup == answered })
        #expect(session.isDTLSClient == (answered == .active))
    }

    @Test("holdconn or no setup in an offer is refused", arguments: [MediaSection.Setup.holdconn, nil])
    func badRoles(setup: MediaSection.Setup?) {
        var offer = Fixtures.offer()
        offer.sections[0].setup = setup
        #expect(throws: NegotiationError.invalidSetup(setup?.rawValue ?? "missing")) { try respond(offer) }
    }

    @Test("SDP-14 an offer with sha-384 alone is answered; sha-1 alone is a typed error")
    func fingerprints() throws {
        var offer = Fixtures.offer()
        offer.sections[0].fingerprints = [Fingerprint(algorithm: "SHA-384", value: Fixtures.hash(48))]
        #expect(try respond(offer).session.fingerprints.map(\.algorithm) == ["sha-384"])
        offer.sections[0].fingerprints = [Fingerprint(algorithm: "sha-1", value: Fixtures.hash(20))]
        #expect(throws: NegotiationError.unsupportedFingerprint(algorithms: ["sha-1"])) { try respond(offer) }
    }

    // MARK: Sections

    @Test("SDP-01 the data section is answered in the flavour it came in")
    func dataFlavours() throws {
        var offer = Fixtures.offer()
        let (modern, _) = try respond(offer)
        #expect(modern.sections[4].formats == ["webrtc-datachannel"] && modern.sections[4].sctpPort == 5000)
        offer.sections[4].protocolName = "DTLS/SCTP"
        offer.sections[4].formats = ["5001"]
        offer.sections[4].sctpPort = nil
        offer.sections[4].sctpMap = "5001 webrtc-datachannel 1024"
        let (old, session) = try respond(offer)
        #expect(session.hasDataChannels && session.sctpPort == 5001)
        let text = old.write()
        #expect(text.contains("m=application 9 DTLS/SCTP 5000\r\n") && text.contains("a=sctpmap:5000 webrtc-datachannel 1024\r\n"))
        #expect(!text.contains("a=sctp-port"))
    }

    @Test("data channels alone, none at all, and ones we do not want")
    func dataOrNot() throws {
        var offer = Fixtures.offer(OfferConfiguration(tracks: [], cname: "c"))
        #expect(try respond(offer).session.hasDataChannels)
        #expect(try respond(offer).session.rejectedTracks.map(\.reason) == [.notOffered, .notOffered, .notOffered, .notOffered])
        offer = Fixtures.offer()
        offer.sections.removeLast()
        offer.bundleGroups = [["0", "1", "2", "3"]]
        let (_, plain) = try respond(offer)
        #expect(!plain.hasDataChannels && plain.sections[0].receives)
        var unwilling = Self.configuration
        unwilling.offersDataChannels = false
        let (answer, session) = try respond(Fixtures.offer(), unwilling)
        #expect(!session.hasDataChannels && answer.sections[4].port == 0)
        #expect(answer.bundleGroups == [["0", "1", "2", "3"]])
    }

    @Test("SDP-06 unknown kinds, plain RTP and sections without rtcp-mux are refused with port 0, a c= line and their mid")
    func refusals() throws {
        var offer = Fixtures.offer()
        offer.sections[0].rtcpMux = false
        offer.sections[1].protocolName = "RTP/AVP"
        offer.sections.insert(MediaSection(kind: .other("text"), protocolName: "RTP/SAVPF", formats: ["98"], mid: "t"), at: 2)
        var gone = MediaSection(kind: .video, port: 0, protocolName: "UDP/TLS/RTP/SAVPF", formats: ["96"], mid: "gone")
        gone.codecs = [vp8]
        offer.sections.append(gone)
        offer.bundleGroups = [offer.sections.compactMap(\.mid)]
        let (answer, session) = try respond(offer)
        #expect(answer.sections.map(\.port) == [0, 0, 0, 9, 9, 9, 0])
        #expect(answer.sections.map(\.mid) == offer.sections.map(\.mid))
        #expect(answer.sections.map(\.kind) == offer.sections.map(\.kind))
        #expect(answer.bundleGroups == [["2", "3", "4"]])
        #expect(session.rejectedTracks.map(\.trackName) == ["webcam", "mic"])
        #expect(session.rejectedTracks.map(\.reason) == [.unusableSection, .unusableSection])
        let text = answer.write()
        #expect(text.split(separator: "m=").dropFirst().allSatisfy { $0.contains("c=IN IP4 0.0.0.0\r\n") })
        #expect(text.split(separator: "\r\n", omittingEmptySubsequences: false).dropLast().allSatisfy { !$0.contains("\n") })
        // The candidates stand where the bundle is tagged now.
        #expect(answer.sections.map(\.candidates.isEmpty) == [true, true, true, false, true, true, true])
    }

    @Test("a section with H264 alone is refused and the track says why; another one with VP8 behind it is taken")
    func otherCodec() throws {
        let h264 = RTPCodec(payloadType: 102, name: "H264", clockRate: 90_000)
        let configuration = OfferConfiguration(tracks: [Self.tracks[0]], cname: "c")
        var offer = videoOffer([h264])
        #expect(throws: NegotiationError.nothingUsable) { try respond(offer, configuration) }
        offer.sections += Fixtures.offer(OfferConfiguration(tracks: [], cname: "c")).sections
        offer.bundleGroups = [["v", "0"]]
        let (answer, session) = try respond(offer, configuration)
        #expect(answer.sections[0].port == 0 && answer.sections[0].formats == ["102"])
        #expect(session.rejectedTracks.map(\.reason) == [.noCommonCodec(answered: ["H264"])])
        var second = videoOffer([vp8]).sections[0]
        second.mid = "w"
        offer.sections.append(second)
        offer.bundleGroups = [["v", "0", "w"]]
        let (_, better) = try respond(offer, configuration)
        #expect(better.rejectedTracks.isEmpty && better.sections[1].receives && better.sections[1].videoCodecs == [120: .vp8])
    }

    @Test(
        "directions are what both ends want (RFC 3264 §6.1)",
        arguments: [
            (
                MediaSection.Direction.sendrecv, MediaSection.Direction.recvonly, MediaSection.Direction.sendonly,
                MediaSection.Direction.sendrecv
            ),
            (.sendonly, .recvonly, .inactive, .recvonly), (.recvonly, .inactive, .sendonly, .sendonly),
            (.inactive, .inactive, .inactive, .inactive),
        ])
    func directions(
        offered: MediaSection.Direction, receiving: MediaSection.Direction, sending: MediaSection.Direction,
        both: MediaSection.Direction
    ) throws {
        let offer = videoOffer([vp8], direction: offered)
        for (isTwoWay, direction, expected) in [
            (false, MediaDirection.recvonly, receiving), (false, .sendonly, sending), (true, .sendonly, both),
        ] {
            let track = TrackDeclaration(name: "x", kind: .video, direction: direction, isTwoWay: isTwoWay)
            let (answer, session) = try respond(offer, OfferConfiguration(tracks: [track], cname: "c"))
            #expect(answer.sections[0].direction == expected)
            #expect(session.sections[0].receives == (expected == .recvonly || expected == .sendrecv))
            #expect(session.sections[0].sends == (expected == .sendonly || expected == .sendrecv))
        }
    }

    @Test("tracks meet sections by the names that signalling gave to mids; sections it did not name stay inactive")
    func names() throws {
        let (answer, session) = try respond(Fixtures.offer(), names: ["2": "main_video", "0": "webcam"])
        #expect(session.sections.prefix(4).map(\.trackName) == ["webcam", "", "main_video", ""])
        #expect(answer.sections.map(\.direction).prefix(4) == [.recvonly, .inactive, .sendonly, .inactive])
        #expect(session.rejectedTracks.map(\.trackName) == ["mic", "main_audio"])
        // A name of a track that goes the other way is no match.
        let (_, crossed) = try respond(Fixtures.offer(), names: ["0": "main_video"])
        #expect(!crossed.sections[0].sends && !crossed.sections[0].receives)
    }

    // MARK: Bundle

    @Test("SDP-04 without BUNDLE the first section that is wanted lives, the others are refused with a reason")
    func unbundled() throws {
        var offer = Fixtures.offer()
        offer.bundleGroups = []
        for index in offer.sections.indices { offer.sections[index].iceUsernameFragment = "own\(index)" }
        let (answer, session) = try respond(offer)
        #expect(answer.sections.map(\.port) == [9, 0, 0, 0, 0] && answer.bundleGroups.isEmpty)
        #expect(session.rejectedTracks.map(\.reason) == [.notBundled, .notBundled, .notBundled])
        #expect(session.usernameFragment == "own0" && !session.hasDataChannels)
        // Who wants data channels only gets them, not a silent half connection of another section.
        let (data, dataSession) = try respond(offer, OfferConfiguration(tracks: [], cname: "c"))
        #expect(data.sections.map(\.port) == [0, 0, 0, 0, 9] && dataSession.usernameFragment == "own4" && dataSession.hasDataChannels)
        let (single, _) = try respond(videoOffer([vp8], mid: nil))
        #expect(single.sections[0].mid == nil && !single.write().contains("BUNDLE"))
    }

    @Test("sections outside the bundle of the first wanted one are refused; transport comes from the section that has one")
    func partlyBundled() throws {
        var offer = Fixtures.offer()
        offer.bundleGroups = [["0", "4"], ["1", "2", "3"]]
        let (answer, session) = try respond(offer)
        #expect(answer.bundleGroups == [["0", "4"]] && answer.sections.map(\.port) == [9, 0, 0, 0, 9])
        #expect(session.rejectedTracks.map(\.trackName) == ["mic", "main_video", "main_audio"])
        offer = Fixtures.offer()
        offer.sections[0].port = 0
        offer.sections[0].bundleOnly = true
        offer.sections[0].iceUsernameFragment = nil
        offer.sections[1].iceUsernameFragment = "tagged"
        let (lone, bundleOnly) = try respond(offer)
        #expect(lone.sections[0].port == 9 && bundleOnly.sections[0].receives && bundleOnly.usernameFragment == "tagged")
        offer.sections[1].mid = "0"
        #expect(throws: NegotiationError.repeatedMid("0")) { try respond(offer) }
    }

    @Test("SDP-11 mids are opaque tokens of any length and come back as they were sent")
    func mids() throws {
        var offer = Fixtures.offer()
        let names = ["main_video_0123456789", "a", "+#$", "zz", "data-channel"]
        for index in offer.sections.indices { offer.sections[index].mid = names[index] }
        offer.bundleGroups = [names]
        let (answer, session) = try respond(offer)
        #expect(answer.sections.compactMap(\.mid) == names && answer.bundleGroups == [names])
        #expect(session.sections.map(\.mid) == Array(names.prefix(4)))
    }

    // MARK: Formats

    @Test("SDP-12 formats keep the offer's numbers, joined by number; 64 to 95 are never taken")
    func numbers() throws {
        let text = """
            v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE v\r\na=fingerprint:sha-256 \(Fixtures.hash(32))
            m=video 9 UDP/TLS/RTP/SAVPF 80 81 35 36 100 101 45\r\na=mid:v\r\na=rtcp-mux\r\na=setup:actpass
            a=ice-ufrag:abcd\r\na=ice-pwd:0123456789abcdefghijkl\r\na=fmtp:36 apt=35\r\na=fmtp:100 profile-id=2\r\na=fmtp:101 apt=100
            a=rtpmap:80 VP8/90000\r\na=rtpmap:81 rtx/90000\r\na=fmtp:81 apt=80\r\na=rtpmap:36 rtx/90000\r\na=rtpmap:35 VP8/90000
            a=rtpmap:100 VP9/90000\r\na=rtpmap:101 rtx/90000\r\na=rtpmap:45 AV1/90000\r\na=rtcp-fb:* nack pli\r\na=rtcp-fb:35 nack
            a=rtcp-fb:* x-unknown
            """
        let (answer, session) = try respond(SessionDescription(parsing: text))
        let section = answer.sections[0]
        #expect(section.formats == ["35", "36"])
        #expect(section.codecs[0].feedback == ["nack", "nack pli"] && section.codecs[1].parameter("apt") == "35")
        #expect(session.sections[0].videoCodecs == [35: .vp8] && session.sections[0].rtxPayloadTypes == [36: 35])
        #expect(session.sections[0].usesNACK && session.sections[0].usesPLI && !session.sections[0].usesFIR)
        #expect(!session.sections[0].usesReducedSizeRTCP && !section.rtcpReducedSize)
    }

    @Test("our order of codecs counts, and only extensions of both kinds of ends in one-byte ids are taken")
    func preferences() throws {
        let vp9 = RTPCodec(payloadType: 98, name: "vp9", clockRate: 90_000)
        var offer = videoOffer([vp8, vp9])
        offer.sections[0].headerExtensions = [
            SDPHeaderExtension(id: 3, uri: HeaderExtensionURI.mid), SDPHeaderExtension(id: 5, uri: "urn:unknown"),
            SDPHeaderExtension(id: 20, uri: HeaderExtensionURI.absoluteSendTime),
            SDPHeaderExtension(id: 6, uri: HeaderExtensionURI.transportSequenceNumber, direction: "recvonly"),
        ]
        let (answer, session) = try respond(offer)
        #expect(answer.sections[0].codecs.map(\.payloadType) == [98, 120] && session.sections[0].preferredPayloadType == 98)
        #expect(answer.sections[0].codecs[0].parameters == nil)
        #expect(answer.sections[0].headerExtensions == [SDPHeaderExtension(id: 3, uri: HeaderExtensionURI.mid)])
        #expect(!session.sections[0].usesTransportFeedback)
        var other = Self.configuration
        other.videoCodecs = [.vp8]
        #expect(try respond(offer, other).answer.sections[0].formats == ["120"])
    }

    @Test("SDP-15 what an answer sends carries one stream id, never -, and one CNAME; its SSRCs are not the offer's")
    func sources() throws {
        let offer = Fixtures.offer()
        let (answer, _) = try respond(offer)
        let sending = [answer.sections[2], answer.sections[3]]
        #expect(sending.allSatisfy { $0.mediaStreamIDs.count == 1 && $0.mediaStreamIDs[0].hasPrefix("far-stream track-") })
        #expect(sending.flatMap(\.sources).allSatisfy { $0.name == "cname" && $0.value == "far-cname" })
        #expect(answer.sections[0].sources.isEmpty && answer.sections[1].mediaStreamIDs.isEmpty)
        let theirs = Set(offer.sections.flatMap { $0.sources.map(\.ssrc) })
        #expect(theirs.isDisjoint(with: sending.flatMap { $0.sources.map(\.ssrc) }))
    }

    @Test(
        "AUD-03 two channels are announced when wanted, and sent when the peer wants them too",
        arguments: [("stereo=1", 2, 2), ("sprop-stereo=1", 2, 1), ("minptime=10", 2, 1), ("minptime=10; stereo=1;sprop-stereo=1", 1, 1)])
    func stereo(parameters: String, channels: Int, sent: Int) throws {
        let track = TrackDeclaration(name: "sound", kind: .audio, direction: .sendonly, isTwoWay: true, channels: channels)
        let configuration = OfferConfiguration(tracks: [track], cname: "c")
        var offer = Fixtures.offer(configuration)
        #expect((offer.sections[0].codecs[0].parameter("stereo") == "1") == (channels == 2))
        #expect((offer.sections[0].codecs[0].parameter("sprop-stereo") == "1") == (channels == 2))
        offer.sections[0].codecs[0].parameters = parameters
        let (answer, session) = try respond(offer, configuration)
        #expect((answer.sections[0].codecs[0].parameter("stereo") == "1") == (channels == 2))
        #expect(answer.sections[0].codecs[0].parameter("useinbandfec") == "1")
        #expect(session.sections[0].audioChannels == sent)
    }

    @Test("our session attributes are answered only in a version that both speak, the flag for mixed extensions only when it came")
    func attributes() throws {
        var offer = Fixtures.offer()
        offer.attributes = [
            SDPAttribute(name: "x-reactor-frame-metadata", value: "2"), SDPAttribute(name: "x-reactor-dc-chunking", value: "2"),
        ]
        let (answer, session) = try respond(offer)
        #expect(answer.attributes.map(\.name) == ["msid-semantic"])
        #expect(!session.usesFrameMetadata && session.chunkingPeerMaxBytes == nil)
    }

    // MARK: Other stacks

    @Test(
        "offers of other stacks give an answer that reads back and fits its offer, or a typed error",
        .enabled(if: NegotiationFixtures.hasCaptures, "shared/ is absent"))
    func corpora() throws {
        let both = [
            TrackDeclaration(name: "v", kind: .video, direction: .sendonly, isTwoWay: true),
            TrackDeclaration(name: "a", kind: .audio, direction: .sendonly, isTwoWay: true),
        ]
        let captures = ["sdk-1.13-offer.sdp", "aiortc-minimal-offer.sdp"].compactMap(Fixtures.capture)
        var outcomes = (answers: 0, errors: 0)
        for text in Fixtures.corpora + captures {
            guard let offer = try? SessionDescription(parsing: text) else { continue }
            do throws(NegotiationError) {
                let (answer, session) = try respond(offer, OfferConfiguration(tracks: both, cname: "c"))
                guard let back = try? SessionDescription(parsing: answer.write()) else {
                    Issue.record("an answer of ours does not read back")
                    continue
                }
                #expect(back.sections.map(\.kind) == offer.sections.map(\.kind))
                #expect(back.sections.map(\.mid) == offer.sections.map(\.mid))
                #expect(back.sections.contains { !$0.isRejected } && !session.fingerprints.isEmpty)
                #expect(zip(back.sections, offer.sections).allSatisfy { $0.isRejected || !$1.isRejected })
                #expect(zip(back.sections, offer.sections).allSatisfy { Set($0.formats).isSubset(of: Set($1.formats + ["5000", "0"])) })
                outcomes.answers += 1
            } catch {
                #expect(!error.message.isEmpty)
                outcomes.errors += 1
            }
        }
        #expect(outcomes.answers > 2 && outcomes.errors > 0)
    }
}
