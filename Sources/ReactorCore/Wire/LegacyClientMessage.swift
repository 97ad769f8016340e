/// The v0 JSON frames as a server reads them (wire-protocol 5.9).
enum LegacyClientMessage {
    static func parse(channel: MessageChannel, _ bytes: [UInt8]) throws(WireFormatError) -> ClientMessage {
        let frame = try JSONText.parse(bytes, maxBytes: FormatLimits.maxMessageBytes)
        guard frame.objectValue != nil else { throw .wrongType("frame") }
        switch channel {
        case .data: return ClientMessage(requestID: "", content: try dataContent(frame))
        case .control:
            return ClientMessage(requestID: try frame.optionalString("request_id") ?? "", content: try controlContent(frame))
        }
    }

    private static func dataContent(_ frame: WireValue) throws(WireFormatError) -> ClientMessage.Content {
        guard let message = try frame.optionalObject("data") else { throw .missing("data") }
        let type = try message.requiredString("type")
        let data = try message.optionalObject("data") ?? .object([:])
        switch try frame.requiredString("scope") {
        case "application":
            let uploads = try uploads(message)
            do throws(CoreError) {
                return .command(try Command(type: type, data: data, uploads: uploads))
            } catch {
                throw .wrongType("data")
            }
        case "runtime": return try runtimeContent(type: type, data: data)
        default: return .other
        }
    }

    private static func runtimeContent(type: String, data: WireValue) throws(WireFormatError) -> ClientMessage.Content {
        switch type {
        case "ping": return .ping
        case "requestSchema": return .requestSchema
        case "requestClip": return .requestClip(durationSeconds: try data.optionalNumber("duration_seconds") ?? 0)
        case "requestRecording": return .requestRecording
        case "fileUploaded": return .fileUploaded(try upload(data))
        default: return .other
        }
    }

    private static func controlContent(_ frame: WireValue) throws(WireFormatError) -> ClientMessage.Content {
        let name = try frame.optionalObject("data")?.optionalString("name") ?? ""
        let subject = try frame.optionalString("method")
        let event = try frame.optionalString("event")
        switch (try frame.requiredString("type"), subject ?? event) {
        case ("request", "publish_track"): return .publishTrack(name: name)
        case ("notification", "pause_track"): return .pauseTrack(name: name)
        case ("notification", "resume_track"): return .resumeTrack(name: name)
        case ("notification", "unpublish_track"): return .unpublishTrack(name: name)
        default: return .other
        }
    }

    private static func uploads(_ message: WireValue) throws(WireFormatError) -> [String: UploadReference] {
        var uploads: [String: UploadReference] = [:]
        for (parameter, value) in try message.optionalObject("uploads")?.objectValue ?? [:] { uploads[parameter] = try upload(value) }
        return uploads
    }

    private static func upload(_ value: WireValue) throws(WireFormatError) -> UploadReference {
        UploadReference(
            uploadID: try value.optionalString("upload_id") ?? "", name: try value.optionalString("name") ?? "",
            mimeType: try value.optionalString("mime_type") ?? "", size: Int64(exactly: try value.optionalNumber("size") ?? 0) ?? 0)
    }
}
