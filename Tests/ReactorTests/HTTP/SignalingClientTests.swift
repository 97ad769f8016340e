import ReactorCore
import Testing

@testable import Reactor

@Suite("Signalling client", .timeLimit(.minutes(1)))
struct SignalingClientTests {
    private func client(_ server: ScriptedServer, local: Bool = true, token: String? = "tok") throws -> SignalingClient {
        let api = try APIClient(endpoint: APIEndpoint(apiURL: server.url, local: local), operation: .reconnect) { _ in token }
        return try SignalingClient(api: api, clientInfo: ClientInfo(sdkVersion: "0.1.0"), sessionID: "s-1")
    }

    private func code(_ body: () async throws -> some Any) async throws -> ReactorError.Code? {
        do {
            _ = try await body()
            return nil
        } catch let error as ReactorError {
            #expect(error.operation == "reconnect")
            return error.code
        }
    }

    @Test(
        "§2.2 each call has its route and method, TOK-03 every one has the token, and the version headers of §2.1",
        arguments: [true, false])
    func routes(_ local: Bool) async throws {
        let server = try ScriptedServer { request in
            switch request.path.split(separator: "/").last {
            case "ice_servers": [.reply(200, "{\"ice_servers\":[{\"uris\":[\"stun:h\"]}]}")]
            case "connections": [.reply(201, "{\"connection_id\":5001}")]
            case "ice_candidates": [.reply(202)]
            default: request.method == "GET" ? [.reply(200, "{\"sdp_answer\":\"v=0\",\"connection_id\":5001}")] : [.reply(202)]
            }
        }
        let client = try client(server, local: local)
        let track = DeclaredTrack(name: "main_video", kind: .video, direction: .recvonly)
        #expect(try await client.iceServers().servers.map(\.uris) == [["stun:h"]])
        #expect(try await client.registerConnection() == 5001)
        try await client.sendOffer("v=0\r\n", trackMapping: [.init(track: track, mid: "0")], connection: 5001)
        try await client.sendOffer("v=0\r\n", trackMapping: [], connection: 5001, isReconnect: true)
        #expect(
            try await client.pollAnswer(connection: 5001)
                == SDPAnswerResponse(parsing: Array("{\"sdp_answer\":\"v=0\",\"connection_id\":5001}".utf8)))
        try await client.sendCandidates([.init(text: "candidate:1", mid: "0", mLineIndex: 0)], isFinal: true, connection: 5001)

        let base = "/sessions/s-1/transport/webrtc"
        #expect(
            server.requests.map { "\($0.method) \($0.path)" } == [
                "GET \(base)/ice_servers", "POST \(base)/connections", "POST \(base)/connections/5001/sdp_params",
                "PUT \(base)/connections/5001/sdp_params", "GET \(base)/connections/5001/sdp_params",
                "POST \(base)/connections/5001/ice_candidates",
            ])
        for request in server.requests {
            #expect(request.headers["authorization"] == "Bearer tok")
            #expect(request.headers["reactor-webrtc-version"] == "1.0")
            #expect(request.headers["reactor-api-version"] == "1")
            #expect(request.headers["reactor-api-accept-version"] == "1")
            #expect(request.headers["content-type"] == (request.method == "GET" ? nil : "application/json"))
        }
        #expect(server.requests[1].text == "{}")
        #expect(
            server.requests[2].text
                == #"{"client_info":{"sdk_type":"swift","sdk_version":"0.1.0"},"sdp_offer":"v=0\r\n","track_mapping":[{"direction":"recvonly","kind":"video","mid":"0","name":"main_video"}]}"#
        )
        #expect(
            server.requests[5].text
                == #"{"candidates":[{"candidate":"candidate:1","sdp_mid":"0","sdp_mline_index":0}],"client_info":{"sdk_type":"swift","sdk_version":"0.1.0"},"is_final":true}"#
        )
    }

    @Test("202 means no answer yet, and the wait asks more often than the documented six polls before it gives up")
    func pollUntilAnswer() async throws {
        let server = try ScriptedServer { $0.index < 12 ? [.reply(202)] : [.reply(200, "{\"sdp_answer\":\"v=0\"}")] }
        let client = try client(server)
        #expect(try await client.pollAnswer(connection: 1) == nil)
        #expect(try await client.waitForAnswer(connection: 1).answer == "v=0")
        #expect(server.requests.count == 13)
    }

    @Test("an answer that cannot be read is DECODE_FAILED", arguments: ["", "{}", "[]", "{\"sdp_answer\":1}", "<html></html>"])
    func unreadable(_ body: String) async throws {
        let server = try ScriptedServer(.reply(200, body))
        #expect(try await code { try await client(server).pollAnswer(connection: 1) } == .decodeFailed)
    }

    @Test("a failed candidate batch throws, for the caller to log")
    func candidates() async throws {
        let server = try ScriptedServer(.reply(500, "Internal Server Error"))
        #expect(try await code { try await client(server).sendCandidates([], isFinal: true, connection: 1) } == .serverError)
    }

    @Test("a local runtime without session is BAD_REQUEST")
    func noSession() async throws {
        let server = try ScriptedServer(.reply(400, "{\"detail\":\"No session running\"}"))
        #expect(try await code { try await client(server).iceServers() } == .badRequest)
    }

    @Test("cancelling the wait for an answer ends it between two polls too")
    func cancelWait() async throws {
        let server = try ScriptedServer(.reply(202))
        let client = try client(server)
        let task = Task { try await client.waitForAnswer(connection: 1) }
        for await event in server.events { if case .request = event { break } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
