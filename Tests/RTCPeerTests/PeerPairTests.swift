import PeerTestSupport
import RTCBase
import RTCPeer
import RTCWire
import Testing

/// The answering role, with our own end as the peer.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct PeerPairTests {
    private static let nearTracks = [
        TrackDeclaration(name: "webcam", kind: .video, direction: .sendonly),
        TrackDeclaration(name: "main_video", kind: .video, direction: .recvonly),
        TrackDeclaration(name: "main_audio", kind: .audio, direction: .recvonly),
    ]
    private static let farTracks = [
        TrackDeclaration(name: "main_video", kind: .video, direction: .sendonly),
        TrackDeclaration(name: "main_audio", kind: .audio, direction: .sendonly),
        TrackDeclaration(name: "webcam", kind: .video, direction: .recvonly),
        TrackDeclaration(name: "depth", kind: .video, direction: .recvonly),
    ]

    @Test("DTLS-04 an offering and an answering end connect; the answering one is DTLS client and knows the channels by DCEP")
    func connects() async throws {
        let pair = try await PeerPair(tracks: Self.nearTracks, farTracks: Self.farTracks)
        #expect(await pair.waitUntilOpen())
        #expect(pair.offererEvents.names == ["ice", "dtls", "open data", "open control"])
        #expect(pair.answererEvents.names == ["ice", "dtls", "open data", "open control"])
        #expect(pair.answer.receivedTracks.map(\.track) == ["webcam"] && pair.answer.receivedTracks.map(\.mid) == ["0"])
        #expect(pair.answer.sentTracks.map(\.track) == ["main_video", "main_audio"])
        #expect(pair.answer.rejectedTracks.map(\.track) == ["depth"])
        #expect(pair.applied.receivedTracks.map(\.track) == ["main_video", "main_audio"])
        #expect(pair.applied.rejectedTracks.isEmpty)
        let answer = try SessionDescription(parsing: pair.answer.sdp)
        #expect(answer.sections.allSatisfy { $0.setup == .active })
        let (near, far) = (await pair.offerer.statistics, await pair.answerer.statistics)
        #expect(near.isConnected && far.isConnected && near.srtpProfile == far.srtpProfile && far.srtpProfile != nil)
        await pair.end()
    }

    @Test("messages go both ways, each kind and size as it was sent, also on channels that the answering end opened")
    func messages() async throws {
        var answering = PeerPair.silentConfiguration
        answering.channels = ["back"]
        let pair = try await PeerPair(answering: answering)
        try #require(await pair.waitUntilOpen(["data", "control", "back"]))
        let large = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for (channel, isText, bytes) in [
            ("data", true, Array("ping 1".utf8)), ("control", false, []), ("back", true, []), ("data", false, large),
        ] {
            try await pair.offerer.send(bytes, isText: isText, channel: channel)
            try await pair.answerer.send(bytes, isText: isText, channel: channel)
            let message = AnsweringCore.Message(channel: channel, isText: isText, bytes: bytes)
            #expect(await eventually { pair.answererEvents.messages.last == message && pair.offererEvents.messages.last == message })
        }
        #expect(pair.offererEvents.messages.count == 4 && pair.answererEvents.messages.count == 4)
        let error = await #expect(throws: PeerError.self) { try await pair.answerer.send([1], channel: "unknown") }
        #expect(error?.kind == .invalidState)
        await pair.end()
    }

    @Test("DC-04 without chunking 262144 bytes pass in both directions and one more is a typed error")
    func plainMessages() async throws {
        var plain = PeerConfiguration()
        plain.chunkingMaxMessageBytes = nil
        let pair = try await PeerPair(offering: plain)
        try #require(await pair.waitUntilOpen())
        let bytes = [UInt8](repeating: 3, count: 262_144)
        for (connection, log) in [(pair.offerer, pair.answererEvents), (pair.answerer, pair.offererEvents)] {
            try await connection.send(bytes, channel: "data")
            #expect(await eventually { log.messages.last == AnsweringCore.Message(channel: "data", bytes: bytes) })
            let error = await #expect(throws: PeerError.self) { try await connection.send(bytes + [0], channel: "data") }
            #expect(error?.kind == .messageTooLarge)
        }
        await pair.end()
    }

    @Test("both ends open a channel of one name: each hears the other under it")
    func sameLabels() async throws {
        var answering = PeerPair.silentConfiguration
        answering.channels = ["data"]
        let pair = try await PeerPair(answering: answering)
        try #require(await pair.waitUntilOpen())
        try await pair.offerer.send([1], channel: "data")
        try await pair.answerer.send([2], channel: "data")
        #expect(await eventually { pair.answererEvents.messages.map(\.bytes) == [[1]] })
        #expect(await eventually { pair.offererEvents.messages.map(\.bytes) == [[2]] })
        await pair.end()
    }

    @Test("ICE-12 candidates that come before the offer, and others after it, are used")
    func earlyCandidates() async throws {
        let pair = try await PeerPair(editOffer: { $0.splitCandidates.rest }, editAnswer: { $0.splitCandidates.rest }) { answerer, offer in
            await answerer.addRemoteCandidates(offer.splitCandidates.candidates, isLast: true)
        }
        await pair.offerer.addRemoteCandidates(pair.answer.sdp.splitCandidates.candidates)
        #expect(await pair.waitUntilOpen())
        #expect(await pair.answerer.statistics.remoteCandidateType == "host")
        await pair.end()
    }

    @Test(
        "ICE-01 a peer that tells only .local names is reached by its own checks, in either role", arguments: [true, false])
    func mdns(offererHides: Bool) async throws {
        let hide: (String) -> String = { text in
            text.replacing(#/(a=candidate:\S+ \d udp \d+ )\S+/#.ignoresCase()) { "\($0.1)0b0b0b0b-0b0b-0b0b-0b0b-0b0b0b0b0b0b.local" }
        }
        let pair = try await PeerPair(
            editOffer: offererHides ? hide : { $0 }, editAnswer: offererHides ? { $0 } : hide)
        #expect(await pair.waitUntilOpen())
        let blind = offererHides ? pair.answerer : pair.offerer
        #expect(await blind.statistics.remoteCandidateType == "prflx")
        await pair.end()
    }

    @Test("ICE-05 an offer that says ice-lite makes the answering end control; if the other does too, they settle it")
    func bothControl() async throws {
        let pair = try await PeerPair(editOffer: { $0.replacing("\r\nt=0 0\r\n", with: "\r\nt=0 0\r\na=ice-lite\r\n") })
        #expect(await pair.waitUntilOpen())
        await pair.end()
    }

    @Test("a connection without data channels comes up and has none")
    func withoutData() async throws {
        var plain = PeerPair.silentConfiguration
        plain.offersDataChannels = false
        let pair = try await PeerPair(
            tracks: Self.nearTracks, farTracks: Self.farTracks, offering: plain)
        #expect(await eventually { pair.offererEvents.names == ["ice", "dtls"] && pair.answererEvents.names == ["ice", "dtls"] })
        let error = await #expect(throws: PeerError.self) { try await pair.offerer.send([1], channel: "data") }
        #expect(error?.kind == .invalidState)
        await pair.end()
    }

    // MARK: Ends and misuse

    @Test("DTLS-06 closing either end is the other's end within a second", arguments: [true, false])
    func ends(offererCloses: Bool) async throws {
        let pair = try await PeerPair()
        try #require(await pair.waitUntilOpen())
        let log = offererCloses ? pair.answererEvents : pair.offererEvents
        let began = NetworkThread.now()
        await (offererCloses ? pair.offerer : pair.answerer).close()
        #expect(await eventually { log.losses.first?.loss.cause == .closedByPeer })
        #expect(try #require(log.losses.first).time.milliseconds(since: began) < 1000)
        await pair.end()
    }

    @Test("offers that cannot be read or served are typed errors, and a connection has one role, once")
    func misuse() async throws {
        func answerer(_ tracks: [TrackDeclaration] = []) async throws -> PeerConnection {
            try await PeerConnection(configuration: PeerPair.silentConfiguration, tracks: tracks, remoteTracks: [:]) { _ in }
        }
        let unreadable = try await answerer()
        let first = await #expect(throws: PeerError.self) { _ = try await unreadable.makeAnswer(to: "nonsense") }
        #expect(first?.kind == .malformedDescription)
        let pair = try await PeerPair()
        let empty = try await answerer()
        let second = await #expect(throws: PeerError.self) {
            _ = try await empty.makeAnswer(to: pair.offer.sdp.replacing("webrtc-datachannel", with: "other"))
        }
        #expect(second?.kind == .negotiation)
        let again = await #expect(throws: PeerError.self) { _ = try await pair.answerer.makeAnswer(to: pair.offer.sdp) }
        #expect(again?.kind == .invalidState)
        let both = await #expect(throws: PeerError.self) { _ = try await pair.offerer.makeAnswer(to: pair.offer.sdp) }
        #expect(both?.kind == .invalidState)
        let wrongWay = await #expect(throws: PeerError.self) { _ = try await pair.answerer.apply(answer: pair.answer.sdp) }
        #expect(wrongWay?.kind == .invalidState)
        for connection in [unreadable, empty] { await connection.close() }
        await pair.end()
        let closed = await #expect(throws: PeerError.self) { _ = try await pair.answerer.makeAnswer(to: pair.offer.sdp) }
        #expect(closed?.kind == .invalidState)
    }
}
