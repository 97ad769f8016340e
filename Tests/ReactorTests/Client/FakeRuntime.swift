import Foundation
import PeerTestSupport
import RTCBase
import RTCEngine
import ReactorCore
import Synchronization
import Testing

@testable import Reactor

/// A runtime for tests: the HTTP routes of wire protocol §2 and §3 in front of answering peers, and a model that knows a few
/// commands. One session at a time.
///
/// Commands: `echo` replies with its data, `ack` acknowledges, `refuse` is refused, `silent` gets no reply, `hold` is
/// answered in reverse order by `release`, `broadcast` sends a message to nobody in particular, `notice` a platform message,
/// `late` is answered by `release` as well, under its old id.
final class FakeRuntime: Sendable {
    struct Options: Sendable {
        var isLocal = true
        var peer = AnsweringCore.Options()
        /// Answers in place of the routes; nil leaves it to them. Runs on a thread of the server.
        var override: (@Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]?)?
        var offersMedia = true
        var mediaIntervalMilliseconds: Int64 = 10
        /// Sent on the data channel when the client's first frame arrives.
        var greeting: [AnsweringCore.Message] = []
        /// Declares a second track that the client sends, `mic`.
        var hasMicrophone = false
        /// What a request for a clip (its seconds) or a recording (nil) is answered; nil says nothing.
        var clip: @Sendable (Double?) -> ControlServerPayload? = { _ in nil }
        /// Says nothing to requests for the schema.
        var keepsSchema = false

        init() {}
    }

    static let localID = "00000000-0000-0000-0000-000000000000"
    static let hostedID = "5e551011-0000-4000-8000-00000000000a"

    let server: ScriptedServer
    let brain: Brain

    init(_ configure: (inout Options) -> Void = { _ in }) throws {
        var options = Options()
        configure(&options)
        let brain = Brain(options)
        self.brain = brain
        server = try ScriptedServer { request in brain.steps(for: request) }
    }

    deinit { server.stop() }

    var sessionID: String { brain.options.isLocal ? Self.localID : Self.hostedID }

    func client(
        tokens: (any TokenProvider)? = nil, eventQueue: DispatchQueue? = nil, configure: (inout ReactorConfiguration) -> Void = { _ in }
    ) throws -> Reactor {
        var configuration = ReactorConfiguration()
        configuration.apiURL = server.url
        configuration.local = brain.options.isLocal
        configuration.eventQueue = eventQueue
        configure(&configuration)
        if let tokens { return try Reactor(model: "owner/model", tokenProvider: AnyTokens(base: tokens), configuration: configuration) }
        return try Reactor(model: "owner/model", configuration: configuration)
    }

    /// The far end of the latest connection.
    var peer: AnsweringPeer {
        get throws {
            guard let peer = brain.peers.last else { throw CancellationError() }
            return peer
        }
    }

    /// `METHOD last-two-path-parts` of every request that is not a poll or a candidate.
    var calls: [String] {
        server.requests.compactMap { request in
            let name = request.path.split(separator: "/").suffix(1).joined()
            if name == "ice_candidates" || (request.method == "GET" && name == "sdp_params") { return nil }
            return "\(request.method) \(name)"
        }
    }

    func count(_ call: String) -> Int { calls.count { $0 == call } }

    var endCount: Int { brain.options.isLocal ? count("POST stop_session") : count("DELETE \(Self.hostedID)") }

    /// What came on the control channel, without fields: "ping", "resume main_video", …
    var control: [String] { brain.control }

    /// The same without pings and resumes.
    var publishing: [String] { control.filter { $0.contains("publish") } }

    /// The mid of a track in the latest offer.
    func mid(_ track: String) throws -> String {
        guard let mid = brain.mid(track) else { throw CancellationError() }
        return mid
    }

    private struct AnyTokens: TokenProvider {
        let base: any TokenProvider
        func token(for model: String, sessionID: String?) async throws -> String {
            try await base.token(for: model, sessionID: sessionID)
        }
    }
}

/// The runtime's state; reached from the server's threads and the network thread.
final class Brain: Sendable {
    private struct State {
        var isLive = false
        var answer: String?
        var mids: [String: String] = [:]
        var peers: [AnsweringPeer] = []
        var control: [String] = []
        var held: [(id: String, isLate: Bool)] = []
        var hasGreeted = false
        var publishing = PublishAnswer.byRule
        /// Slots that are held, as the vendor's runtime sees it: they stay over a reconnect (wire protocol §6.4).
        var slots: Set<String> = []
    }

    /// What a claim of a slot is answered.
    enum PublishAnswer: Sendable {
        /// Granted unless the slot is held, by whomever.
        case byRule
        case refusal
        case silence
        /// A reply that is none to this request.
        case nonsense
    }

    let options: FakeRuntime.Options
    private let state = Mutex(State())

    init(_ options: FakeRuntime.Options) { self.options = options }

    var peers: [AnsweringPeer] { state.withLock { $0.peers } }
    var control: [String] { state.withLock { $0.control } }
    var isLive: Bool { state.withLock { $0.isLive } }
    var slots: Set<String> { state.withLock { $0.slots } }
    func mid(_ track: String) -> String? { state.withLock { $0.mids[track] } }
    func answerPublish(_ answer: PublishAnswer) { state.withLock { $0.publishing = answer } }

    // MARK: HTTP

    func steps(for request: ScriptedServer.Request) -> [ScriptedServer.Step] {
        if let steps = options.override?(request) { return steps }
        return route(request)
    }

    func route(_ request: ScriptedServer.Request) -> [ScriptedServer.Step] {
        let parts = request.path.split(separator: "/").map(String.init)
        switch (request.method, parts.last) {
        case ("POST", "start_session"), ("POST", "sessions"):
            let wasLive = state.withLock { state in
                defer { state.isLive = true }
                // A claim of the session before may have come after its end.
                if !state.isLive { state.slots = [] }
                return state.isLive
            }
            return wasLive ? [.reply(409, #"{"detail":"Session already running"}"#)] : [.reply(200, descriptor)]
        case ("GET", "session"), ("GET", FakeRuntime.hostedID): return [.reply(200, descriptor)]
        case ("POST", "stop_session"), ("DELETE", _):
            state.withLock { state in
                state.isLive = false
                state.slots = []
            }
            return [.reply(200, "{}")]
        case ("GET", "ice_servers") where !isLive: return [.reply(400, #"{"detail":"No session running"}"#)]
        case ("GET", "ice_servers"): return [.reply(200, #"{"ice_servers":[]}"#)]
        case ("POST", "connections"): return [.reply(201, #"{"connection_id":5001}"#)]
        case ("POST", "sdp_params"), ("PUT", "sdp_params"): return negotiate(request)
        case ("GET", "sdp_params"):
            let answer = state.withLock { $0.answer.take() }
            guard let answer, let body = try? JSONSerialization.data(withJSONObject: ["sdp_answer": answer, "connection_id": 5001])
            else { return [.reply(202)] }
            return [.reply(200, bytes: Array(body))]
        case ("POST", "ice_candidates"):
            let lines = (json(request)["candidates"] as? [[String: Any]] ?? []).compactMap { $0["candidate"] as? String }
            peers.last?.post { $0.addCandidates(lines) }
            return [.reply(202)]
        default: return [.reply(404, #"{"detail":"Not Found"}"#)]
        }
    }

    private func negotiate(_ request: ScriptedServer.Request) -> [ScriptedServer.Step] {
        let body = json(request)
        guard let offer = body["sdp_offer"] as? String, let mapping = body["track_mapping"] as? [[String: Any]] else {
            return [.reply(422)]
        }
        var peerOptions = options.peer
        peerOptions.respond = { [weak self] message in self?.respond(message) ?? [] }
        guard let peer = try? AnsweringPeer(offer: offer, options: peerOptions) else { return [.reply(500)] }
        state.withLock { state in
            for entry in mapping {
                if let name = entry["name"] as? String, let mid = entry["mid"] as? String { state.mids[name] = mid }
            }
            state.peers.append(peer)
            state.answer = peer.answer
        }
        return [.reply(202, #"{"connection_id":5001}"#)]
    }

    private func json(_ request: ScriptedServer.Request) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any] ?? [:]
    }

    private var descriptor: String {
        """
        {"session_id":"\(options.isLocal ? FakeRuntime.localID : FakeRuntime.hostedID)","state":"waiting",
        "selected_transport":{"protocol":"webrtc","version":"1.0"},
        "capabilities":{"protocol_version":"v0","commands":[],"tracks":[
        {"name":"webcam","kind":"video","direction":"sendonly"},\(microphone){"name":"main_video","kind":"video","direction":"recvonly"},
        {"name":"depth","kind":"video","direction":"recvonly"},{"name":"main_audio","kind":"audio","direction":"recvonly"}]}}
        """
    }

    private var microphone: String { options.hasMicrophone ? #"{"name":"mic","kind":"audio","direction":"sendonly"},"# : "" }

    // MARK: Channels

    private func respond(_ message: AnsweringCore.Message) -> [AnsweringCore.Message] {
        let greeting = state.withLock { state in
            defer { state.hasGreeted = true }
            return state.hasGreeted ? [] : options.greeting
        }
        do {
            let replies = message.channel == "data" ? try command(message.bytes) : try notice(message.bytes)
            return greeting + replies
        } catch {
            return greeting
        }
    }

    private func command(_ bytes: [UInt8]) throws -> [AnsweringCore.Message] {
        let request = try DataClientMessage(parsing: bytes)
        guard case .command(let command)? = request.payload else { return [] }
        func data(_ message: DataServerMessage) throws -> AnsweringCore.Message {
            AnsweringCore.Message(channel: "data", bytes: try message.encode())
        }
        func reply(_ id: String, _ payload: DataServerPayload?) throws -> AnsweringCore.Message {
            try data(DataServerMessage(requestID: id, kind: .response, payload: payload))
        }
        switch command.type {
        case "echo": return [try reply(request.requestID, .message(ModelMessage(type: "echo", data: .object(command.data))))]
        case "ack": return [try reply(request.requestID, nil)]
        case "refuse": return [try reply(request.requestID, .error(ErrorMessage(code: "invalid_command", message: "no such thing")))]
        case "hold", "late":
            state.withLock { $0.held.append((request.requestID, command.type == "late")) }
            return []
        case "release":
            let held = state.withLock { state in
                defer { state.held = [] }
                return state.held.reversed()
            }
            let replies = try held.map { entry in
                let text = WireValue.object(["id": .string(entry.id)])
                return try reply(entry.id, .message(ModelMessage(type: entry.isLate ? "late" : "held", data: text)))
            }
            return replies + [try reply(request.requestID, nil)]
        case "broadcast":
            let event = DataServerMessage(kind: .notification, payload: .message(ModelMessage(type: "news", data: .object(command.data))))
            return [try data(event), try reply(request.requestID, nil)]
        case "notice":
            let notice = ControlServerMessage(kind: .notification, payload: .sessionEnded(reason: "maintenance"))
            return [
                AnsweringCore.Message(channel: "control", bytes: try notice.encode()), try reply(request.requestID, nil),
            ]
        case "garbage":
            return [
                AnsweringCore.Message(channel: "data", bytes: [0xFF, 0xFF, 0xFF]),
                AnsweringCore.Message(channel: "control", bytes: [0x0A, 0x7F]),
                try reply(request.requestID, nil),
            ]
        default: return []
        }
    }

    private func notice(_ bytes: [UInt8]) throws -> [AnsweringCore.Message] {
        let message = try ControlClientMessage(parsing: bytes)
        let text: String
        switch message.payload {
        case .ping?: text = "ping"
        case .resumeTrack(let name)?:
            text = "resume \(name)"
            setMedia(name, isOn: true)
        case .pauseTrack(let name)?:
            text = "pause \(name)"
            setMedia(name, isOn: false)
        case .requestSchema?: text = "schema"
        case .publishTrack(let name)?: text = "publish \(name)"
        case .unpublishTrack(let name)?:
            text = "unpublish \(name)"
            state.withLock { _ = $0.slots.remove(name) }
        case .fileUploaded(let file)?: text = "uploaded \(file.uploadID) \(file.name) \(file.mimeType) \(file.size)"
        case .requestClip(let seconds)?: text = "clip \(seconds)"
        case .requestRecording?: text = "recording"
        default: text = "other"
        }
        state.withLock { $0.control.append(text) }
        let reply: ControlServerPayload? =
            switch message.payload {
            case .requestSchema? where options.keepsSchema: nil
            case .requestSchema?: .modelSchema(.object(["openapi": .string("3.1.0")]))
            case .publishTrack(let name)?: answer(claimOf: name)
            case .requestClip(let seconds)?: options.clip(seconds)
            case .requestRecording?: options.clip(nil)
            default: nil
            }
        guard let reply else { return [] }
        let response = ControlServerMessage(requestID: message.requestID, kind: .response, payload: reply)
        return [AnsweringCore.Message(channel: "control", bytes: try response.encode())]
    }

    private func answer(claimOf name: String) -> ControlServerPayload? {
        state.withLock { state in
            switch state.publishing {
            case .byRule where state.slots.insert(name).inserted:
                // The name is empty, as the vendor's runtime leaves it.
                return .publishTrack(name: "")
            case .byRule, .refusal: return .error(ErrorMessage(code: "publish_refused", message: "track already published"))
            case .silence: return nil
            case .nonsense: return .modelSchema(.object([:]))
            }
        }
    }

    private func setMedia(_ name: String, isOn: Bool) {
        guard options.offersMedia else { return }
        let (peer, mid) = state.withLock { ($0.peers.last, $0.mids[name]) }
        guard let peer, let mid else { return }
        let interval = options.mediaIntervalMilliseconds
        peer.post { core in
            guard isOn else { return core.stopMedia(mid: mid) }
            if name.hasSuffix("audio") {
                if let tone = try? TestTone() { core.startAudio(mid: mid, tone) }
            } else if let video = try? TestVideo(width: name == "depth" ? 32 : 64, height: 48, carriesMetadata: name != "depth") {
                core.startVideo(mid: mid, video, everyMilliseconds: interval)
            }
        }
    }
}

/// What a client's handlers and streams saw, in order.
final class Trace: Sendable {
    private let entries = Mutex<[String]>([])
    private let subscriptions: Mutex<[Subscription]> = Mutex([])

    init(_ client: Reactor) {
        let made = [
            client.onStatus { [weak self] in self?.add($0.rawValue) },
            client.onError { [weak self] in self?.add("error \($0.code.rawValue)") },
        ]
        subscriptions.withLock { $0 = made }
    }

    private func add(_ text: String) { entries.withLock { $0.append(text) } }

    var all: [String] { entries.withLock { $0 } }
    func clear() { entries.withLock { $0 = [] } }
}

/// What a call throws. Whatever it is about, an error names the call and says more than its code.
func failure(_ body: () async throws -> some Any, sourceLocation: SourceLocation = #_sourceLocation) async -> ReactorError? {
    do {
        _ = try await body()
        return nil
    } catch {
        guard let error = error as? ReactorError else { return nil }
        #expect(error.operation?.isEmpty == false, "\(error)", sourceLocation: sourceLocation)
        #expect(error.message.split(separator: " ").count >= 4, "\(error)", sourceLocation: sourceLocation)
        return error
    }
}
