import Testing

@testable import ReactorCore

@Suite("ClientMessage and its answers")
struct ClientMessageTests {
    private func text(_ string: String) -> [UInt8] { Array(string.utf8) }

    private func decode(_ channel: MessageChannel, _ string: String) throws -> ClientMessage {
        try ClientFrameDecoder.decode(channel: channel, encoding: .v0, bytes: text(string))
    }

    @Test("§5.2 the first frame decides: text and JSON are v0, everything else v1, also protobuf that begins like JSON")
    func encoding() throws {
        #expect(ChannelEncoding(firstFrame: text("{}"), isText: true) == .v0)
        #expect(ChannelEncoding(firstFrame: text(" \n[1]"), isText: false) == .v0)
        #expect(ChannelEncoding(firstFrame: try ControlClientMessage.notification(.ping).encode(), isText: false) == .v1)
        #expect(ChannelEncoding(firstFrame: [], isText: false) == .v1)
        // A request id of 123 characters: 0A 7B, a line feed and a brace.
        let long = ControlClientMessage(requestID: String(repeating: "x", count: 123), kind: .request, payload: .requestSchema)
        #expect(ChannelEncoding(firstFrame: try long.encode(), isText: false) == .v1)
    }

    @Test("v1 messages of both channels are read as what they are")
    func protobuf() throws {
        let contents: [(ControlClientPayload, ClientMessage.Content)] = [
            (.ping, .ping), (.requestSchema, .requestSchema), (.requestRecording, .requestRecording),
            (.requestClip(durationSeconds: 5), .requestClip(durationSeconds: 5)), (.publishTrack(name: "a"), .publishTrack(name: "a")),
            (.pauseTrack(name: "a"), .pauseTrack(name: "a")), (.resumeTrack(name: "a"), .resumeTrack(name: "a")),
            (.unpublishTrack(name: "a"), .unpublishTrack(name: "a")), (.clientStats, .other),
            (.error(ErrorMessage(code: "x", message: "y")), .other),
        ]
        for (payload, content) in contents {
            let bytes = try ControlClientMessage(requestID: "r", kind: .request, payload: payload).encode()
            let message = try ClientFrameDecoder.decode(channel: .control, encoding: .v1, bytes: bytes)
            #expect(message == ClientMessage(requestID: "r", content: content))
        }
        let command = try Command(type: "go", data: .object(["x": .number(1)]))
        let bytes = try DataClientMessage(requestID: "data_1", kind: .request, payload: .command(command)).encode()
        #expect(
            try ClientFrameDecoder.decode(channel: .data, encoding: .v1, bytes: bytes)
                == ClientMessage(requestID: "data_1", content: .command(command)))
        let step = try DataClientMessage(kind: .request, payload: .requestStep).encode()
        #expect(try ClientFrameDecoder.decode(channel: .data, encoding: .v1, bytes: step).content == .other)
    }

    @Test("§5.9 captured v0 frames of a client")
    func legacy() throws {
        let command = try decode(.data, #"{"scope":"application","data":{"type":"set_effect","data":{"effect":"blur"}}}"#)
        #expect(command.content == .command(try Command(type: "set_effect", data: .object(["effect": "blur"]))))
        let file = UploadReference(uploadID: "u", name: "n", mimeType: "m/t", size: 7)
        let upload =
            #"{"scope":"application","data":{"type":"show","uploads":{"image":{"upload_id":"u","name":"n","mime_type":"m/t","size":7}}}}"#
        #expect(try decode(.data, upload).content == .command(try Command(type: "show", data: nil, uploads: ["image": file])))
        for (type, data, content) in [
            ("ping", "{}", .ping), ("requestSchema", "{}", .requestSchema), ("requestRecording", "{}", .requestRecording),
            ("requestClip", #"{"duration_seconds":3}"#, .requestClip(durationSeconds: 3)), ("later", "{}", .other),
            ("fileUploaded", #"{"upload_id":"u","name":"n","mime_type":"m/t","size":7}"#, .fileUploaded(file)),
        ] as [(String, String, ClientMessage.Content)] {
            #expect(try decode(.data, #"{"scope":"runtime","data":{"type":"\#(type)","data":\#(data)}}"#).content == content)
        }
        let publish = try decode(
            .control, #"{"type":"request","method":"publish_track","request_id":"r1","data":{"name":"webcam"}}"#)
        #expect(publish == ClientMessage(requestID: "r1", content: .publishTrack(name: "webcam")))
        for (event, content) in [
            ("pause_track", .pauseTrack(name: "a")), ("resume_track", .resumeTrack(name: "a")),
            ("unpublish_track", .unpublishTrack(name: "a")), ("else", .other),
        ] as [(String, ClientMessage.Content)] {
            let frame = #"{"type":"notification","event":"\#(event)","data":{"name":"a"}}"#
            #expect(try decode(.control, frame) == ClientMessage(requestID: "", content: content))
        }
    }

    @Test("v0 frames of another shape are refused", arguments: ["", "[]", "{}", "{\"scope\":\"application\"}", "{\"data\":{}}"])
    func malformedLegacy(frame: String) {
        for channel in MessageChannel.allCases { #expect(throws: WireFormatError.self) { try decode(channel, frame) } }
    }

    @Test("What a server writes the client's decoder reads back, in both encodings")
    func roundTrips() throws {
        var clip = ClipReady()
        clip.sessionID = "s"
        clip.kind = "snap"
        clip.endMarker = 3.5
        clip.predictedReadyAtMilliseconds = 1_796_010_885_495
        clip.playlistURL = "/clips?x"
        var moderation = Moderation()
        moderation.action = "warn"
        moderation.categories = ["a", "b"]
        let control: [ServerMessage.Content] = [
            .schema(.object(["openapi": "3.1.0"])), .clipReady(clip), .clipFailed(reason: "no"), .moderation(moderation),
            .publishGranted, .sessionEnded(reason: "over"), .error(ErrorMessage(code: "publish_refused", message: "held")),
        ]
        for content in control {
            for encoding in [ChannelEncoding.v0, .v1] {
                let message = ServerMessage(channel: .control, requestID: "ctrl_1", content: content)
                let frame = try #require(try ServerFrameEncoder.encode(message, encoding))
                #expect(frame.isText == (encoding == .v0))
                let back = try ServerFrameDecoder.decode(channel: frame.channel, isText: frame.isText, bytes: frame.bytes)
                #expect(back.content == content)
            }
        }
        let data = ServerMessage(channel: .data, requestID: "data_1", content: .model(ModelMessage(type: "t", data: .object(["x": .null]))))
        for encoding in [ChannelEncoding.v0, .v1] {
            let frame = try #require(try ServerFrameEncoder.encode(data, encoding))
            let back = try ServerFrameDecoder.decode(channel: frame.channel, isText: frame.isText, bytes: frame.bytes)
            #expect(back.content == data.content)
            #expect(back.requestID == (encoding == .v1 ? "data_1" : ""))
        }
    }

    @Test("§5.5 a reply is a response, what has no id a notification; a captured acknowledgement byte for byte")
    func kinds() throws {
        let acknowledgement = ServerMessage(channel: .data, requestID: "data_2", content: .acknowledgement)
        #expect(try ServerFrameEncoder.encode(acknowledgement, .v1)?.bytes == [0x0A, 6] + text("data_2") + [0x10, 2])
        let notice = ServerMessage(channel: .control, requestID: "", content: .sessionEnded(reason: "x"))
        let frame = try #require(try ServerFrameEncoder.encode(notice, .v1))
        #expect(try ControlServerMessage(parsing: frame.bytes).kind == .notification)
    }

    @Test("§5.9 v0 has no acknowledgements and no refused commands")
    func silentLegacy() throws {
        for content in [.acknowledgement, .error(ErrorMessage(code: "a", message: "b"))] as [ServerMessage.Content] {
            #expect(try ServerFrameEncoder.encode(ServerMessage(channel: .data, requestID: "1", content: content), .v0) == nil)
        }
    }
}
