// Who gets a message of the far end (wire-protocol 5.5, 8.4, 8.5).

extension ServerMessage {
    /// Where one message goes: into a waiting call, to event subscribers, or both.
    package struct Route: Hashable, Sendable {
        /// What resolves the waiting call; `nil` when none waits under this id.
        package var reply: Reply?
        package var publications: [Publication] = []
    }

    package enum Publication: Hashable, Sendable {
        /// A `message` event of the model.
        case model(ModelMessage)
        /// A platform event.
        case runtime(RuntimeMessage)
        /// An error event that no call waited for.
        case error(CoreError)
    }

    /// - Parameters:
    ///   - call: the call waiting under `requestID`, if any. Kind of message is not checked: the id alone decides.
    ///   - apiURL: base for playlist URLs without a host.
    package func route(awaitedBy call: PendingCall?, apiURL: String) -> Route {
        var route = Route(reply: call.map(reply))
        switch content {
        case .model(let message): route.publications.append(.model(message))
        case .error(let error) where call == nil && channel == .data:
            // Platform codes are final for a call, but here nobody asked: the platform says the session goes on.
            let code = ErrorCode(rawValue: error.code)
            route.publications.append(.error(CoreError(code, error.message, recoverable: true)))
        default:
            if let message = RuntimeMessage(content, apiURL: apiURL) { route.publications.append(.runtime(message)) }
        }
        if case .clipReady(let clip) = content, call != nil { route.reply = clipReply(clip, call: call, apiURL: apiURL) }
        return route
    }

    private func reply(to call: PendingCall) -> Reply {
        switch (content, call) {
        case (.error(let error), _): .failure(call.refused(error))
        case (.clipFailed(let reason), .clip), (.clipFailed(let reason), .recording): .failure(call.clipFailed(reason: reason))
        case (.acknowledgement, _): .acknowledged
        case (.model(let message), .command): .model(message)
        case (.publishGranted, .publish): .acknowledged
        case (.schema(let openAPI), .schema): .schema(openAPI)
        default: .failure(call.unreadableReply)
        }
    }

    private func clipReply(_ clip: ClipReady, call: PendingCall?, apiURL: String) -> Reply? {
        switch call {
        case .clip, .recording: .clip(clip.resolvingPlaylist(against: apiURL))
        case .some(let other): .failure(other.unreadableReply)
        case nil: nil
        }
    }
}

/// What a waiting call gets.
package enum Reply: Hashable, Sendable {
    /// Done, without a message.
    case acknowledged
    case model(ModelMessage)
    case schema(WireValue)
    case clip(ClipReady)
    case failure(CoreError)
}

/// A platform event as it is published: `{"type", "data"}` (wire-protocol 8.5).
package struct RuntimeMessage: Hashable, Sendable {
    package var type: String
    package var data: WireValue
    /// The session is about to end: the loss that follows is expected, and a reconnect will not work.
    package var announcesEnd: Bool

    init?(_ content: ServerMessage.Content, apiURL: String) {
        announcesEnd = false
        switch content {
        case .clipReady(let clip):
            type = "clipReady"
            data = clip.resolvingPlaylist(against: apiURL).wireValue
        case .clipFailed(let reason):
            type = "clipFailed"
            data = .object(["reason": .string(reason)])
        case .moderation(let moderation):
            type = "moderation"
            data = moderation.wireValue
            announcesEnd = moderation.action == "terminate"
        case .sessionEnded(let reason):
            type = "sessionEnded"
            data = .object(["reason": .string(reason)])
            announcesEnd = true
        default: return nil
        }
    }
}

extension ClipReady {
    /// The JSON form with the wire spelling.
    package var wireValue: WireValue {
        .object([
            "session_id": .string(sessionID), "kind": .string(kind), "start_marker": .finite(startMarker),
            "end_marker": .finite(endMarker), "now_marker": .finite(nowMarker),
            "predicted_ready_at_ms": .number(Double(predictedReadyAtMilliseconds)), "playlist_url": .string(playlistURL),
        ])
    }
}

extension Moderation {
    package var wireValue: WireValue {
        .object([
            "action": .string(action), "input_kind": .string(inputKind), "command": .string(command),
            "categories": .list(categories.map(WireValue.string)), "message": .string(message),
        ])
    }
}

extension WireValue {
    /// A number, or null for what JSON cannot say.
    fileprivate static func finite(_ number: Double) -> WireValue { number.isFinite ? .number(number) : .null }
}
