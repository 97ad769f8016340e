import ReactorCore
import Synchronization
import Testing

@testable import ReactorTesting

@Suite("Runtime routes", .serialized)
struct RuntimeRouteTests {
    private static let base = "/sessions/\(FakeService.sessionID)/transport/webrtc"

    private static func live(_ body: @escaping @Sendable (RawHTTP, FakeService) throws -> Void) async throws {
        let service = FakeService()
        service.values.withLock { $0.state = .waiting }
        try await TestRuntime.with(service: service) { runtime in
            let port = runtime.port
            try await onThread { try body(RawHTTP(port: port), service) }
        }
    }

    /// The entries of a 422 answer, as "type at.the.place".
    private static func issues(_ answer: RawHTTP.Answer) throws -> [String] {
        guard answer.status == 422 else { return ["status \(answer.status)"] }
        return (try JSONText.parse(answer.body)["detail"]?.listValue ?? []).map { issue in
            let place = (issue["loc"]?.listValue ?? []).map { $0.stringValue ?? $0.intValue.map(String.init) ?? "?" }
            return "\(issue["type"]?.stringValue ?? "?") \(place.joined(separator: "."))"
        }
    }

    @Test("an offer reaches the service with its mapping, and its answer can be read as often as wanted")
    func offer() async throws {
        try await Self.live { http, service in
            let body =
                #"{"sdp_offer":"v=0","client_info":{"sdk_version":"1"},"track_mapping":[{"name":"webcam","kind":"video","direction":"sendonly","mid":"0"},{"name":"out","kind":"audio","direction":"recvonly","mid":"x1","later":1}]}"#
            #expect(try http.request("GET", "\(Self.base)/connections/5000/sdp_params").status == 202)
            let posted = try http.request("POST", "\(Self.base)/connections/5000/sdp_params", json: body)
            #expect(posted.status == 202 && posted.text == #"{"connection_id":5000}"#)
            #expect(try http.request("PUT", "\(Self.base)/connections/5000/sdp_params", json: body).status == 202)
            let offers = service.values.withLock { $0.offers }
            #expect(offers.count == 2)
            #expect(offers[0].sdp == "v=0" && offers[0].trackMapping.map(\.mid) == ["0", "x1"])
            #expect(
                offers[0].trackMapping.map(\.track.name) == ["webcam", "out"] && offers[0].trackMapping[1].track.direction == .recvonly)
            for _ in 0..<3 {
                let answer = try JSONText.parse(try http.request("GET", "\(Self.base)/connections/5000/sdp_params").body)
                #expect(answer["sdp_answer"]?.stringValue == "v=0\r\nanswer to v=0" && answer["connection_id"]?.intValue == 5000)
            }
        }
    }

    @Test("a negotiation that failed is told to the one who polls")
    func failedOffer() async throws {
        try await Self.live { http, _ in
            #expect(try http.request("POST", "\(Self.base)/connections/5001/sdp_params", json: #"{"sdp_offer":"fails"}"#).status == 202)
            let answer = try http.request("GET", "\(Self.base)/connections/5001/sdp_params")
            #expect(answer.status == 400 && answer.text == #"{"detail":"The offer cannot be answered"}"#)
        }
    }

    @Test("every fault of an offer is named with its place")
    func badOffers() async throws {
        try await Self.live { http, service in
            for (json, expected) in [
                ("[]", ["model_attributes_type body"]), ("null", ["missing body"]), ("", ["missing body"]), ("{", ["json_invalid body.1"]),
                (#"{"sdp_offer":null}"#, ["string_type body.sdp_offer"]),
                (#"{"sdp_offer":"x","track_mapping":{}}"#, ["list_type body.track_mapping"]),
                (#"{"sdp_offer":"x","track_mapping":[7]}"#, ["model_attributes_type body.track_mapping.0"]),
                (
                    #"{"track_mapping":[{"name":"a","kind":"text","direction":"sendrecv","mid":0},{}]}"#,
                    [
                        "missing body.sdp_offer", "literal_error body.track_mapping.0.kind", "literal_error body.track_mapping.0.direction",
                        "string_type body.track_mapping.0.mid", "missing body.track_mapping.1.name", "missing body.track_mapping.1.kind",
                        "missing body.track_mapping.1.direction", "missing body.track_mapping.1.mid",
                    ]
                ),
                (
                    #"{"sdp_offer":"x","track_mapping":[\#((0..<128).map { _ in "{}" }.joined(separator: ","))]}"#,
                    ["too_long body.track_mapping"]
                ),
            ] {
                let answer = try http.request("POST", "\(Self.base)/connections/5000/sdp_params", json: json)
                #expect(try Self.issues(answer) == expected, "\(json.prefix(80))")
            }
            #expect(try Self.issues(http.request("GET", "\(Self.base)/connections/abc/sdp_params")) == ["int_parsing path.cid"])
            #expect(try Self.issues(http.request("GET", "\(Self.base)/connections/-1/sdp_params")) == ["greater_than_equal path.cid"])
            #expect(service.values.withLock { $0.offers.isEmpty })
        }
    }

    @Test("candidates reach the service in order, the end of them too")
    func candidates() async throws {
        try await Self.live { http, service in
            let json =
                #"{"candidates":[{"candidate":"candidate:1","sdp_mid":"0","sdp_mline_index":0},{"candidate":"candidate:2","sdp_mid":null},{"candidate":""}],"is_final":true,"client_info":{}}"#
            let answer = try http.request("POST", "\(Self.base)/connections/5000/ice_candidates", json: json)
            #expect(answer.status == 202 && answer.body.isEmpty)
            let candidates = service.values.withLock { $0.candidates }
            #expect(candidates.map(\.text) == ["candidate:1", "candidate:2", ""])
            #expect(candidates.map(\.mLineIndex) == [0, nil, nil] && candidates[0].mid == "0")
            for (json, expected) in [
                (#"{}"#, ["missing body.candidates"]),
                (#"{"candidates":[{}],"is_final":"maybe"}"#, ["missing body.candidates.0.candidate", "bool_parsing body.is_final"]),
                (#"{"candidates":[{"candidate":"c","sdp_mline_index":0.5}]}"#, ["int_from_float body.candidates.0.sdp_mline_index"]),
                (#"{"candidates":[\#((0..<257).map { _ in "0" }.joined(separator: ","))]}"#, ["too_long body.candidates"]),
            ] {
                #expect(try Self.issues(http.request("POST", "\(Self.base)/connections/5000/ice_candidates", json: json)) == expected)
            }
        }
    }

    @Test("a start with wrong members is refused before the service hears of it")
    func badStarts() async throws {
        try await TestRuntime.with { runtime in
            let port = runtime.port
            let bodies = [
                #"{"generation":7}"#, #"{"steps":1.5}"#, #"{"steps":"7"}"#, #"{"steps":10001}"#, #"{"steps":-1}"#, #"{"extra_args":[]}"#,
                #"{"session_id":7}"#, #"{"session_id":"../x"}"#, #"{"session_id":""}"#, #"{"starting_input":[]}"#,
                #"{"starting_input":{"state":1}}"#,
                #"{"starting_input":{"commands":{}}}"#, #"{"starting_input":{"commands":[1]}}"#,
                #"{"starting_input":{"commands":[{"command":""}]}}"#,
                #"{"starting_input":{"commands":[{"command":"a","data":1}]}}"#,
            ]
            let statuses = try await onThread {
                try bodies.map { try RawHTTP(port: port).request("POST", "/start_session", json: $0).status }
            }
            #expect(statuses == Array(repeating: 400, count: bodies.count))
            #expect(runtime.service.values.withLock { $0.starts.isEmpty })
            let started = try await onThread {
                try RawHTTP(port: port).request(
                    "POST", "/start_session", headers: ["Authorization: Bearer x"],
                    json: #"{"generation":null,"steps":null,"session_id":"AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE","unknown":[1]}"#
                ).status
            }
            #expect(started == 200)
            #expect(runtime.service.values.withLock { $0.starts.map(\.sessionID) } == [FakeRecordings.id])
        }
    }

    @Test("a stop says whether it moderates and why, within bounds")
    func stops() async throws {
        try await Self.live { http, service in
            let long = String(repeating: "é", count: 65)
            #expect(
                try Self.issues(http.request("POST", "/stop_session", json: #"{"reason":"\#(long)"}"#)) == ["string_too_long body.reason"])
            #expect(try Self.issues(http.request("POST", "/stop_session", json: #"{"moderate":[]}"#)) == ["bool_type body.moderate"])
            #expect(try Self.issues(http.request("POST", "/stop_session", json: "[]")) == ["model_attributes_type body"])
            let answer = try http.request("POST", "/stop_session", json: #"{"moderate":"true","reason":"\#(long.dropLast())"}"#)
            #expect(answer.status == 200 && answer.body.isEmpty)
            #expect(service.values.withLock { $0.stops } == ["true \(long.dropLast())"])
        }
    }

    @Test("browsers may ask from everywhere, with any header and on every path")
    func cors() async throws {
        try await Self.live { http, _ in
            for path in ["/start_session", "/uploads/x", "/nope"] {
                let answer = try http.request(
                    "OPTIONS", path,
                    headers: [
                        "Origin: https://page.example", "Access-Control-Request-Method: PUT",
                        "Access-Control-Request-Headers: authorization,content-type", "Access-Control-Request-Private-Network: true",
                    ])
                #expect(answer.status == 200 && answer.headers["access-control-allow-origin"] == "*")
                #expect(answer.headers["access-control-allow-methods"]?.contains("PUT") == true)
                #expect(answer.headers["access-control-allow-headers"] == "authorization,content-type")
                #expect(answer.headers["access-control-allow-private-network"] == "true")
                #expect(answer.headers["access-control-allow-credentials"] == nil)
            }
            for (method, path) in [("GET", "/session"), ("GET", "/nope"), ("GET", "/start_session"), ("PUT", "/uploads/x")] {
                #expect(try http.request(method, path).headers["access-control-allow-origin"] == "*", "\(path)")
            }
        }
    }

    @Test("wrong paths are 404, wrong methods 405 with what is allowed, and GET routes answer HEAD")
    func paths() async throws {
        try await Self.live { http, _ in
            for path in [
                "/", "//", "/session/", "/sessions", "/sessions//uploads", "/clips/chunks/a", "/clips/x/y/z", "/uploads", "/uploads/a/b",
                "/Session",
            ] {
                let answer = try http.request("GET", path)
                #expect(answer.status == 404 && answer.text == #"{"detail":"Not Found"}"#, "\(path)")
            }
            let wrong = try http.request("DELETE", "\(Self.base)/connections/5000/sdp_params")
            #expect(wrong.status == 405 && wrong.headers["allow"] == "GET, HEAD, POST, PUT")
            for path in ["/session", "/schema", "/health", "/metrics", "\(Self.base)/ice_servers"] {
                let (head, get) = (try http.request("HEAD", path), try http.request("GET", path))
                #expect(head.status == 200 && get.status == 200)
                #expect(head.headers["content-length"] == get.headers["content-length"] || path == "/metrics", "\(path)")
            }
        }
    }

    @Test("health turns 503, and metrics count what happened")
    func observation() async throws {
        try await Self.live { http, service in
            _ = try http.request("GET", "/nope")
            service.values.withLock { $0.isHealthy = false }
            let health = try http.request("GET", "/health")
            #expect(health.status == 503)
            #expect(health.text == #"{"detail":"the model failed","state":"terminated","status":"unhealthy"}"#)
            let metrics = try http.request("GET", "/metrics")
            #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let lines = Set(metrics.text.split(separator: "\n").map(String.init))
            for line in [
                "# TYPE reactor_http_answers_total counter", #"reactor_http_answers_total{route="none",status="404"} 1"#,
                #"reactor_http_answers_total{route="health",status="503"} 1"#, "reactor_http_connections 1",
                #"reactor_http_discarded_total{reason="slow_body"} 0"#, "reactor_upload_reserved_bytes 0",
                #"reactor_healthy{state="terminated"} 0"#, #"fake_things_total{kind="a\"b"} 3"#,
            ] { #expect(lines.contains(line), "\(line)") }
        }
    }

    @Test("an interceptor can answer, delay, change and drop")
    func interceptor() async throws {
        try await TestRuntime.with(interceptor: { request, next in
            switch request.target.value("do") {
            case "answer": return .error(503, "On purpose", headers: [])
            case "drop": return HTTPServerResponse(200, body: .dropped)
            case "change":
                var response = await next(request)
                response.body = .bytes(Array("{not json".utf8))
                return response
            default: return await next(request)
            }
        }) { runtime in
            let port = runtime.port
            let (answered, changed, plain) = try await onThread {
                let http = try RawHTTP(port: port)
                return (
                    try http.request("GET", "/session?do=answer").status, try http.request("GET", "/session?do=change").text,
                    try http.request("GET", "/session").status
                )
            }
            #expect(answered == 503 && changed == "{not json" && plain == 200)
            let dropped = try await onThread {
                let http = try RawHTTP(port: port)
                http.send("GET /session?do=drop HTTP/1.1\r\nHost: x\r\n\r\n")
                return http.waitForEnd()
            }
            #expect(dropped)
        }
    }

    @Test("an upload that an interceptor refused can be tried again at once, and a stream it lost is nobody's")
    func interceptedBodies() async throws {
        let service = FakeService()
        service.values.withLock { $0.state = .waiting }
        let uploads = UploadStore()
        let upload = try uploads.reserve(name: "a", mimeType: "x/y", sizeBytes: 3)
        let events = EventLog()
        let refusals = Mutex(3)
        try await TestRuntime.with(
            service: service, uploads: uploads, events: events,
            interceptor: { request, next in
                if request.target.path == ["events"] {
                    _ = await next(request)
                    return HTTPServerResponse(200, body: .dropped)
                }
                let isRefused = refusals.withLock { left in
                    left -= 1
                    return left >= 0
                }
                return isRefused ? .error(503, "On purpose") : await next(request)
            }
        ) { runtime in
            let port = runtime.port
            let statuses = try await onThread {
                let http = try RawHTTP(port: port)
                return try (0..<5).map { _ in try http.request("PUT", "/uploads/\(upload.id)", body: Array("abc".utf8)).status }
            }
            #expect(statuses == [503, 503, 503, 200, 409])
            #expect(uploads.completeBytes(of: upload.id) == Array("abc".utf8))
            for _ in 0..<40 {
                let ended = try await onThread {
                    let http = try RawHTTP(port: port)
                    http.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
                    return http.waitForEnd()
                }
                #expect(ended)
            }
            #expect(events.subscriberCount == 0)
        }
    }

    @Test("a request whose client left is cancelled after a while")
    func abandonedRequest() async throws {
        let cancelled = Gate()
        try await TestRuntime.with(interceptor: { request, next in
            guard request.target.path == ["session"] else { return await next(request) }
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(50)) }
            cancelled.open()
            return await next(request)
        }) { runtime in
            let port = runtime.port
            _ = try await onThread { try RawHTTP(port: port).send("GET /session HTTP/1.1\r\nHost: x\r\n\r\n") }
            await cancelled.wait()
            #expect(await becomesTrue { runtime.http.connectionCount == 0 })
        }
    }
}
