import Testing

@testable import ReactorCore

/// Real bytes of an official client and runtime (wire-protocol 5, capture of a v1 session).
@Suite struct MessagesTests {
    static let controlClient: [(String, ControlClientMessage)] = [
        ("10035200", .notification(.ping)),
        ("10038a010c0a0a6d61696e5f766964656f", .notification(.resumeTrack(name: "main_video"))),
        ("100382010c0a0a6d61696e5f766964656f", .notification(.pauseTrack(name: "main_video"))),
        ("10039201080a0677656263616d", .notification(.unpublishTrack(name: "webcam"))),
        ("0a066374726c5f3110015a00", .init(requestID: "ctrl_1", kind: .request, payload: .requestSchema)),
        (
            "0a066374726c5f3210016a09090000000000001440",
            .init(requestID: "ctrl_2", kind: .request, payload: .requestClip(durationSeconds: 5))
        ),
        ("0a066374726c5f3310017a080a0677656263616d", .init(requestID: "ctrl_3", kind: .request, payload: .publishTrack(name: "webcam"))),
        ("0a066374726c5f3710017200", .init(requestID: "ctrl_7", kind: .request, payload: .requestRecording)),
        (
            "100362290a0475705f311205782e62696e1a186170706c69636174696f6e2f6f637465742d73747265616d2003",
            .notification(.fileUploaded(UploadReference(uploadID: "up_1", name: "x.bin", mimeType: "application/octet-stream", size: 3)))
        ),
    ]

    @Test("client control messages match the capture byte for byte", arguments: controlClient)
    func controlClientBytes(hex: String, message: ControlClientMessage) throws {
        #expect(try message.encode() == bytes(hex))
        #expect(try ControlClientMessage(parsing: bytes(hex)) == message)
    }

    static let commands: [(String, String, WireValue?, [String: UploadReference])] = [
        (
            "0a06646174615f31100152220a0a7365745f65666665637412140a120a0665666665637412081a06696e76657274", "set_effect",
            .object(["effect": "invert"]), [:]
        ),
        (
            "0a06646174615f31100152210a097365745f627572737412140a120a056275727374120911000000000000f03f", "set_burst",
            .object(["burst": .number(1)]), [:]
        ),
        ("0a06646174615f31100152080a046e6f70651200", "nope", nil, [:]),
        (
            "0a06646174615f311001527e0a117365745f6f7665726c61795f696d616765121f0a1d0a106f7665726c61795f737472656e677468120911000000000000d03f1a480a0d6f7665726c61795f696d61676512370a2032633164616237666335326634393061383464316466376662393138326330371205612e7478741a0a746578742f706c61696e200b",
            "set_overlay_image", .object(["overlay_strength": .number(0.25)]),
            [
                "overlay_image": UploadReference(
                    uploadID: "2c1dab7fc52f490a84d1df7fb9182c07", name: "a.txt", mimeType: "text/plain", size: 11)
            ]
        ),
    ]

    @Test("commands match the capture byte for byte", arguments: commands)
    func commandBytes(hex: String, type: String, data: WireValue?, uploads: [String: UploadReference]) throws {
        let command = try Command(type: type, data: data, uploads: uploads)
        let message = DataClientMessage(requestID: "data_1", kind: .request, payload: .command(command))
        #expect(try message.encode() == bytes(hex))
        #expect(try DataClientMessage(parsing: bytes(hex)) == message)
    }

    @Test("command data has to be an object", arguments: [WireValue.list([]), "x", .number(1), .bool(true)])
    func commandData(data: WireValue) {
        let error = #expect(throws: CoreError.self) { try Command(type: "x", data: data) }
        #expect(error?.code == .decodeFailed)
        #expect(error?.message == "command data must be a JSON object")
    }

    @Test("PB-01 command data with NaN is a typed error before sending")
    func commandNaN() {
        let error = #expect(throws: CoreError.self) { try Command(type: "x", data: .object(["a": .list([.number(.nan)])])) }
        #expect(error?.code == .decodeFailed)
        #expect(error?.operation == .sendCommand)
    }

    private func decode(_ channel: MessageChannel, _ hex: String) throws -> ServerMessage {
        try ServerFrameDecoder.decode(channel: channel, isText: false, bytes: bytes(hex))
    }

    @Test("runtime messages of the capture")
    func runtime() throws {
        let reply = try decode(
            .data,
            "0a06646174615f311002523e0a0e6566666563745f6368616e676564122c0a120a0665666665637412081a06696e766572740a160a09696e74656e73697479120911000000000000f03f"
        )
        #expect(reply.requestID == "data_1")
        #expect(
            reply.content == .model(ModelMessage(type: "effect_changed", data: .object(["effect": "invert", "intensity": .number(1)]))))
        #expect(try decode(.data, "0a06646174615f321002").content == .acknowledgement)
        #expect(
            try decode(.data, "0a06646174615f341002c202220a0f696e76616c69645f636f6d6d616e64120f756e6b6e6f776e20636f6d6d616e64").content
                == .error(ErrorMessage(code: "invalid_command", message: "unknown command")))
        #expect(try decode(.control, "0a066374726c5f3310027200").content == .publishGranted)
        #expect(
            try decode(.control, "0a066374726c5f32100262180a166e6f206d656469612067656e65726174656420796574").content
                == .clipFailed(reason: "no media generated yet"))
        let recording = try decode(
            .control,
            "0a066374726c5f3710025a99010a2462336363623163372d613132392d343062612d383162652d61393939336236376431343512097265636f7264696e6721647777777777294029647777777777294030cbceddd4a2343a4d2f636c6970733f73657373696f6e5f69643d62336363623163372d613132392d343062612d383162652d6139393933623637643134352673746172743d302e30303026656e643d31322e373333"
        )
        guard case .clipReady(let clip) = recording.content else {
            Issue.record("no clip")
            return
        }
        #expect(clip.kind == "recording" && clip.startMarker == 0 && clip.endMarker == 12.733333333333299)
        #expect(clip.predictedReadyAtMilliseconds == 1_796_010_895_179)
        #expect(clip.resolvingPlaylist(against: "http://h:1/").playlistURL.hasPrefix("http://h:1/clips?session_id=b3cc"))
        let step = try decode(
            .data,
            "0a06646174615f3310025a3c2a2b73746174652e6c6576656c20697320726566757365643a206c6576656c3a2039392e30203e206c652839293001420b73746174652e6c6576656c"
        )
        #expect(step.content == .stepResult)
    }

    @Test("server messages round trip")
    func serverRoundTrip() throws {
        var moderation = Moderation()
        moderation.action = "terminate"
        moderation.categories = ["a", "", "b"]
        for payload in [
            ControlServerPayload.modelSchema(.object(["openapi": "3.1.0"])), .moderation(moderation), .sessionEnded(reason: "over"),
            .error(ErrorMessage(code: "c", message: "m")), .publishTrack(name: ""),
        ] {
            let message = ControlServerMessage(requestID: "r", kind: .response, payload: payload)
            #expect(try ControlServerMessage(parsing: message.encode()) == message)
        }
    }

    @Test("PB-05 a payload of a later version is unknown, not an acknowledgement")
    func unknownPayload() throws {
        #expect(try decode(.data, "0a06646174615f321002 62020801").content == .unknown)
        #expect(try decode(.control, "1003 8a0100").content == .unknown)
        #expect(try decode(.data, "1002").content == .unknown)
    }

    static let legacy: [(MessageChannel, String, ServerMessage.Content)] = [
        (
            .data, #"{"scope": "application", "data": {"type": "note", "data": {"text": "hello on connect"}}}"#,
            .model(ModelMessage(type: "note", data: .object(["text": "hello on connect"])))
        ),
        (.data, #"{"scope":"application","data":{"type":"note"}}"#, .model(ModelMessage(type: "note", data: .null))),
        (.data, #"{"scope": "runtime", "data": {"type": "sessionEnded", "data": {"reason": "over"}}}"#, .sessionEnded(reason: "over")),
        (
            .data, #"{"scope": "runtime", "data": {"type": "clipFailed", "data": {"reason": "no media generated yet"}}}"#,
            .clipFailed(reason: "no media generated yet")
        ),
        (.data, #"{"scope": "runtime", "data": {"type": "modelSchema", "data": {"a":1}}}"#, .schema(.object(["a": .number(1)]))),
        (.data, #"{"scope": "runtime", "data": {"type": "later", "data": {}}}"#, .unknown),
        (.control, #"{"type": "response", "method": "publish_track", "request_id": "r1", "data": {}}"#, .publishGranted),
        (
            .control,
            #"{"type":"response","method":"publish_track","request_id":"r1","error":{"code":"publish_refused","message":"track already published"}}"#,
            .error(ErrorMessage(code: "publish_refused", message: "track already published"))
        ),
        (.control, #"{"type":"notification","event":"x"}"#, .unknown),
    ]

    @Test("v0 JSON frames, as text and as binary", arguments: legacy)
    func legacyFrames(channel: MessageChannel, text: String, content: ServerMessage.Content) throws {
        let asText = try ServerFrameDecoder.decode(channel: channel, isText: true, bytes: Array(text.utf8))
        let asBinary = try ServerFrameDecoder.decode(channel: channel, isText: false, bytes: Array((" \n" + text).utf8))
        #expect(asText.content == content)
        #expect(asBinary == asText)
        if channel == .control, text.contains("request_id") { #expect(asText.requestID == "r1") }
    }

    @Test("a protobuf frame that begins like JSON is still protobuf")
    func sniffing() throws {
        let id = String(repeating: "x", count: 0x7B)
        let message = DataServerMessage(requestID: id, kind: .response, payload: nil)
        let encoded = try message.encode()
        #expect(encoded[1] == UInt8(ascii: "{"))
        let decoded = try ServerFrameDecoder.decode(channel: .data, isText: false, bytes: encoded)
        #expect(decoded == ServerMessage(channel: .data, requestID: id, content: .acknowledgement))
    }

    @Test(
        "PB-05 text that is not a v0 frame throws",
        arguments: ["", "x", "[]", "{}", #"{"scope":"application"}"#, #"{"scope":1,"data":{"type":"a"}}"#])
    func badLegacy(text: String) {
        #expect(throws: WireFormatError.self) {
            try ServerFrameDecoder.decode(channel: .data, isText: true, bytes: Array(text.utf8))
        }
    }
}
