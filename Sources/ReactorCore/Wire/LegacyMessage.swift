/// The v0 JSON frames, receive side (wire-protocol 5.9). There is no correlation except for publish replies.
enum LegacyMessage {
    static func parse(channel: MessageChannel, _ bytes: [UInt8]) throws(WireFormatError) -> ServerMessage {
        let frame = try JSONText.parse(bytes, maxBytes: FormatLimits.maxMessageBytes)
        guard frame.objectValue != nil else { throw .wrongType("frame") }
        switch channel {
        case .data: return ServerMessage(channel: .data, requestID: "", content: try dataContent(frame))
        case .control:
            return ServerMessage(
                channel: .control, requestID: try frame.optionalString("request_id") ?? "", content: try controlContent(frame))
        }
    }

    private static func dataContent(_ frame: WireValue) throws(WireFormatError) -> ServerMessage.Content {
        guard let message = try frame.optionalObject("data") else { throw .missing("data") }
        let type = try message.requiredString("type")
        let data = try message.optionalObject("data")
        switch try frame.requiredString("scope") {
        case "application": return .model(ModelMessage(type: type, data: data ?? .null))
        case "runtime": return try runtimeContent(type: type, data: data ?? .object([:]))
        default: return .unknown
        }
    }

    private static func runtimeContent(type: String, data: WireValue) throws(WireFormatError) -> ServerMessage.Content {
        switch type {
        case "modelSchema": return .schema(data)
        case "clipReady": return .clipReady(try clip(data))
        case "clipFailed": return .clipFailed(reason: try data.optionalString("reason") ?? "")
        case "moderation": return .moderation(try moderation(data))
        case "sessionEnded": return .sessionEnded(reason: try data.optionalString("reason") ?? "")
        default: return .unknown
        }
    }

    private static func controlContent(_ frame: WireValue) throws(WireFormatError) -> ServerMessage.Content {
        guard try frame.requiredString("type") == "response", try frame.optionalString("method") == "publish_track" else {
            return .unknown
        }
        guard let error = try frame.optionalObject("error") else { return .publishGranted }
        return .error(
            ErrorMessage(code: try error.optionalString("code") ?? "", message: try error.optionalString("message") ?? ""))
    }

    private static func clip(_ data: WireValue) throws(WireFormatError) -> ClipReady {
        var clip = ClipReady()
        clip.sessionID = try data.optionalString("session_id") ?? ""
        clip.kind = try data.optionalString("kind") ?? ""
        clip.startMarker = try data.optionalNumber("start_marker") ?? 0
        clip.endMarker = try data.optionalNumber("end_marker") ?? 0
        clip.nowMarker = try data.optionalNumber("now_marker") ?? 0
        // A prediction out of range is as good as none.
        clip.predictedReadyAtMilliseconds = Int64(exactly: (try data.optionalNumber("predicted_ready_at_ms") ?? 0).rounded()) ?? 0
        clip.playlistURL = try data.optionalString("playlist_url") ?? ""
        return clip
    }

    private static func moderation(_ data: WireValue) throws(WireFormatError) -> Moderation {
        var moderation = Moderation()
        moderation.action = try data.optionalString("action") ?? ""
        moderation.inputKind = try data.optionalString("input_kind") ?? ""
        moderation.command = try data.optionalString("command") ?? ""
        moderation.categories = (try data.optionalList("categories") ?? []).compactMap(\.stringValue)
        moderation.message = try data.optionalString("message") ?? ""
        return moderation
    }
}
