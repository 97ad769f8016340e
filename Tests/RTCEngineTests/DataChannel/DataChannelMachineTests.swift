import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire
import Testing

/// Two machines, each with the messages and resets on their way to the other.
private struct Pair {
    var server: DataChannelMachine
    var client: DataChannelMachine
    var fromServer = DataChannelMachine.Outputs()
    var fromClient = DataChannelMachine.Outputs()
    var serverEvents: [DataChannelEvent] = []
    var clientEvents: [DataChannelEvent] = []
    var wire: [SCTPSend] = []

    init(maxMessageBytes: Int = 262_144, chunking: ChunkLimits? = nil) {
        server = DataChannelMachine(isDTLSClient: false, maxOutgoingMessageBytes: maxMessageBytes, chunking: chunking)
        client = DataChannelMachine(isDTLSClient: true, maxOutgoingMessageBytes: maxMessageBytes, chunking: chunking)
    }

    mutating func associationUp() {
        server.associationUp(into: &fromServer)
        client.associationUp(into: &fromClient)
    }

    /// Delivers until nobody has anything to say.
    mutating func settle() {
        repeat {
            serverEvents += fromServer.events
            clientEvents += fromClient.events
            let (toClient, toServer) = (fromServer, fromClient)
            fromServer.removeAll()
            fromClient.removeAll()
            wire += toClient.sends + toServer.sends
            for message in toClient.sends {
                client.handleMessage(stream: message.stream, ppid: message.ppid, bytes: message.bytes.span.bytes, into: &fromClient)
            }
            if !toClient.resets.isEmpty { client.handleIncomingReset(streams: toClient.resets, into: &fromClient) }
            for message in toServer.sends {
                server.handleMessage(stream: message.stream, ppid: message.ppid, bytes: message.bytes.span.bytes, into: &fromServer)
            }
            if !toServer.resets.isEmpty { server.handleIncomingReset(streams: toServer.resets, into: &fromServer) }
        } while !fromServer.isQuiet || !fromClient.isQuiet
    }
}

extension DataChannelMachine.Outputs {
    fileprivate var isQuiet: Bool { sends.isEmpty && resets.isEmpty && events.isEmpty }
}

private func open(_ machine: inout DataChannelMachine, _ stream: UInt16, into outputs: inout DataChannelMachine.Outputs, type: UInt8 = 0) {
    let message = DCEPMessage.open(channelType: type, priority: 0, reliability: 0, label: "x", protocolName: "")
    machine.handleMessage(stream: stream, ppid: 50, bytes: message.bytes.span.bytes, into: &outputs)
}

@Suite("DataChannelMachine")
struct DataChannelMachineTests {
    @Test("channels opened before the association come up in order, on the ids of our DTLS role (RFC 8832 §6)", arguments: [true, false])
    func identifiers(isDTLSClient: Bool) throws {
        var machine = DataChannelMachine(isDTLSClient: isDTLSClient, maxOutgoingMessageBytes: 1000)
        var outputs = DataChannelMachine.Outputs()
        let data = try #require(machine.openChannel(label: "data", into: &outputs))
        let control = try #require(machine.openChannel(label: "control", into: &outputs))
        #expect(outputs.sends.isEmpty)
        #expect([data.stream, control.stream] == (isDTLSClient ? [0, 2] : [1, 3]))
        machine.associationUp(into: &outputs)
        #expect(outputs.sends.map(\.stream) == [data.stream, control.stream])
        #expect(outputs.sends.allSatisfy { $0.ppid == 50 && $0.isOrdered && $0.reliability == .reliable })
    }

    @Test("a channel is opened by its acknowledgement, on both ends, and messages arrive before and after it")
    func exchange() throws {
        var pair = Pair()
        let id = try #require(pair.server.openChannel(label: "data", into: &pair.fromServer))
        try pair.server.send(id, bytes: [1, 2], isText: false, into: &pair.fromServer)
        pair.associationUp()
        try pair.server.send(id, bytes: Array("hi".utf8), isText: true, into: &pair.fromServer)
        pair.settle()
        #expect(pair.serverEvents == [.opened(id, label: "data")])
        let remote = ChannelID(stream: 1, generation: 1)
        #expect(
            pair.clientEvents == [
                .opened(remote, label: "data"), .message(remote, isText: false, bytes: [1, 2]),
                .message(remote, isText: true, bytes: Array("hi".utf8)),
            ])
        try pair.client.send(remote, bytes: [9], isText: false, into: &pair.fromClient)
        pair.settle()
        #expect(pair.serverEvents.last == .message(id, isText: false, bytes: [9]))
    }

    @Test("DC-06 empty messages go as one zero byte of their own kind and arrive empty", arguments: [(true, UInt32(56)), (false, 57)])
    func empty(isText: Bool, ppid: UInt32) throws {
        var pair = Pair()
        let id = try #require(pair.server.openChannel(label: "data", into: &pair.fromServer))
        pair.associationUp()
        try pair.server.send(id, bytes: [], isText: isText, into: &pair.fromServer)
        let sent = try #require(pair.fromServer.sends.last)
        #expect(sent.ppid == ppid)
        #expect(sent.bytes == [0])
        pair.settle()
        #expect(pair.clientEvents.last == .message(ChannelID(stream: 1, generation: 1), isText: isText, bytes: []))
    }

    @Test(
        "DC-08 the OPEN tells order and reliability",
        arguments: [
            (true, ChannelReliability.reliable, UInt8(0x00), UInt32(0)), (false, .reliable, 0x80, 0),
            (true, .maxRetransmits(3), 0x01, 3), (false, .maxRetransmits(0), 0x81, 0),
            (true, .maxLifetimeMilliseconds(7), 0x02, 7), (false, .maxLifetimeMilliseconds(100), 0x82, 100),
        ])
    func channelTypes(isOrdered: Bool, reliability: ChannelReliability, type: UInt8, parameter: UInt32) throws {
        var machine = DataChannelMachine(isDTLSClient: false, maxOutgoingMessageBytes: 1000)
        var outputs = DataChannelMachine.Outputs()
        machine.associationUp(into: &outputs)
        _ = machine.openChannel(label: "c", isOrdered: isOrdered, reliability: reliability, into: &outputs)
        let bytes = outputs.sends[0].bytes
        let message = try DCEPMessage(parsing: bytes.span.bytes)
        guard case .open(let sentType, _, let sentParameter, let label, _) = message else {
            Issue.record("not an OPEN")
            return
        }
        #expect(sentType == type)
        #expect(sentParameter == parameter)
        #expect(label == "c")
    }

    @Test("DC-10 an OPEN on the lowest and the highest stream is acknowledged there; 65535 is refused", arguments: [true, false])
    func streamBounds(isDTLSClient: Bool) {
        var machine = DataChannelMachine(isDTLSClient: isDTLSClient, maxOutgoingMessageBytes: 1000)
        var outputs = DataChannelMachine.Outputs()
        machine.associationUp(into: &outputs)
        let streams: [UInt16] = isDTLSClient ? [1, 65_533] : [0, 65_534]
        for stream in streams { open(&machine, stream, into: &outputs) }
        #expect(outputs.sends.map(\.stream) == streams)
        #expect(outputs.sends.allSatisfy { $0.bytes == [2] && $0.ppid == 50 })
        #expect(outputs.events.count == 2)
        open(&machine, 65_535, into: &outputs)
        #expect(outputs.sends.count == 2)
        #expect(outputs.resets.isEmpty)
        #expect(outputs.drops[.malformedDataChannel] == 1)
    }

    @Test("a bad OPEN resets its own stream and leaves the others alone (RFC 8832 §6)")
    func badOpen() throws {
        var pair = Pair()
        let id = try #require(pair.server.openChannel(label: "data", into: &pair.fromServer))
        pair.associationUp()
        pair.settle()
        open(&pair.server, 3, into: &pair.fromServer)  // our own parity
        open(&pair.server, 4, into: &pair.fromServer, type: 0x40)
        pair.server.handleMessage(stream: 6, ppid: 50, bytes: [UInt8(3), 0, 0].span.bytes, into: &pair.fromServer)
        #expect(pair.fromServer.resets == [3, 4, 6])
        #expect(pair.fromServer.sends.isEmpty)
        #expect(pair.fromServer.drops[.malformedDataChannel] == 3)
        pair.fromServer.removeAll()
        open(&pair.server, 8, into: &pair.fromServer)
        open(&pair.server, 8, into: &pair.fromServer)
        #expect(pair.fromServer.resets == [8])
        pair.fromServer.removeAll()
        try pair.server.send(id, bytes: [1], isText: false, into: &pair.fromServer)
        #expect(pair.fromServer.sends.count == 1)
    }

    @Test("DC-11 what the peer sends right behind its OPEN is delivered in order")
    func earlyMessages() {
        var machine = DataChannelMachine(isDTLSClient: false, maxOutgoingMessageBytes: 1000)
        var outputs = DataChannelMachine.Outputs()
        machine.associationUp(into: &outputs)
        open(&machine, 0, into: &outputs)
        for number in 1...3 as ClosedRange<UInt8> {
            machine.handleMessage(stream: 0, ppid: 53, bytes: [number].span.bytes, into: &outputs)
        }
        let id = ChannelID(stream: 0, generation: 1)
        #expect(outputs.events == [.opened(id, label: "x")] + (1...3).map { .message(id, isText: false, bytes: [$0]) })
    }

    @Test("DC-12 a close resets both directions and both ends report it", arguments: [true, false])
    func close(serverCloses: Bool) throws {
        var pair = Pair()
        let id = try #require(pair.server.openChannel(label: "data", into: &pair.fromServer))
        pair.associationUp()
        pair.settle()
        let remote = ChannelID(stream: id.stream, generation: 1)
        if serverCloses { pair.server.close(id, into: &pair.fromServer) } else { pair.client.close(remote, into: &pair.fromClient) }
        #expect(throws: DataChannelError.notOpen) {
            if serverCloses {
                try pair.server.send(id, bytes: [1], isText: false, into: &pair.fromServer)
            } else {
                try pair.client.send(remote, bytes: [1], isText: false, into: &pair.fromClient)
            }
        }
        pair.settle()
        #expect(pair.serverEvents.filter { $0 == .closed(id) }.count == 1)
        #expect(pair.clientEvents.filter { $0 == .closed(remote) }.count == 1)
        #expect(pair.server.openChannelCount == 0 && pair.client.openChannelCount == 0)
        let next = try #require(pair.server.openChannel(label: "again", into: &pair.fromServer))
        #expect(next.stream != id.stream)
    }

    @Test("both ends close at the same time, and a reset of everything closes everything")
    func simultaneousClose() throws {
        var pair = Pair()
        let first = try #require(pair.server.openChannel(label: "a", into: &pair.fromServer))
        _ = pair.server.openChannel(label: "b", into: &pair.fromServer)
        pair.associationUp()
        pair.settle()
        pair.server.close(first, into: &pair.fromServer)
        pair.client.close(ChannelID(stream: first.stream, generation: 1), into: &pair.fromClient)
        pair.settle()
        #expect(pair.server.openChannelCount == 1 && pair.client.openChannelCount == 1)
        pair.server.handleIncomingReset(streams: [], into: &pair.fromServer)
        pair.settle()
        #expect(pair.server.openChannelCount == 0 && pair.client.openChannelCount == 0)
    }

    @Test("DC-20 each channel keeps its own properties, the peer's included")
    func properties() throws {
        var pair = Pair()
        let reliable = try #require(pair.server.openChannel(label: "r", into: &pair.fromServer))
        let loose = try #require(
            pair.server.openChannel(label: "u", isOrdered: false, reliability: .maxRetransmits(0), into: &pair.fromServer))
        pair.associationUp()
        // Before the acknowledgement nothing may overtake the OPEN.
        try pair.server.send(loose, bytes: [1], isText: false, into: &pair.fromServer)
        #expect(pair.fromServer.sends.last?.isOrdered == true)
        pair.settle()
        pair.wire = []
        for (number, id) in [reliable, loose, reliable].enumerated() {
            try pair.server.send(id, bytes: [UInt8(number)], isText: false, into: &pair.fromServer)
        }
        try pair.client.send(ChannelID(stream: loose.stream, generation: 2), bytes: [7], isText: false, into: &pair.fromClient)
        pair.settle()
        #expect(pair.wire.map(\.isOrdered) == [true, false, true, false])
        #expect(pair.wire.map(\.reliability) == [.reliable, .maxRetransmits(0), .reliable, .maxRetransmits(0)])
    }

    @Test("data that overtakes the acknowledgement opens the channel once")
    func overtaking() throws {
        var machine = DataChannelMachine(isDTLSClient: false, maxOutgoingMessageBytes: 1000)
        var outputs = DataChannelMachine.Outputs()
        let id = try #require(machine.openChannel(label: "u", isOrdered: false, into: &outputs))
        machine.associationUp(into: &outputs)
        machine.handleMessage(stream: id.stream, ppid: 51, bytes: [UInt8(65)].span.bytes, into: &outputs)
        machine.handleMessage(stream: id.stream, ppid: 50, bytes: [UInt8(2)].span.bytes, into: &outputs)
        #expect(outputs.events == [.opened(id, label: "u"), .message(id, isText: true, bytes: [65])])
        try machine.send(id, bytes: [1], isText: false, into: &outputs)
        #expect(outputs.sends.last?.isOrdered == false)
    }

    @Test("DC-04 up to the peer's limit goes, beyond is a typed error and the channel lives", arguments: [65_535, 65_536, 262_144])
    func limits(limit: Int) throws {
        var pair = Pair(maxMessageBytes: limit)
        let id = try #require(pair.server.openChannel(label: "data", into: &pair.fromServer))
        pair.associationUp()
        pair.settle()
        #expect(throws: DataChannelError.messageTooLarge(limitBytes: limit)) {
            try pair.server.send(id, bytes: [UInt8](repeating: 1, count: limit + 1), isText: false, into: &pair.fromServer)
        }
        for size in [65_535, 65_536, 262_144] where size <= limit {
            try pair.server.send(id, bytes: [UInt8](repeating: 2, count: size), isText: false, into: &pair.fromServer)
        }
        pair.settle()
        let sizes = pair.clientEvents.compactMap { if case .message(_, _, let bytes) = $0 { bytes.count } else { nil } }
        #expect(sizes == [65_535, 65_536, 262_144].filter { $0 <= limit })
    }

    @Test("deprecated partial messages are joined; too large ones are dropped and counted")
    func partialMessages() {
        var machine = DataChannelMachine(isDTLSClient: false, maxOutgoingMessageBytes: 1000)
        var outputs = DataChannelMachine.Outputs()
        machine.associationUp(into: &outputs)
        open(&machine, 0, into: &outputs)
        outputs.removeAll()
        for (ppid, text) in [(54, "ab"), (54, "c"), (51, "d")] as [(UInt32, String)] {
            machine.handleMessage(stream: 0, ppid: ppid, bytes: Array(text.utf8).span.bytes, into: &outputs)
        }
        let id = ChannelID(stream: 0, generation: 1)
        #expect(outputs.events == [.message(id, isText: true, bytes: Array("abcd".utf8))])
        outputs.removeAll()
        let block = [UInt8](repeating: 0, count: 100_000)
        for _ in 0..<100 { machine.handleMessage(stream: 0, ppid: 52, bytes: block.span.bytes, into: &outputs) }
        machine.handleMessage(stream: 0, ppid: 53, bytes: block.span.bytes, into: &outputs)
        machine.handleMessage(stream: 0, ppid: 53, bytes: [UInt8(5)].span.bytes, into: &outputs)
        #expect(outputs.events == [.message(id, isText: false, bytes: [5])])
        #expect(outputs.drops[.messageTooLarge] == 1)
    }

    @Test("unknown payload kinds and streams are counted and change nothing")
    func unknown() {
        var machine = DataChannelMachine(isDTLSClient: false, maxOutgoingMessageBytes: 1000)
        var outputs = DataChannelMachine.Outputs()
        machine.associationUp(into: &outputs)
        machine.handleMessage(stream: 5, ppid: 53, bytes: [UInt8(1)].span.bytes, into: &outputs)
        machine.handleMessage(stream: 5, ppid: 99, bytes: [UInt8(1)].span.bytes, into: &outputs)
        machine.handleMessage(stream: 5, ppid: 50, bytes: [UInt8(2)].span.bytes, into: &outputs)
        machine.handleIncomingReset(streams: [5, 6], into: &outputs)
        #expect(outputs.events.isEmpty && outputs.sends.isEmpty && outputs.resets.isEmpty)
        #expect(outputs.drops[.unknownChannel] == 2 && outputs.drops[.malformedDataChannel] == 1)
    }

    @Test("the end of the association closes every channel once and opens no more")
    func associationEnd() throws {
        var machine = DataChannelMachine(isDTLSClient: false, maxOutgoingMessageBytes: 1000)
        var outputs = DataChannelMachine.Outputs()
        let ids = try ["a", "b"].map { try #require(machine.openChannel(label: $0, into: &outputs)) }
        machine.associationClosed(into: &outputs)
        machine.associationClosed(into: &outputs)
        #expect(outputs.events == ids.map { .closed($0) })
        #expect(machine.openChannel(label: "c", into: &outputs) == nil)
        #expect(throws: DataChannelError.notOpen) { try machine.send(ids[0], bytes: [], isText: false, into: &outputs) }
    }

    @Test("arbitrary messages and resets neither trap nor grow without bound", arguments: 1...4 as ClosedRange<UInt64>)
    func arbitrary(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let chunking = seed % 2 == 0 ? ChunkLimits(ownMaxBytes: 500, peerMaxBytes: 500) : nil
        var machine = DataChannelMachine(isDTLSClient: seed > 2, maxOutgoingMessageBytes: 1000, chunking: chunking)
        var outputs = DataChannelMachine.Outputs()
        _ = machine.openChannel(label: "data", into: &outputs)
        machine.associationUp(into: &outputs)
        for _ in 0..<20_000 {
            let stream = UInt16.random(in: 0...3_000, using: &generator)
            var bytes = (0..<Int.random(in: 0...30, using: &generator)).map { _ in UInt8.random(in: 0...3, using: &generator) }
            switch Int.random(in: 0...9, using: &generator) {
            case 0: machine.handleIncomingReset(streams: [stream, stream &+ 1], into: &outputs)
            case 1...4:
                bytes =
                    DCEPMessage.open(
                        channelType: UInt8.random(in: 0...3, using: &generator), priority: 0, reliability: 9, label: "l", protocolName: ""
                    ).bytes
                machine.handleMessage(stream: stream, ppid: 50, bytes: bytes.span.bytes, into: &outputs)
            default:
                let ppid = UInt32.random(in: 49...58, using: &generator)
                machine.handleMessage(stream: stream % 8, ppid: ppid, bytes: bytes.span.bytes, into: &outputs)
            }
            outputs.removeAll()
        }
        #expect(machine.openChannelCount <= 1024, "seed \(seed)")
    }

    @Test("what waits for the association is bounded")
    func waitingBound() throws {
        var machine = DataChannelMachine(isDTLSClient: false, maxOutgoingMessageBytes: 262_144)
        var outputs = DataChannelMachine.Outputs()
        let id = try #require(machine.openChannel(label: "a", into: &outputs))
        #expect(throws: DataChannelError.queueFull) {
            for _ in 0..<10_000 { try machine.send(id, bytes: [1], isText: false, into: &outputs) }
        }
        machine.associationUp(into: &outputs)
        #expect(outputs.sends.count == 257)
    }
}

@Suite("DataChannelMachine, chunked")
struct ChunkedDataChannelTests {
    private let limits = ChunkLimits(ownMaxBytes: 1_000_000, peerMaxBytes: 700_000)

    @Test("messages of any size up to the peer's limit arrive whole", arguments: [0, 1, 65_535, 65_536, 700_000])
    func sizes(size: Int) throws {
        var pair = Pair(chunking: limits)
        let id = try #require(pair.server.openChannel(label: "data", into: &pair.fromServer))
        pair.associationUp()
        pair.settle()
        pair.wire = []
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try pair.server.send(id, bytes: bytes, isText: true, into: &pair.fromServer)
        pair.settle()
        #expect(pair.clientEvents.last == .message(ChannelID(stream: 1, generation: 1), isText: true, bytes: bytes))
        #expect(pair.wire.allSatisfy { $0.ppid == 53 && $0.bytes.count <= 65_536 })
        #expect(throws: DataChannelError.messageTooLarge(limitBytes: 700_000)) {
            try pair.server.send(id, bytes: [UInt8](repeating: 0, count: 700_001), isText: true, into: &pair.fromServer)
        }
    }

    @Test("a frame never exceeds the peer's SCTP message size")
    func smallFrames() throws {
        var pair = Pair(maxMessageBytes: 1_000, chunking: limits)
        let id = try #require(pair.server.openChannel(label: "data", into: &pair.fromServer))
        pair.associationUp()
        pair.settle()
        pair.wire = []
        try pair.server.send(id, bytes: [UInt8](repeating: 4, count: 2_500), isText: false, into: &pair.fromServer)
        pair.settle()
        #expect(pair.wire.map(\.bytes.count) == [1_000, 1_000, 503])
    }

    @Test(
        "a violation of the framing closes that channel only",
        arguments: [(51, [0x00]), (53, [0x04, 1]), (53, []), (57, [0])] as [(UInt32, [UInt8])])
    func violations(ppid: UInt32, bytes: [UInt8]) throws {
        var pair = Pair(chunking: limits)
        let bad = try #require(pair.server.openChannel(label: "data", into: &pair.fromServer))
        let good = try #require(pair.server.openChannel(label: "control", into: &pair.fromServer))
        pair.associationUp()
        pair.settle()
        pair.server.handleMessage(stream: bad.stream, ppid: ppid, bytes: bytes.span.bytes, into: &pair.fromServer)
        #expect(pair.fromServer.resets == [bad.stream])
        pair.settle()
        #expect(pair.serverEvents.last == .closed(bad))
        try pair.server.send(good, bytes: [1], isText: false, into: &pair.fromServer)
        pair.settle()
        #expect(pair.clientEvents.last == .message(ChannelID(stream: good.stream, generation: 2), isText: false, bytes: [1]))
    }

    @Test("a message beyond our own limit is discarded and counted, the channel goes on")
    func oversize() throws {
        var machine = DataChannelMachine(
            isDTLSClient: false, maxOutgoingMessageBytes: 1_000, chunking: ChunkLimits(ownMaxBytes: 10, peerMaxBytes: 10))
        var outputs = DataChannelMachine.Outputs()
        machine.associationUp(into: &outputs)
        open(&machine, 0, into: &outputs)
        outputs.removeAll()
        for frame in ChunkSplitter.frames(of: [UInt8](repeating: 1, count: 30).span.bytes, isText: false, frameBytes: 9) {
            machine.handleMessage(stream: 0, ppid: 53, bytes: frame.span.bytes, into: &outputs)
        }
        machine.handleMessage(stream: 0, ppid: 53, bytes: [UInt8(0), 9].span.bytes, into: &outputs)
        #expect(outputs.events == [.message(ChannelID(stream: 0, generation: 1), isText: false, bytes: [9])])
        #expect(outputs.drops[.messageTooLarge] == 1)
    }

    @Test("unfinished messages on many channels are bounded together")
    func manyChannels() {
        let limits = ChunkLimits(ownMaxBytes: 1_000_000, peerMaxBytes: 1_000_000)
        var machine = DataChannelMachine(isDTLSClient: false, maxOutgoingMessageBytes: 1_000, chunking: limits)
        var outputs = DataChannelMachine.Outputs()
        machine.associationUp(into: &outputs)
        let frame = [0x01] + [UInt8](repeating: 0, count: 65_535)
        for stream in stride(from: 0, to: 200, by: 2) as StrideTo<UInt16> {
            open(&machine, stream, into: &outputs)
            for _ in 0..<10 { machine.handleMessage(stream: stream, ppid: 53, bytes: frame.span.bytes, into: &outputs) }
        }
        #expect(outputs.resets.count > 85)
        #expect(outputs.drops[.messageTooLarge] == UInt64(outputs.resets.count))
    }

    @Test("unordered or unreliable channels are not chunked")
    func otherChannels() throws {
        var pair = Pair(chunking: limits)
        let id = try #require(pair.server.openChannel(label: "u", isOrdered: false, into: &pair.fromServer))
        pair.associationUp()
        pair.settle()
        try pair.server.send(id, bytes: [0xFF], isText: true, into: &pair.fromServer)
        #expect(pair.fromServer.sends.last?.bytes == [0xFF])
        #expect(pair.fromServer.sends.last?.ppid == 51)
    }
}
