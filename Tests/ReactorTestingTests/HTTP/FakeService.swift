import ReactorCore
import Synchronization

@testable import ReactorTesting

/// A runtime without media: the session machine of wire-protocol 3.1 as far as the routes can see it, with a model that knows
/// the command `set_effect`.
final class FakeService: RuntimeService {
    enum State: String { case ready, waiting, streaming, orphaned, closing }

    static let sessionID = "00000000-0000-0000-0000-000000000000"

    struct Values {
        var state = State.ready
        var applied: Int?
        var answers: [Int: String] = [:]
        var failed: Set<Int> = []
        var candidates: [IceCandidatesBody.Candidate] = []
        var offers: [OfferRequest] = []
        var starts: [StartRequest] = []
        var stops: [String] = []
        var isHealthy = true
    }

    let values = Mutex(Values())
    /// Awaited by `startSession`; for requests that take long.
    let gate: (@Sendable () async -> Void)?

    init(gate: (@Sendable () async -> Void)? = nil) { self.gate = gate }

    func startSession(sessionID: String?) async throws(RouteFailure) -> WireValue {
        try await startSession(StartRequest(sessionID: sessionID))
    }

    func startSession(_ request: StartRequest) async throws(RouteFailure) -> WireValue {
        await gate?()
        let failure: RouteFailure? = values.withLock { values in
            guard values.state == .ready else { return RouteFailure(409, "cannot start session while \(values.state.rawValue)") }
            if let index = request.startingCommands.firstIndex(where: { $0.name != "set_effect" }) {
                let name = request.startingCommands[index].name
                return RouteFailure(400, "starting_input.commands[\(index)] is refused: \(name): unknown command")
            }
            values.state = .waiting
            values.applied = request.hasStartingInput ? request.startingCommands.count : nil
            values.starts.append(request)
            return nil
        }
        if let failure { throw failure }
        return await descriptor()
    }

    func descriptor() async -> WireValue {
        let (state, applied) = values.withLock { ($0.state, $0.applied) }
        let webrtc = WireValue.object(["protocol": "webrtc", "version": "1.0"])
        let tracks: [WireValue] = [
            ("webcam", "video", "sendonly"), ("mic", "audio", "sendonly"), ("main_video", "video", "recvonly"),
            ("main_audio", "audio", "recvonly"),
        ].map { .object(["name": .string($0.0), "kind": .string($0.1), "direction": .string($0.2)]) }
        var object: [String: WireValue] = [
            "session_id": .string(Self.sessionID), "state": .string(state.rawValue), "cluster": "local", "model": .object(["name": "echo"]),
            "server_info": .object(["server_version": "3.10.0"]), "selected_transport": webrtc, "transports": .list([webrtc]),
            "recording": .object(["enabled": .bool(true), "chunk_seconds": .number(4)]), "step_results": .object(["enabled": .bool(false)]),
            "generation": "streamed",
            "capabilities": .object(["protocol_version": "v0", "tracks": .list(tracks), "commands": .list([])]),
        ]
        if let applied { object["starting_input"] = .object(["applied": .number(Double(applied))]) }
        return .object(object)
    }

    func stopSession(moderates: Bool, reason: String) async throws(RouteFailure) {
        let failure: RouteFailure? = values.withLock { values in
            guard values.state != .ready else { return RouteFailure(409, "cannot stop session while ready") }
            values.state = .ready
            values.applied = nil
            values.stops.append("\(moderates) \(reason)")
            return nil
        }
        if let failure { throw failure }
    }

    func schema() async throws(RouteFailure) -> WireValue { .object(["openapi": "3.1.0"]) }

    func requireSession(_ id: String) async throws(RouteFailure) {
        guard values.withLock({ $0.state != .ready }) else { throw RouteFailure(400, "No session running") }
        guard id == Self.sessionID else { throw RouteFailure(404, "Unknown session") }
    }

    func iceServers() async -> WireValue {
        .object(["ice_servers": .list([.object(["uris": .list(["stun:stun.l.google.com:19302"])])])])
    }

    func registerConnection() async throws(RouteFailure) -> WireValue {
        func track(_ kind: String, _ direction: String, _ rate: Double) -> WireValue {
            .object(["kind": .string(kind), "direction": .string(direction), "rate": .number(rate)])
        }
        return .object([
            "connection_id": .number(8706),
            "track_map": .object([
                "webcam": track("video", "in", 0), "mic": track("audio", "in", 48000), "main_video": track("video", "out", 0),
                "main_audio": track("audio", "out", 48000),
            ]),
        ])
    }

    func offer(_ request: OfferRequest, connection: Int) async throws(RouteFailure) {
        values.withLock { values in
            values.offers.append(request)
            if request.sdp == "fails" {
                values.failed.insert(connection)
            } else {
                values.answers[connection] = "v=0\r\nanswer to \(request.sdp)"
            }
        }
    }

    func answer(connection: Int) async throws(RouteFailure) -> String? {
        let (answer, failed) = values.withLock { ($0.answers[connection], $0.failed.contains(connection)) }
        if failed { throw RouteFailure(400, "The offer cannot be answered") }
        return answer
    }

    func addCandidates(_ candidates: [IceCandidatesBody.Candidate], isFinal: Bool, connection: Int) async throws(RouteFailure) {
        values.withLock { $0.candidates += candidates }
    }

    func health() async -> (isHealthy: Bool, state: String, detail: String?) {
        let isHealthy = values.withLock { $0.isHealthy }
        return (isHealthy, isHealthy ? "available" : "terminated", isHealthy ? nil : "the model failed")
    }

    func metrics() async -> [MetricSample] {
        [MetricSample(name: "fake_things_total", help: "Things.", kind: .counter, labels: ["kind": "a\"b"], value: 3)]
    }
}

/// Recordings whose ids are known, each with one init segment and one chunk.
final class FakeRecordings: RecordingSource {
    static let id = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
    let ready: Bool
    let chunk: [UInt8]

    init(ready: Bool = false, chunk: [UInt8] = []) {
        self.ready = ready
        self.chunk = chunk
    }

    func playlist(recording: String, start: Double, end: Double) -> PlaylistAnswer {
        guard recording == Self.id else { return .unknown }
        return ready ? .ready("#EXTM3U\n# \(start) \(end)\n") : .notReady(retryAfterSeconds: 2)
    }

    func segment(recording: String, name: String) -> SegmentAnswer {
        guard recording == Self.id else { return .unknownRecording }
        guard ready, name == "init.mp4" || name == "chunk_00000.m4s" else { return .noSuchSegment }
        return .bytes(chunk, isInit: name == "init.mp4")
    }
}

/// The parts of one server, stopped at the end.
struct TestRuntime {
    let service: FakeService
    let uploads: UploadStore
    let events: EventLog
    let http: RuntimeHTTP

    var port: Int { http.port }

    static func with(
        service: FakeService = FakeService(), recordings: any RecordingSource = FakeRecordings(), uploads: UploadStore = UploadStore(),
        events: EventLog = EventLog(), limits: HTTPServerLimits = HTTPServerLimits(), interceptor: RuntimeHTTP.Interceptor? = nil,
        _ body: (TestRuntime) async throws -> Void
    ) async throws {
        let http = try RuntimeHTTP(
            service: service, recordings: recordings, uploads: uploads, events: events, limits: limits, interceptor: interceptor)
        let runtime = TestRuntime(service: service, uploads: uploads, events: events, http: http)
        do {
            try await body(runtime)
        } catch {
            await http.stop()
            throw error
        }
        await http.stop()
    }
}
