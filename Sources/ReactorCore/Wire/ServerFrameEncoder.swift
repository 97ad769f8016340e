/// One message as it goes into a channel.
package struct ChannelFrame: Hashable, Sendable {
    package var channel: MessageChannel
    package var isText: Bool
    package var bytes: [UInt8]
}

/// Writes what a server says, in the encoding of the connection (wire-protocol 5.5, 5.9).
package enum ServerFrameEncoder {
    /// A message with a request id is a response, one without a notification.
    ///
    /// - Returns: nil for what the encoding has no frame for: v0 knows neither acknowledgements nor refused commands.
    package static func encode(_ message: ServerMessage, _ encoding: ChannelEncoding) throws(WireFormatError) -> ChannelFrame? {
        switch encoding {
        case .v0: try legacy(message)
        case .v1: try protobuf(message)
        }
    }

    private static func protobuf(_ message: ServerMessage) throws(WireFormatError) -> ChannelFrame {
        let kind = message.requestID.isEmpty ? MessageKind.notification : .response
        let bytes: [UInt8]
        switch message.channel {
        case .data:
            bytes = try DataServerMessage(requestID: message.requestID, kind: kind, payload: dataPayload(message.content)).encode()
        case .control:
            bytes = try ControlServerMessage(requestID: message.requestID, kind: kind, payload: controlPayload(message.content))
                .encode()
        }
        return ChannelFrame(channel: message.channel, isText: false, bytes: bytes)
    }

    private static func dataPayload(_ content: ServerMessage.Content) -> DataServerPayload? {
        switch content {
        case .model(let message): .message(message)
        case .error(let error): .error(error)
        default: nil
        }
    }

    private static func controlPayload(_ content: ServerMessage.Content) -> ControlServerPayload? {
        switch content {
        case .schema(let document): .modelSchema(document)
        case .clipReady(let clip): .clipReady(clip)
        case .clipFailed(let reason): .clipFailed(reason: reason)
        case .moderation(let moderation): .moderation(moderation)
        case .publishGranted: .publishTrack(name: "")
        case .sessionEnded(let reason): .sessionEnded(reason: reason)
        case .error(let error): .error(error)
        default: nil
        }
    }

    // MARK: v0

    private static func legacy(_ message: ServerMessage) throws(WireFormatError) -> ChannelFrame? {
        switch message.content {
        case .model(let model):
            let data = model.data.isNull ? WireValue.object([:]) : model.data
            return try scoped("application", type: model.type, data: data)
        case .schema(let document): return try scoped("runtime", type: "modelSchema", data: document)
        case .clipReady(let clip): return try scoped("runtime", type: "clipReady", data: clip.wireValue)
        case .clipFailed(let reason): return try scoped("runtime", type: "clipFailed", data: .object(["reason": .string(reason)]))
        case .moderation(let moderation): return try scoped("runtime", type: "moderation", data: moderation.wireValue)
        case .sessionEnded(let reason): return try scoped("runtime", type: "sessionEnded", data: .object(["reason": .string(reason)]))
        case .publishGranted: return try publishReply(message.requestID, ["data": .object([:])])
        case .error(let error) where message.channel == .control:
            let record = WireValue.object(["code": .string(error.code), "message": .string(error.message)])
            return try publishReply(message.requestID, ["error": record])
        case .error, .acknowledgement, .stepResult, .unknown: return nil
        }
    }

    private static func scoped(_ scope: String, type: String, data: WireValue) throws(WireFormatError) -> ChannelFrame {
        let body = WireValue.object(["scope": .string(scope), "data": .object(["type": .string(type), "data": data])])
        return ChannelFrame(channel: .data, isText: true, bytes: try JSONText.write(body))
    }

    private static func publishReply(_ id: String, _ members: [String: WireValue]) throws(WireFormatError) -> ChannelFrame {
        var body = members
        body["type"] = "response"
        body["method"] = "publish_track"
        body["request_id"] = .string(id)
        return ChannelFrame(channel: .control, isText: true, bytes: try JSONText.write(.object(body)))
    }
}
