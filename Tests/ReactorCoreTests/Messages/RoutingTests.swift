import Testing

@testable import ReactorCore

@Suite struct RoutingTests {
    private func route(
        _ content: ServerMessage.Content, _ channel: MessageChannel = .data, call: PendingCall? = nil
    ) -> ServerMessage.Route {
        ServerMessage(channel: channel, requestID: "x", content: content).route(awaitedBy: call, apiURL: "http://h:1")
    }

    private let model = ModelMessage(type: "t", data: .null)
    private let command = PendingCall.command(type: "set")

    @Test("a correlated model message resolves the call and is published too")
    func correlated() {
        #expect(route(.model(model), call: command) == .init(reply: .model(model), publications: [.model(model)]))
    }

    @Test("a late model message is still published")
    func late() {
        #expect(route(.model(model)) == .init(reply: nil, publications: [.model(model)]))
    }

    @Test("R-39 a reply without a payload succeeds with nothing")
    func acknowledgement() {
        #expect(route(.acknowledgement, call: command) == .init(reply: .acknowledged))
        #expect(route(.acknowledgement) == .init())
    }

    @Test("a correlated error fails the call and is not published")
    func refused() {
        let error = ErrorMessage(code: "invalid_command", message: "unknown command")
        let failure = CoreError(
            ErrorCode(rawValue: "invalid_command"), "command 'set' failed (invalid_command): unknown command", operation: .sendCommand)
        #expect(route(.error(error), call: command) == .init(reply: .failure(failure)))
        #expect(!failure.recoverable)
        let publish = route(
            .error(ErrorMessage(code: "publish_refused", message: "track already published")), .control, call: .publish(track: "w"))
        #expect(
            publish.reply
                == .failure(
                    CoreError(
                        ErrorCode(rawValue: "publish_refused"),
                        "control request 'publish_track' failed (publish_refused): track already published", operation: .publishTrack)))
    }

    @Test("an uncorrelated data error is an error event, recoverable; a control one is dropped")
    func uncorrelated() {
        let error = ErrorMessage(code: "odd", message: "m")
        #expect(
            route(.error(error)) == .init(publications: [.error(CoreError(ErrorCode(rawValue: "odd"), "m", recoverable: true))]))
        #expect(route(.error(error), .control) == .init())
    }

    @Test(
        "clip_failed fails the call and is a platform event",
        arguments: [
            ("no media generated yet", "INTERNAL_ERROR"), ("recorder disabled or encoder crashed", "RECORDER_DISABLED"),
        ])
    func clipFailed(reason: String, code: String) {
        let result = route(.clipFailed(reason: reason), .control, call: .clip)
        #expect(
            result.reply
                == .failure(
                    CoreError(ErrorCode(rawValue: code), "recording error (\(code)): \(reason)", operation: .requestClip)))
        guard case .runtime(let message)? = result.publications.first else {
            Issue.record("not published")
            return
        }
        #expect(message.type == "clipFailed" && message.data == .object(["reason": .string(reason)]))
    }

    @Test("clip_ready carries the absolute playlist URL in reply and event")
    func clipReady() {
        var clip = ClipReady()
        clip.playlistURL = "/clips?x=1"
        clip.endMarker = .nan
        let result = route(.clipReady(clip), .control, call: .recording)
        guard case .clip(let reply)? = result.reply, case .runtime(let message)? = result.publications.first else {
            Issue.record("no clip")
            return
        }
        #expect(reply.playlistURL == "http://h:1/clips?x=1")
        #expect(message.type == "clipReady" && message.data["playlist_url"] == "http://h:1/clips?x=1")
        #expect(message.data["end_marker"] == .null)
    }

    @Test("session_ended and moderation that terminates announce the end; a warning does not")
    func announcements() {
        var moderation = Moderation()
        moderation.action = "warn"
        #expect(announces(.moderation(moderation)) == false)
        moderation.action = "terminate"
        #expect(announces(.moderation(moderation)) == true)
        #expect(announces(.sessionEnded(reason: "over")) == true)
    }

    private func announces(_ content: ServerMessage.Content) -> Bool? {
        guard case .runtime(let message)? = route(content, .control).publications.first else { return nil }
        return message.announcesEnd
    }

    @Test("PB-05 a reply this version cannot read fails its call instead of leaving it waiting")
    func unknownReply() {
        guard case .failure(let error)? = route(.unknown, call: command).reply else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .decodeFailed)
        #expect(route(.unknown) == .init())
    }

    @Test("texts of timeouts and interruptions")
    func texts() {
        #expect(command.timedOut().message == "timed out: set did not complete within 10s")
        #expect(command.timedOut().recoverable)
        #expect(CoreError.channelNotOpen(state: "Closed", operation: .sendCommand).message == "data channel not open (state: Closed)")
        #expect(CoreError.sessionPollsExhausted(sessionID: "s", attempts: 20).message == "session s not ready after 20 polls")
        #expect(CoreError.answerPollsExhausted(attempts: 6).message == "no SDP answer after 6 polls")
    }
}
