import Reactor
import ReactorCore
import Testing

@testable import ReactorTesting

/// Replays every request of the captured matrix: against the routes with a service that behaves as the captured one, where
/// every value has to fit, and against a runtime, where what it decides itself may have other words and numbers.
@Suite("Error matrix", .networkTurn)
struct ErrorMatrixTests {
    /// What we answer otherwise on purpose (wire-protocol 12), with the reason.
    private static let deliberate: [String: (status: Int, reason: String)] = [
        "offer bad direction": (422, "25: a direction that is none is refused, not an internal error")
    ]

    /// The same for a whole runtime.
    private static let runtimeDeliberate: [String: (status: Int, reason: String)] = [
        "offer bad direction": (422, "25: a direction that is none is refused, not an internal error"),
        "start bad cmd": (400, "a starting input is not offered, whatever is in it"),
        "start": (200, "a starting input is not offered, so it is left out of the request and of the descriptor"),
        "session waiting": (200, "the same"),
        "clips after end": (410, "21: of a recording that ended without a picture nothing will ever come"),
    ]

    /// Bodies the capture could not show, because they are not JSON.
    private static let rawBodies: [String: String] = ["bad json": "{bad", "put short": "ab", "put ok": "abc", "put twice": "abc"]

    @Test("every request of the capture gets the captured status, headers and body shape")
    func replay() async throws {
        let cases = try ErrorMatrix.lines.split(separator: "\n").map { try JSONText.parse(Array($0.utf8)) }
        #expect(cases.count == 52)
        // The platform's model has no stepped generation either, so its refusal has the same shape.
        let recordings = FakeRecordings()
        try await TestRuntime.with(recordings: recordings) { runtime in
            let port = runtime.port
            let problems = try await onThread { try Self.replay(cases, port: port, Self.deliberate) }
            #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
        }
    }

    @Test("a runtime gives the same answers, apart from a documented few")
    func replayAgainstRuntime() async throws {
        let cases = try ErrorMatrix.lines.split(separator: "\n").map { try JSONText.parse(Array($0.utf8)) }
        var configuration = LocalRuntime.Configuration()
        configuration.iceServers = [LocalRuntime.ICEServer(urls: ["stun:stun.l.google.com:19302"])]
        let runtime = try await LocalRuntime(model: MatrixModel(), configuration: configuration)
        let port = Int(runtime.apiURL.split(separator: ":").last ?? "") ?? 0
        do {
            let problems = try await onThread {
                try Self.replay(cases, port: port, Self.runtimeDeliberate, withoutStartingInput: true, freely: Self.runtimeFree)
            }
            #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
        } catch {
            await runtime.stop()
            throw error
        }
        await runtime.stop()
    }

    private static func replay(
        _ cases: [WireValue], port: Int, _ deliberate: [String: (status: Int, reason: String)], withoutStartingInput: Bool = false,
        freely: Set<String> = []
    ) throws -> [String] {
        let http = try RawHTTP(port: port)
        var problems: [String] = []
        // Our own upload ids take the place of the captured one.
        let capturedID = "0925a84099344c99920c61f05d6cec5c"
        var uploadID = capturedID
        for entry in cases {
            let name = entry["case"]?.stringValue ?? ""
            guard let request = entry["request"], let response = entry["response"], let method = request["method"]?.stringValue,
                let path = request["path"]?.stringValue, let status = response["status"]?.intValue
            else {
                problems.append("unreadable case \(name)")
                continue
            }
            var body = rawBodies[name]
            if var json = request["body"], !json.isNull {
                if name == "start", withoutStartingInput, var members = json.objectValue {
                    members["starting_input"] = nil
                    json = .object(members)
                }
                body = try JSONText.string(json).replacing(capturedID, with: uploadID)
            }
            let headers = name == "preflight" ? ["Origin: http://page.example", "Access-Control-Request-Method: POST"] : []
            let target = path.replacing(capturedID, with: uploadID)
            let answer =
                try body.map { try http.request(method, target, headers: headers, json: $0) }
                ?? http.request(method, target, headers: headers)
            let ours = answer.body.isEmpty ? WireValue.string("") : (try? JSONText.parse(answer.body)) ?? .string(answer.text)
            if name == "upload ok", let id = ours["presigned_id"]?.stringValue { uploadID = id }
            if let other = deliberate[name] {
                if answer.status != other.status { problems.append("\(name): \(answer.status) instead of \(other.status)") }
                continue
            }
            if answer.status != status { problems.append("\(name): \(answer.status) instead of \(status): \(answer.text)") }
            for (field, value) in response["headers"]?.objectValue ?? [:] {
                let ourValue = answer.headers[field]
                // HEAD is answered on GET routes, so Allow may name more.
                let fits = field == "allow" ? ourValue?.contains(value.stringValue ?? "?") == true : ourValue == value.stringValue
                if !fits { problems.append("\(name): \(field) is \(ourValue ?? "absent")") }
            }
            if answer.headers["access-control-allow-origin"] != "*" { problems.append("\(name): no CORS") }
            if let theirs = response["body"], name != "schema" { compare(theirs, ours, at: name, freeText.union(freely), &problems) }
        }
        return problems
    }

    /// The same members and kinds of values; short texts and numbers have to be equal as well, unless they are ids or prose of ours.
    private static func compare(_ theirs: WireValue, _ ours: WireValue, at place: String, _ free: Set<String>, _ problems: inout [String]) {
        switch (theirs, ours) {
        case _ where free.contains(place): break
        case (.object(let theirs), .object(let ours)):
            if Set(theirs.keys) != Set(ours.keys) { problems.append("\(place): members \(ours.keys.sorted()) for \(theirs.keys.sorted())") }
            for (key, value) in theirs { if let other = ours[key] { compare(value, other, at: "\(place).\(key)", free, &problems) } }
        case (.list(let theirs), .list(let ours)):
            if theirs.count != ours.count { problems.append("\(place): \(ours.count) entries for \(theirs.count)") }
            for (index, pair) in zip(theirs, ours).enumerated() { compare(pair.0, pair.1, at: "\(place)[\(index)]", free, &problems) }
        case _ where theirs != ours: problems.append("\(place): \(ours) for \(theirs)")
        default: break
        }
    }

    private static let freeText: Set<String> = [
        "start stepped unsupported.detail", "upload ok.presigned_id", "upload ok.presigned_url", "upload ok.path",
        "bad json.detail[0].ctx.error", "register no body.connection_id",
    ]

    private static let runtimeFree: Set<String> = [
        "session idle.server_info.server_version", "register.connection_id", "register.track_map.webcam.rate",
        "register.track_map.main_video.rate", "register no body.track_map.webcam.rate", "register no body.track_map.main_video.rate",
    ]
}

/// Declares what the captured model declared.
private struct MatrixModel: LocalModel {
    let name = "echo"
    let tracks = [
        LocalTrack("webcam", kind: .video, direction: .sendonly), LocalTrack("mic", kind: .audio, direction: .sendonly),
        LocalTrack("main_video", kind: .video, direction: .recvonly), LocalTrack("main_audio", kind: .audio, direction: .recvonly),
    ]
    let commands: [LocalCommand]? = [LocalCommand("set_effect")]
}
