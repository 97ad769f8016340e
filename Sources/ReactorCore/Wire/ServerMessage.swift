/// One thing the platform or the model said, whichever channel and encoding it came in.
package struct ServerMessage: Hashable, Sendable {
    package var channel: MessageChannel
    /// Empty when the message answers nothing.
    package var requestID: String
    package var content: Content

    package enum Content: Hashable, Sendable {
        case model(ModelMessage)
        case schema(WireValue)
        case clipReady(ClipReady)
        case clipFailed(reason: String)
        case moderation(Moderation)
        case publishGranted
        case sessionEnded(reason: String)
        case error(ErrorMessage)
        /// A reply without a payload: done, nothing to say.
        case acknowledgement
        case stepResult
        /// Readable, but with a payload of a later version.
        case unknown
    }

    package init(channel: MessageChannel, requestID: String, content: Content) {
        self.channel = channel
        self.requestID = requestID
        self.content = content
    }
}

/// The two data channels, by label.
package enum MessageChannel: String, Hashable, Sendable, CaseIterable {
    case data
    case control
}

/// Makes a `ServerMessage` of a whole message from a channel: protobuf v1, or v0 JSON when it looks like JSON (wire-protocol 5.2).
/// The runtime speaks v0 until it has seen our first frame, so both have to be read at any time.
package enum ServerFrameDecoder {
    /// - Parameter isText: the message came with the text payload kind or the text flag.
    package static func decode(channel: MessageChannel, isText: Bool, bytes: [UInt8]) throws(WireFormatError) -> ServerMessage {
        if isText { return try LegacyMessage.parse(channel: channel, bytes) }
        if looksLikeJSON(bytes) {
            // A protobuf message may begin like this too (tag 0x0A is a line feed), so JSON is only a first guess.
            do { return try LegacyMessage.parse(channel: channel, bytes) } catch { return try decodeProtobuf(channel: channel, bytes) }
        }
        return try decodeProtobuf(channel: channel, bytes)
    }

    static func looksLikeJSON(_ bytes: [UInt8]) -> Bool {
        let first = bytes.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    private static func decodeProtobuf(channel: MessageChannel, _ bytes: [UInt8]) throws(WireFormatError) -> ServerMessage {
        switch channel {
        case .data:
            let envelope = try DataServerMessage(parsing: bytes)
            return ServerMessage(channel: .data, requestID: envelope.requestID, content: content(envelope))
        case .control:
            let envelope = try ControlServerMessage(parsing: bytes)
            return ServerMessage(channel: .control, requestID: envelope.requestID, content: content(envelope))
        }
    }

    private static func content(_ envelope: DataServerMessage) -> ServerMessage.Content {
        switch envelope.payload {
        case .message(let message): .model(message)
        case .stepResult: .stepResult
        case .error(let error): .error(error)
        case nil: isAcknowledgement(envelope) ? .acknowledgement : .unknown
        }
    }

    private static func content(_ envelope: ControlServerMessage) -> ServerMessage.Content {
        switch envelope.payload {
        case .modelSchema(let openAPI): .schema(openAPI)
        case .clipReady(let clip): .clipReady(clip)
        case .clipFailed(let reason): .clipFailed(reason: reason)
        case .moderation(let moderation): .moderation(moderation)
        case .publishTrack: .publishGranted
        case .sessionEnded(let reason): .sessionEnded(reason: reason)
        case .error(let error): .error(error)
        case nil: isAcknowledgement(envelope) ? .acknowledgement : .unknown
        }
    }

    private static func isAcknowledgement(_ envelope: Envelope<some EnvelopePayload>) -> Bool {
        envelope.unknownPayloadField == nil && !envelope.requestID.isEmpty
    }
}
