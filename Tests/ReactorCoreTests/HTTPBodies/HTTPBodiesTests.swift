import Testing

@testable import ReactorCore

@Suite struct HTTPBodiesTests {
    private let client = ClientInfo(sdkVersion: "0.1.0")
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("create session body, wire-protocol 2.3")
    func createSession() throws {
        #expect(
            text(try CreateSessionBody(modelName: "owner/name", clientInfo: client).encode())
                == #"{"client_info":{"sdk_type":"swift","sdk_version":"0.1.0"},"model":{"name":"owner/name"},"supported_transports":[{"protocol":"webrtc","version":"1.0"}]}"#
        )
        let full = CreateSessionBody(modelName: "m", modelVersion: "2", extraArguments: .object(["seed": .number(1)]), clientInfo: client)
        let value = try JSONText.parse(full.encode())
        #expect(value["model"]?["version"] == "2")
        #expect(value["extra_args"]?["seed"] == .number(1))
    }

    @Test("local start body is {} without arguments")
    func startSession() throws {
        #expect(text(try StartSessionBody().encode()) == "{}")
        #expect(text(try StartSessionBody(extraArguments: .object(["a": .bool(true)])).encode()) == #"{"extra_args":{"a":true}}"#)
    }

    @Test("a slim session is neither connectable nor terminal; a local one is connectable whatever its state")
    func descriptor() throws {
        let slim = try SessionDescriptor(parsing: Array(#"{"session_id":"s1","state":"CREATED","model":{"name":"m"}}"#.utf8))
        #expect(!slim.isConnectable && !slim.isTerminal)
        let local = try SessionDescriptor(parsing: Array(Self.localDescriptor.utf8))
        #expect(local.isConnectable && !local.isTerminal)
        #expect(local.sessionID == "00000000-0000-0000-0000-000000000000")
        #expect(local.serverVersion == "3.10.0")
        #expect(local.generation == "streamed")
        #expect(local.capabilities?.tracks.map(\.name) == ["webcam", "mic", "main_video", "main_audio"])
        #expect(local.capabilities?.tracks.last == DeclaredTrack(name: "main_audio", kind: .audio, direction: .recvonly))
    }

    @Test(
        "an unknown state is not terminal; INACTIVE and CLOSED are",
        arguments: [("INACTIVE", true), ("CLOSED", true), ("closed", false), ("NEW", false)])
    func terminal(state: String, expected: Bool) throws {
        let session = try SessionDescriptor(parsing: Array(#"{"session_id":"s","state":"\#(state)"}"#.utf8))
        #expect(session.isTerminal == expected)
        if expected {
            #expect(session.terminalError?.message == "session entered terminal state \(state == "CLOSED" ? "Closed" : "Inactive")")
        }
    }

    @Test(
        "a session without id or state, or with an id that is no path component, is refused",
        arguments: [
            "{}", "[]", "null", "1", #"{"session_id":"s"}"#, #"{"session_id":1,"state":"x"}"#, #"{"session_id":"a/b","state":"x"}"#,
            #"{"session_id":"..","state":"x"}"#, #"{"session_id":"","state":"x"}"#, #"{"session_id":"a?b","state":"x"}"#,
        ])
    func badDescriptor(body: String) {
        #expect(throws: WireFormatError.self) { try SessionDescriptor(parsing: Array(body.utf8)) }
    }

    @Test("tracks of unknown kind and doubled names are left out and named")
    func skippedTracks() throws {
        let body =
            #"{"session_id":"s","state":"x","capabilities":{"tracks":[{"name":"a","kind":"video","direction":"recvonly"},{"name":"b","kind":"smell","direction":"recvonly"},{"name":"a","kind":"audio","direction":"recvonly"}]}}"#
        let capabilities = try #require(try SessionDescriptor(parsing: Array(body.utf8)).capabilities)
        #expect(capabilities.tracks.map(\.name) == ["a"])
        #expect(capabilities.skippedTracks == ["b", "a"])
    }

    @Test("ICE servers with and without credentials")
    func iceServers() throws {
        let body =
            #"{"ice_servers":[{"uris":["stun:h:1"]},{"uris":["turn:h:2","turns:h:3"],"credentials":{"username":"u","password":"p"}}]}"#
        let servers = try IceServersResponse(parsing: Array(body.utf8)).servers
        #expect(servers.count == 2)
        #expect(servers[0].username == nil)
        #expect(servers[1].uris == ["turn:h:2", "turns:h:3"] && servers[1].username == "u" && servers[1].password == "p")
        #expect(try IceServersResponse(parsing: Array("{}".utf8)).servers.isEmpty)
    }

    @Test("connection ids are unsigned 32 bit")
    func connection() throws {
        #expect(try ConnectionResponse(parsing: Array(#"{"connection_id":8256,"track_map":{}}"#.utf8)).connectionID == 8256)
        for body in [
            "{}", #"{"connection_id":-1}"#, #"{"connection_id":1.5}"#, #"{"connection_id":4294967296}"#, #"{"connection_id":"1"}"#,
        ] {
            #expect(throws: WireFormatError.self) { try ConnectionResponse(parsing: Array(body.utf8)) }
        }
    }

    @Test("offer body keeps the order of the mapping")
    func offer() throws {
        let tracks = [
            DeclaredTrack(name: "z", kind: .video, direction: .sendonly), DeclaredTrack(name: "a", kind: .audio, direction: .recvonly),
        ]
        let body = SDPOfferBody(
            offer: "v=0\r\n", trackMapping: tracks.enumerated().map { .init(track: $1, mid: String($0)) }, clientInfo: client)
        #expect(
            text(try body.encode())
                == #"{"client_info":{"sdk_type":"swift","sdk_version":"0.1.0"},"sdp_offer":"v=0\r\n","track_mapping":[{"direction":"sendonly","kind":"video","mid":"0","name":"z"},{"direction":"recvonly","kind":"audio","mid":"1","name":"a"}]}"#
        )
    }

    @Test("answer with and without a connection id")
    func answer() throws {
        #expect(try SDPAnswerResponse(parsing: Array(#"{"sdp_answer":"v=0","connection_id":5}"#.utf8)).connectionID == 5)
        #expect(try SDPAnswerResponse(parsing: Array(#"{"sdp_answer":"v=0","connection_id":null}"#.utf8)).connectionID == nil)
        #expect(throws: WireFormatError.missing("sdp_answer")) { try SDPAnswerResponse(parsing: Array("{}".utf8)) }
    }

    @Test("candidate batches, also the empty final one")
    func candidates() throws {
        let body = IceCandidatesBody(
            candidates: [.init(text: "candidate:1 1 udp 2 192.0.2.2 5 typ host", mid: "0", mLineIndex: 0)], isFinal: false,
            clientInfo: client)
        let value = try JSONText.parse(body.encode())
        #expect(value["candidates"]?.listValue?.first?["sdp_mline_index"] == .number(0))
        #expect(value["candidates"]?.listValue?.first?["sdp_mid"] == "0")
        #expect(value["is_final"] == .bool(false))
        let final = try JSONText.parse(IceCandidatesBody(candidates: [], isFinal: true, clientInfo: client).encode())
        #expect(final["candidates"] == .list([]))
        #expect(final["is_final"] == .bool(true))
    }

    @Test(
        "token request body, wire-protocol 1.2",
        arguments: [
            (TokenRequestBody(), "null"),
            (TokenRequestBody(maxSessions: 2, maxSessionDurationSeconds: 9), "null"),
            (TokenRequestBody(expiresAfterSeconds: 120), #"{"expires_after":120}"#),
            (
                TokenRequestBody(models: ["owner/name"], maxSessions: 2, maxSessionDurationSeconds: 3600),
                #"{"authorization_details":[{"constraints":{"max_session_duration_seconds":3600,"max_sessions":2},"resources":{"models":{"match":["owner/name"]}},"type":"session"}]}"#
            ),
            (
                TokenRequestBody(sessions: ["s"]),
                #"{"authorization_details":[{"resources":{"models":{"all":true},"sessions":{"bind":["s"]}},"type":"session"}]}"#
            ),
            (
                TokenRequestBody(models: []),
                #"{"authorization_details":[{"resources":{"models":{"match":[]}},"type":"session"}]}"#
            ),
        ])
    func tokenRequest(body: TokenRequestBody, expected: String) throws {
        #expect(text(try body.encode()) == expected)
    }

    @Test("a token answer without a token is a decode failure", arguments: ["{}", #"{"jwt":""}"#, #"{"jwt":null}"#, #"{"jwt":1}"#])
    func token(body: String) {
        #expect(throws: WireFormatError.self) { try TokenResponse(parsing: Array(body.utf8)) }
    }

    @Test("only a conflict of the closing window reads as closing")
    func closing() {
        #expect(ErrorBody.saysClosing(Array(#"{"detail":"cannot start session while closing"}"#.utf8)))
        #expect(!ErrorBody.saysClosing(Array(#"{"detail":"cannot start session while streaming"}"#.utf8)))
        #expect(!ErrorBody.saysClosing(Array("Internal Server Error".utf8)))
        #expect(ErrorBody.detail(Array(#"{"detail":[{"loc":[]}]}"#.utf8)) == nil)
    }

    private static let localDescriptor = #"""
        {"session_id":"00000000-0000-0000-0000-000000000000","state":"waiting","cluster":"local","model":{"name":"echo"},
        "server_info":{"server_version":"3.10.0"},"selected_transport":{"protocol":"webrtc","version":"1.0"},
        "transports":[{"protocol":"webrtc","version":"1.0"}],"recording":{"enabled":true,"chunk_seconds":4},
        "step_results":{"enabled":false},"generation":"streamed","capabilities":{"protocol_version":"v0","tracks":[
        {"name":"webcam","kind":"video","direction":"sendonly"},{"name":"mic","kind":"audio","direction":"sendonly"},
        {"name":"main_video","kind":"video","direction":"recvonly"},{"name":"main_audio","kind":"audio","direction":"recvonly"}],
        "commands":[]}}
        """#
}
