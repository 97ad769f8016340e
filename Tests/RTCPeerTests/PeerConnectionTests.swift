import PeerTestSupport
import RTCBase
import RTCPeer
import RTCWire
import Testing

/// Connecting, and every way a connection ends.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct PeerConnectionTests {
    @Test(
        "DTLS-04 connects in either DTLS role; ICE, DTLS and both channels are reported in order",
        arguments: [MediaSection.Setup.active, .passive])
    func connects(_ setup: MediaSection.Setup) async throws {
        var options = AnsweringCore.Options()
        options.setup = setup
        let call = try await PeerCall(options: options)
        #expect(await call.waitUntilOpen())
        #expect(call.events.names == ["ice", "dtls", "open data", "open control"])
        #expect(call.applied.receivedTracks.map(\.track) == ["main_video", "main_audio"])
        #expect(call.applied.receivedTracks.map(\.mid) == ["0", "1"])
        #expect(call.applied.rejectedTracks.isEmpty)
        let statistics = await call.connection.statistics
        #expect(statistics.isConnected)
        #expect(statistics.srtpProfile != nil)
        #expect(statistics.localCandidateType == "host" || statistics.localCandidateType == "prflx")
        await call.end()
    }

    @Test("wire §5.2 the first message arrives before anything else, right behind the OPEN of its channel")
    func firstMessage() async throws {
        let call = try await PeerCall()
        #expect(await eventually { await !call.peer.run { $0.messages }.isEmpty })
        let first = await call.peer.run { $0.messages.first }
        #expect(first == AnsweringCore.Message(channel: "control", bytes: [0x10, 0x03, 0x52, 0x00]))
        await call.end()
    }

    @Test("a rejected section is told with a reason, and the others live")
    func rejectedTrack() async throws {
        var options = AnsweringCore.Options()
        options.rejectedMids = [PeerCall.videoMid]
        let call = try await PeerCall(options: options)
        #expect(call.applied.rejectedTracks.map(\.track) == ["main_video"])
        #expect(call.applied.receivedTracks.map(\.track) == ["main_audio"])
        #expect(await call.waitUntilOpen())
        await call.end()
    }

    @Test("an answer that cannot be read or does not fit is a typed error")
    func badAnswers() async throws {
        let unreadable = await #expect(throws: PeerError.self) { _ = try await PeerCall(edit: { _ in "nonsense" }) }
        #expect(unreadable?.kind == .malformedDescription)
        // SDP-04
        let unbundled = await #expect(throws: PeerError.self) {
            _ = try await PeerCall(edit: { $0.replacing("a=group:BUNDLE 0 1 2 3\r\n", with: "") })
        }
        #expect(unbundled?.kind == .negotiation)
        let credentials = await #expect(throws: PeerError.self) {
            _ = try await PeerCall(edit: { $0.replacing(#/a=ice-pwd:\S+/#, with: "a=ice-pwd:\u{7}aaaaaaaaaaaaaaaaaaaaaaaaaaa") })
        }
        #expect(credentials?.kind == .negotiation)
    }

    @Test("ICE-12 candidates of the answer are used although ours trickle; ICE-19 a relay policy without a relay is typed")
    func relayPolicy() async throws {
        let error = await #expect(throws: PeerError.self) { _ = try await PeerCall(configure: { $0.relayOnly = true }) }
        #expect(error?.kind == .configuration)
    }

    // MARK: Ends

    @Test("DTLS-06 close_notify of the peer ends the connection within a second, as closed by the peer, once")
    func closeNotify() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        let began = NetworkThread.now()
        await call.peer.run { $0.sayGoodbye() }
        #expect(await eventually { !call.events.losses.isEmpty })
        let loss = try #require(call.events.losses.first)
        #expect(loss.loss.cause == .closedByPeer)
        #expect(loss.time.milliseconds(since: began) < 1000)
        #expect(call.events.losses.count == 1)
        await call.end()
    }

    @Test("an abort of the SCTP association ends the connection as closed by the peer")
    func abort() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        await call.peer.run { $0.abortAssociation() }
        #expect(await eventually { call.events.losses.first?.loss.cause == .closedByPeer })
        await call.end()
    }

    @Test("DTLS-08 our close says close_notify and does not wait for an answer")
    func ourClose() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        let began = NetworkThread.now()
        await call.connection.close()
        #expect(NetworkThread.now().milliseconds(since: began) < 1000)
        #expect(await eventually(within: 1) { await call.peer.run { $0.sawCloseNotify } })
        let count = call.events.all.count
        await call.end()
        // Nothing is reported after close().
        #expect(call.events.all.count == count)
        #expect(call.events.losses.isEmpty)
    }

    @Test("releasing the connection closes it: the peer hears close_notify")
    func release() async throws {
        let peer: AnsweringPeer
        do {
            let call = try await PeerCall()
            try #require(await call.waitUntilOpen())
            peer = call.peer
        }
        #expect(await eventually(within: 1) { await peer.run { $0.sawCloseNotify } })
        await peer.close()
    }

    @Test("a certificate other than the announced one ends the connection before any key or media is used")
    func fingerprintMismatch() async throws {
        var options = AnsweringCore.Options()
        options.liesAboutFingerprint = true
        options.earlyFrame = try TestVideo().next()?.frame
        let call = try await PeerCall(options: options)
        #expect(await eventually { !call.events.losses.isEmpty })
        let loss = try #require(call.events.losses.first?.loss)
        #expect(loss.cause == .transport)
        #expect(loss.message.contains("fingerprint"))
        #expect(!call.events.names.contains("dtls"))
        #expect(try call.video.counts.received == 0)
        await call.end()
    }

    @Test("a peer whose sockets are gone is noticed by its host's refusals, well before silence would be")
    func refused() async throws {
        let call = try await PeerCall(configure: { $0.silenceLimitMilliseconds = 30_000 })
        try #require(await call.waitUntilOpen())
        let began = NetworkThread.now()
        await call.peer.run { $0.goSilent() }
        await call.peer.close()
        #expect(await eventually(within: 10) { !call.events.losses.isEmpty })
        let loss = try #require(call.events.losses.first)
        #expect(loss.loss.cause == .refused)
        #expect(loss.time.milliseconds(since: began) < 5000)
        await call.end()
    }

    @Test("silence ends the connection at its limit")
    func silence() async throws {
        let call = try await PeerCall(configure: { $0.silenceLimitMilliseconds = 1000 })
        try #require(await call.waitUntilOpen())
        let began = NetworkThread.now()
        await call.peer.run { $0.goSilent() }
        #expect(await eventually(within: 6) { !call.events.losses.isEmpty })
        let loss = try #require(call.events.losses.first)
        #expect(loss.loss.cause == .silence)
        #expect((500...4000).contains(loss.time.milliseconds(since: began)))
        await call.end()
    }

    @Test("ICE-07 an outage of three seconds is survived, and its end noticed at once, also on an idle connection")
    func outage() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        await call.peer.run { $0.goSilent() }
        // Time itself is the input here; nothing happens in it.
        try await Task.sleep(for: .seconds(3))
        let before = await call.connection.statistics.packetsReceived
        await call.peer.run { $0.speakAgain() }
        // The next answer comes with the next half-second tick, not when the heartbeats' timer that backed off comes round.
        #expect(await eventually(within: 1) { await call.connection.statistics.packetsReceived > before })
        #expect(call.events.losses.isEmpty)
        try await call.connection.send([1], channel: "data")
        #expect(await eventually { await call.peer.run { $0.messages.last?.bytes == [1] } })
        await call.end()
    }

    @Test("DC-12 channels closed by the peer are reported, refuse calls, and end the connection when none is left")
    func channelsClosed() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        await call.peer.run { $0.closeChannel("data") }
        #expect(await eventually(within: 1) { call.events.names.contains("close data") })
        #expect(await eventually(within: 1) { await call.peer.run { $0.closedLabels == ["data"] } })
        let refused = await #expect(throws: PeerError.self) { try await call.connection.send([1], channel: "data") }
        #expect(refused?.kind == .invalidState)
        try await call.connection.send([2], channel: "control")
        #expect(await eventually { await call.peer.run { $0.messages.last?.bytes == [2] } })
        #expect(call.events.losses.isEmpty)
        await call.peer.run { $0.closeChannel("control") }
        #expect(await eventually(within: 1) { call.events.losses.first?.loss.cause == .closedByPeer })
        await call.end()
    }

    @Test("LEAK-01, ICE-14, SW-06 50 connections while packets fly: descriptors and threads return to where they were")
    func cycles() async throws {
        func cycle() async throws {
            let call = try await PeerCall()
            #expect(await call.waitUntilOpen())
            let video = try TestVideo()
            let tone = try TestTone()
            await call.peer.run {
                $0.startVideo(mid: PeerCall.videoMid, video, everyMilliseconds: 5)
                $0.startAudio(mid: PeerCall.audioMid, tone)
            }
            let consumer = try call.video.addVideoConsumer()
            #expect(await consumer.next() != nil)
            await call.end()
        }
        for _ in 0..<5 { try await cycle() }
        #expect(await eventually { ProcessResources.threadCount > 0 })
        let descriptors = ProcessResources.descriptorCount
        let threads = ProcessResources.threadCount
        for _ in 0..<50 { try await cycle() }
        #expect(await eventually { ProcessResources.descriptorCount <= descriptors + 2 })
        #expect(await eventually { ProcessResources.threadCount <= threads + 2 })
    }
}
