import PeerTestSupport
import RTCBase
import RTCPeer
import Testing

/// Messages over the data channels in both framings.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct PeerMessageTests {
    private func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) } }

    private func options(isChunked: Bool) -> AnsweringCore.Options {
        var options = AnsweringCore.Options()
        if !isChunked { options.chunkingMaxBytes = nil }
        return options
    }

    @Test("DC-04, DC-06, wire §5.8 messages of every size and kind arrive whole, in order, both ways", arguments: [false, true])
    func bothWays(isChunked: Bool) async throws {
        let call = try await PeerCall(options: options(isChunked: isChunked))
        try #require(await call.waitUntilOpen())
        var sizes = [0, 1, 65_534, 65_535, 65_536, 131_070, 262_144]
        if isChunked { sizes += [262_145, 1 << 20, 3_000_001] }
        var expected: [AnsweringCore.Message] = []
        for (index, size) in sizes.enumerated() {
            for channel in ["data", "control"] {
                expected.append(AnsweringCore.Message(channel: channel, isText: index % 2 == 1, bytes: pattern(size)))
            }
        }
        for message in expected { try await call.connection.send(message.bytes, isText: message.isText, channel: message.channel) }
        let sent = expected
        for label in ["data", "control"] {
            let wanted = sent.filter { $0.channel == label }
            #expect(
                await eventually(within: 20) {
                    // The ping is the first message on the control channel.
                    await call.peer.run { core in
                        core.messages.filter { $0.channel == label }.dropFirst(label == "control" ? 1 : 0).elementsEqual(wanted)
                    }
                })
        }
        for message in sent { #expect(await call.peer.run { $0.send(message) }) }
        for label in ["data", "control"] {
            let wanted = sent.filter { $0.channel == label }
            #expect(await eventually(within: 20) { call.events.messages.filter { $0.channel == label } == wanted })
        }
        await call.end()
    }

    @Test("DC-04 a message over the peer's limit is a typed error, sends nothing, and the channel stays open", arguments: [false, true])
    func tooLarge(isChunked: Bool) async throws {
        var options = options(isChunked: isChunked)
        if isChunked { options.chunkingMaxBytes = 300_000 }
        let limit = isChunked ? 300_000 : 262_144
        let call = try await PeerCall(options: options)
        try #require(await call.waitUntilOpen())
        let bytes = pattern(limit + 1)
        let error = await #expect(throws: PeerError.self) { try await call.connection.send(bytes, channel: "data") }
        #expect(error?.kind == .messageTooLarge)
        try await call.connection.send(Array(bytes.dropLast()), channel: "data")
        try await call.connection.send([9], channel: "data")
        #expect(
            await eventually(within: 10) {
                await call.peer.run { core in core.messages.filter { $0.channel == "data" }.map(\.bytes.count) == [limit, 1] }
            })
        #expect(call.events.losses.isEmpty)
        await call.end()
    }

    @Test("DC-04 a peer that takes any size still gets a typed error for what one SCTP message cannot carry")
    func unlimitedPeer() async throws {
        var options = options(isChunked: false)
        options.maxMessageSize = 0
        let call = try await PeerCall(options: options)
        try #require(await call.waitUntilOpen())
        let bytes = pattern((1 << 20) + 1)
        let error = await #expect(throws: PeerError.self) { try await call.connection.send(bytes, channel: "data") }
        #expect(error?.kind == .messageTooLarge)
        try await call.connection.send(Array(bytes.dropLast()), channel: "data")
        #expect(await eventually(within: 10) { await call.peer.run { $0.messages.last?.bytes.count == 1 << 20 } })
        await call.end()
    }

    @Test("wire §5.8 frames are no larger than the peer's max-message-size")
    func smallFrames() async throws {
        var options = options(isChunked: true)
        options.maxMessageSize = 16_384
        let call = try await PeerCall(options: options)
        try #require(await call.waitUntilOpen())
        let bytes = pattern(100_000)
        try await call.connection.send(bytes, channel: "data")
        #expect(await eventually { await call.peer.run { $0.messages.last?.bytes == bytes } })
        await call.end()
    }

    @Test("wire §5.8 a broken frame ends the connection with a typed cause; bytes of a peer never trap")
    func brokenFraming() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        await call.peer.run { $0.sendRaw([0xF0, 1, 2], channel: "data") }
        #expect(await eventually { !call.events.losses.isEmpty })
        #expect(call.events.losses.first?.loss.message.contains("framing") == true)
        await call.end()
    }

    @Test("DC-11 messages that come at once behind the opening are delivered in order")
    func earlyMessages() async throws {
        var options = AnsweringCore.Options()
        options.respond = { message in
            message.channel == "control" ? (1...3).map { AnsweringCore.Message(channel: "control", bytes: [$0]) } : []
        }
        let call = try await PeerCall(options: options)
        #expect(await eventually { call.events.messages.map(\.bytes) == [[1], [2], [3]] })
        await call.end()
    }

    @Test("a large message on one channel does not hold up the other")
    func interleaving() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        let large = pattern(16 << 20)
        try await call.connection.send(large, channel: "data")
        try await call.connection.send([7], channel: "control")
        #expect(
            await eventually(within: 30) {
                await call.peer.run { core in core.messages.contains { $0.bytes == [7] } }
            })
        #expect(await call.peer.run { core in !core.messages.contains { $0.channel == "data" } })
        #expect(await eventually(within: 60) { await call.peer.run { $0.messages.last?.bytes.count == 16 << 20 } })
        #expect(await call.peer.run { $0.messages.last?.bytes } == large)
        await call.end()
    }
}
