import Dispatch
import Foundation
import RTCBase
import RTCPeer
import Synchronization

/// One connection between a `PeerConnection` and another stack: video, audio and data both ways, signalling by HTTP as the
/// scripts in `Peers` do it.
final class OtherPeerCall: Sendable {
    /// What came to our side.
    struct Seen: Sendable {
        var counters: [Int] = []
        var unreadable = 0
        var sizes: Set<String> = []
        var agesMilliseconds: [Double] = []
        /// One channel, 48 kHz.
        var samples: [Int16] = []
        var pings = 0
        var pongs = 0
        var openedChannels: [String] = []
        var losses: [PeerLoss] = []
        var remoteCandidateType: String?
        var inbound: PeerStatistics.Inbound?
        var outbound: [PeerStatistics.Outbound] = []
        /// Pictures pushed.
        var pushed = 0
        /// The far end's, as it came.
        var description = ""
    }

    private let connection: PeerConnection
    private let log: Log
    private let role: OtherPeer.Role
    private let video = RemoteTrack(name: "video")
    private let audio = RemoteTrack(name: "audio")
    private let camera = LocalTrack(name: "video", kind: .video)
    private let microphone = LocalTrack(name: "audio", kind: .audio)

    /// Of what we send.
    static let toneHertz = 700.0

    /// Makes the call, watches it for `seconds`, and asks both ends what they saw.
    ///
    /// - Parameter options: more for the peer's script.
    static func run(
        _ peer: OtherPeer, _ role: OtherPeer.Role, codec: VideoCodec = .vp8, seconds: Double = Settings.seconds,
        options: [String] = []
    ) async throws -> (seen: Seen, report: OtherPeerReport) {
        let call = try await OtherPeerCall(role, codec: codec)
        let offer = role == .weOffer ? try await call.connection.makeOffer().sdp : ""
        let server = try FaultServer { request in call.serve(request, offer: offer) }
        let process = try peer.start(role, signalling: server.url + "/", seconds: seconds, codec: codec.rawValue, options: options)
        let watching = Task { await call.watch() }
        let result = await process.finish()
        let statistics = await call.connection.statistics
        watching.cancel()
        server.stop()
        await call.connection.close()
        await watching.value
        var seen = call.log.seen
        seen.remoteCandidateType = statistics.remoteCandidateType
        seen.outbound = statistics.outbound
        seen.inbound = statistics.inbound.first { $0.track == "video" }
        return (seen, try OtherPeerReport(result.output))
    }

    private init(_ role: OtherPeer.Role, codec: VideoCodec) async throws {
        self.role = role
        var configuration = PeerConfiguration()
        configuration.videoCodecs = [codec]
        configuration.channels = role == .weOffer ? ["data"] : []
        configuration.endsWithLastChannel = false
        let log = Log()
        self.log = log
        connection = try await PeerConnection(
            configuration: configuration,
            tracks: [
                TrackDeclaration(name: "video", kind: .video, direction: .sendonly, isTwoWay: true),
                TrackDeclaration(name: "audio", kind: .audio, direction: .sendonly, isTwoWay: true),
            ], remoteTracks: ["video": video, "audio": audio], localTracks: ["video": camera, "audio": microphone]
        ) { log.add($0) }
    }

    // MARK: Signalling

    private func serve(_ request: FaultServer.Request, offer: String) -> FaultServer.Answer {
        if request.method == "GET" { return Self.description("offer", offer) }
        guard let object = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any], let sdp = object["sdp"] as? String
        else { return .status(400) }
        log.describe(sdp)
        // This thread belongs to the request, so it may wait.
        let result = Blocking<FaultServer.Answer>()
        Task { [connection, role] in
            do {
                if role == .weOffer {
                    _ = try await connection.apply(answer: sdp)
                    result.set(.status(204, body: ""))
                } else {
                    result.set(Self.description("answer", try await connection.makeAnswer(to: sdp).sdp))
                }
            } catch {
                result.set(.status(500, body: "\(error)"))
            }
        }
        return result.wait()
    }

    private static func description(_ type: String, _ sdp: String) -> FaultServer.Answer {
        guard let body = try? JSONSerialization.data(withJSONObject: ["type": type, "sdp": sdp]) else { return .status(500) }
        return .status(200, headers: ["Content-Type": "application/json"], body: String(decoding: body, as: UTF8.self))
    }

    // MARK: What comes and goes

    /// Reads pictures and samples, answers pings, sends pings and media of its own, until cancelled.
    private func watch() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in await publish() }
            group.addTask { [log, video] in
                let consumer = video.addVideoConsumer()
                while let picture = await consumer.next() { log.add(picture) }
            }
            group.addTask { [log, audio] in
                let consumer = audio.addAudioConsumer(capacityBlocks: 1000)
                while let block = await consumer.next() { log.add(block) }
            }
            group.addTask { [log, connection] in
                while !Task.isCancelled {
                    for (channel, text) in log.takeReplies() {
                        try? await connection.send(Array(text.utf8), isText: true, channel: channel)
                    }
                    if log.isPingDue { try? await connection.send(Array("ping 1".utf8), isText: true, channel: "data") }
                    try? await Task.sleep(for: .milliseconds(10))
                }
            }
        }
    }

    /// From the moment there are keys, 30 pictures of 640x360 and 50 stretches of a tone a second, from absolute times.
    private func publish() async {
        while !log.isSecured, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
        do {
            try await connection.setPublishing(true, track: "video")
            try await connection.setPublishing(true, track: "audio")
        } catch {
            return
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [camera, log] in
                var pattern = CounterPattern(width: 640, height: 360)
                let begin = ContinuousClock.now
                for number in 0... {
                    try? await Task.sleep(until: begin + .microseconds(number * 33_333), clock: .continuous)
                    if Task.isCancelled { return }
                    _ = pattern.withPicture(number) { camera.push(bgra: $0, width: 640, height: 360) }
                    log.countPushed()
                }
            }
            group.addTask { [microphone] in
                let begin = ContinuousClock.now
                for number in 0... {
                    try? await Task.sleep(until: begin + .milliseconds(number * 20), clock: .continuous)
                    if Task.isCancelled { return }
                    let samples = (0..<960).map { index in
                        Int16(8000 * sin(2 * Double.pi * Self.toneHertz * Double(number * 960 + index) / 48_000))
                    }
                    _ = samples.withUnsafeBufferPointer { microphone.push(samples: $0, sampleRate: 48_000, channels: 1) }
                }
            }
        }
    }
}

/// What the handlers of one call wrote down, on whatever thread.
private final class Log: Sendable {
    private struct State {
        var seen = OtherPeerCall.Seen()
        var replies: [(channel: String, text: String)] = []
        var turns = 0
        var isSecured = false
    }
    private let state = Mutex(State())

    var seen: OtherPeerCall.Seen { state.withLock { $0.seen } }

    var isSecured: Bool { state.withLock { $0.isSecured } }

    func countPushed() { state.withLock { $0.seen.pushed += 1 } }

    func describe(_ sdp: String) { state.withLock { $0.seen.description = sdp } }

    func add(_ event: PeerEvent) {
        state.withLock { state in
            switch event {
            case .dtlsConnected: state.isSecured = true
            case .channelOpened(let label): state.seen.openedChannels.append(label)
            case .lost(let loss): state.seen.losses.append(loss)
            case .message(let channel, true, let bytes):
                let text = String(decoding: bytes, as: UTF8.self)
                if text.hasPrefix("ping ") {
                    state.seen.pings += 1
                    state.replies.append((channel, "pong " + text.dropFirst(5)))
                } else if text.hasPrefix("pong ") {
                    state.seen.pongs += 1
                }
            default: break
            }
        }
    }

    func add(_ picture: DecodedPicture) {
        guard let pixels = picture.bgra()?.buffer else { return }
        let blocks = CounterBlocks(pixels: Data(pixels), width: picture.width, height: picture.height)
        state.withLock { state in
            state.seen.sizes.insert("\(picture.width)x\(picture.height)")
            guard let blocks else { return state.seen.unreadable += 1 }
            state.seen.counters.append(blocks.counter)
            state.seen.agesMilliseconds.append(Double(blocks.ageMilliseconds))
        }
    }

    func add(_ block: PCMBlock) {
        state.withLock { state in
            for index in stride(from: 0, to: block.samples.count, by: max(1, block.channels)) {
                state.seen.samples.append(block.samples[index])
            }
        }
    }

    func takeReplies() -> [(channel: String, text: String)] {
        state.withLock { state in
            defer { state.replies = [] }
            return state.replies
        }
    }

    /// One of twenty times, once a channel is open.
    var isPingDue: Bool {
        state.withLock { state in
            state.turns += 1
            return state.turns % 20 == 0 && !state.seen.openedChannels.isEmpty
        }
    }
}

/// A value that one thread waits for and a task makes.
private final class Blocking<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    func set(_ new: Value) {
        value.withLock { $0 = new }
        semaphore.signal()
    }

    func wait() -> Value {
        while true {
            semaphore.wait()
            if let result = value.withLock({ $0 }) { return result }
        }
    }
}

extension OtherPeerCall.Seen {
    var distinct: Int { Set(counters).count }
    /// The connection did not end before the far end said goodbye.
    var isWhole: Bool { losses.allSatisfy { $0.cause == .closedByPeer } && losses.count <= 1 }
    /// Frame numbers between the first and the last seen that were not seen.
    var missing: [Int] { counters.isEmpty ? [] : Set((counters.min() ?? 0)...(counters.max() ?? 0)).subtracting(counters).sorted() }
    var span: Int { counters.isEmpty ? 0 : (counters.max() ?? 0) - (counters.min() ?? 0) + 1 }
    var share: Double { span == 0 ? 0 : Double(distinct) / Double(span) }

    /// Amplitude of one frequency, 0 to 32767: the median over pieces of 100 ms, the first half second left out.
    func amplitude(of frequency: Double) -> Double {
        let piece = 4800
        let values = stride(from: 24_000, to: samples.count - piece, by: piece).map { start in
            var real = 0.0
            var imaginary = 0.0
            for index in 0..<piece {
                let phase = 2 * Double.pi * frequency * Double(index) / 48_000
                real += Double(samples[start + index]) * cos(phase)
                imaginary += Double(samples[start + index]) * sin(phase)
            }
            return (real * real + imaginary * imaginary).squareRoot() * 2 / Double(piece)
        }
        return Interop.percentile(values, 0.5)
    }
}
