import PeerTestSupport
import RTCBase
import RTCPeer
import Synchronization
import Testing

@testable import ReactorTesting

/// Two connections over loopback, one of them behind a shaped path.
@Suite("NetworkPath", .serialized, .timeLimit(.minutes(2)))
struct NetworkPathTests {
    @Test("Loss: its counts are those of the receiver, and retransmission repairs pictures")
    func loss() async throws {
        let call = try await ShapedCall(NetworkConditions(loss: 0.05, seed: 3))
        #expect(await call.isOpen)
        let watching = Task { await call.countPictures() }
        #expect(await call.push { call.shaper.statistics.toClients.lost >= 30 })
        let inbound = try #require(await call.client.statistics.inbound.first)
        watching.cancel()
        let statistics = call.shaper.statistics
        let share = Double(statistics.toClients.lost) / Double(statistics.toClients.lost + statistics.toClients.passed)
        #expect((0.025...0.085).contains(share))
        #expect(inbound.nackCount > 0 && inbound.retransmittedPackets > 0)
        #expect(await watching.value > 100)
        await call.end()
    }

    @Test("Delay: a round trip takes both directions' worth")
    func delay() async throws {
        let call = try await ShapedCall(NetworkConditions(delay: .milliseconds(40)))
        #expect(await call.isOpen)
        #expect(await call.push { await call.client.statistics.roundTripNanoseconds ?? 0 >= 80_000_000 })
        let begin = NetworkThread.now()
        try await call.client.send([1], channel: "data")
        #expect(await eventually { call.messages == [1] })
        #expect(NetworkThread.now().milliseconds(since: begin) >= 40)
        await call.end()
    }

    @Test("Rate: a message takes its time, and takes less from the moment the rate is lifted")
    func rate() async throws {
        let call = try await ShapedCall(NetworkConditions(bitsPerSecond: 1_000_000))
        #expect(await call.isOpen)
        let begin = NetworkThread.now()
        try await call.client.send([UInt8](repeating: 7, count: 125_000), channel: "data")
        #expect(await eventually { call.messages == [125_000] })
        #expect(NetworkThread.now().milliseconds(since: begin) >= 1000)

        call.shaper.set(NetworkConditions(bitsPerSecond: 20_000))
        try await call.client.send([UInt8](repeating: 7, count: 125_000), channel: "data")
        #expect(!(await eventually(within: 0.3) { call.messages.count == 2 }))
        call.shaper.set(.perfect)
        #expect(await eventually { call.messages == [125_000, 125_000] })
        await call.end()
    }

    @Test("Outages: one at the beginning delays the handshake, one amid a session is survived")
    func outages() async throws {
        let call = try await ShapedCall(NetworkConditions(outages: [.zero..<(.milliseconds(300))]))
        #expect(await call.isOpen)
        let atStart = call.shaper.statistics
        #expect(atStart.toClients.cutOff > 0 && atStart.fromClients.cutOff > 0)

        call.shaper.set(.down)
        try await call.client.send([1, 2], channel: "data")
        #expect(await eventually { call.shaper.statistics.fromClients.lost >= 2 })
        #expect(call.messages.isEmpty)
        call.shaper.set(.perfect)
        #expect(await eventually { call.messages == [2] })
        #expect(call.losses.isEmpty)
        await call.end()
    }

    @Test("Silence: of media, data goes on; of everything, the client finds out by itself")
    func silence() async throws {
        var configuration = PeerConfiguration()
        configuration.silenceLimitMilliseconds = 1000
        let call = try await ShapedCall(.perfect, client: configuration)
        #expect(await call.isOpen)
        #expect(await call.push { await call.client.statistics.inbound.first?.packetsReceived ?? 0 > 0 })
        call.path.setSilence(.media)
        #expect(await call.push { call.shaper.statistics.toClients.silenced > 20 })
        let before = await call.client.statistics.inbound.first?.packetsReceived
        #expect(await call.push { call.shaper.statistics.toClients.silenced > 60 })
        #expect(await call.client.statistics.inbound.first?.packetsReceived == before)
        try await call.client.send([1], channel: "data")
        #expect(await eventually { call.messages == [1] })
        #expect(call.losses.isEmpty)

        call.path.setSilence(.everything)
        #expect(await eventually(within: 20) { call.losses.first?.cause == .silence })
        await call.end()
    }

    @Test("A goodbye leaves before the path ends, in spite of its delay")
    func goodbye() async throws {
        let call = try await ShapedCall(NetworkConditions(delay: .milliseconds(200)))
        #expect(await call.isOpen)
        await call.server.close()
        #expect(await eventually { call.losses.first?.cause == .closedByPeer })
        await call.end()
    }

    @Test("New connections get the conditions of the day, paths go with their connections")
    func lifetime() {
        let shaper = NetworkShaper(.perfect)
        weak let gone = shaper.makePath()
        #expect(gone == nil)
        let path = shaper.makePath()
        shaper.set(.down)
        let next = shaper.makePath()
        let datagram: [UInt8] = [22, 1, 2]
        for path in [path, next] {
            #expect(datagram.withUnsafeBytes { path.take($0, .outgoing, now: NetworkThread.now()) })
        }
        #expect(shaper.statistics.toClients.lost == 2 && shaper.conditions == .down)
    }
}

/// A client that offers, and a server behind a shaped path that sends it pictures.
private final class ShapedCall: Sendable {
    let shaper: NetworkShaper
    let path: NetworkPath
    let client: PeerConnection
    let server: PeerConnection
    private let video = RemoteTrack(name: "video")
    private let camera = RTCPeer.LocalTrack(name: "video", kind: .video)
    private let log = EventLog()

    init(_ conditions: NetworkConditions, client clientConfiguration: PeerConfiguration = PeerConfiguration()) async throws {
        shaper = NetworkShaper(conditions)
        path = shaper.makePath()
        var configuration = PeerConfiguration()
        configuration.channels = []
        configuration.impairment = path
        let log = log
        client = try await PeerConnection(
            configuration: clientConfiguration, tracks: [TrackDeclaration(name: "video", kind: .video, direction: .recvonly)],
            remoteTracks: ["video": video]
        ) { log.add($0, isServer: false) }
        server = try await PeerConnection(
            configuration: configuration, tracks: [TrackDeclaration(name: "video", kind: .video, direction: .sendonly)], remoteTracks: [:],
            localTracks: ["video": camera]
        ) { log.add($0, isServer: true) }
        let answer = try await server.makeAnswer(to: try await client.makeOffer().sdp)
        _ = try await client.apply(answer: answer.sdp)
    }

    /// The channels are open and the server publishes.
    var isOpen: Bool {
        get async {
            guard await eventually(within: 20, { log.channels == ["data", "control"] }) else { return false }
            return (try? await server.setPublishing(true, track: "video")) != nil
        }
    }

    /// Sizes of what came to the server.
    var messages: [Int] { log.messages }
    /// Of the client's connection.
    var losses: [PeerLoss] { log.losses }

    /// Pushes pictures, a hundred a second at most, until `condition` holds.
    func push(until condition: () async -> Bool) async -> Bool {
        var number = 0
        return await eventually(within: 30) {
            number += 1
            let pixels = [UInt8](unsafeUninitializedCapacity: 160 * 90 * 4) { buffer, count in
                for index in 0..<160 * 90 * 4 {
                    buffer[index] = UInt8(truncatingIfNeeded: (index ^ number &* 40_503) &* 2_654_435_761 >> 7)
                }
                count = 160 * 90 * 4
            }
            _ = pixels.withUnsafeBytes { camera.push(bgra: $0, width: 160, height: 90) }
            return await condition()
        }
    }

    /// Until cancelled.
    func countPictures() async -> Int {
        let consumer = video.addVideoConsumer()
        var count = 0
        while await consumer.next() != nil { count += 1 }
        return count
    }

    func end() async {
        await client.close()
        await server.close()
    }

    private final class EventLog: Sendable {
        private struct State {
            var channels: Set<String> = []
            var messages: [Int] = []
            var losses: [PeerLoss] = []
        }
        private let state = Mutex(State())

        var channels: Set<String> { state.withLock { $0.channels } }
        var messages: [Int] { state.withLock { $0.messages } }
        var losses: [PeerLoss] { state.withLock { $0.losses } }

        func add(_ event: PeerEvent, isServer: Bool) {
            state.withLock { state in
                switch event {
                case .channelOpened(let label) where isServer: state.channels.insert(label)
                case .message(_, _, let bytes) where isServer: state.messages.append(bytes.count)
                case .lost(let loss) where !isServer: state.losses.append(loss)
                default: break
                }
            }
        }
    }
}
