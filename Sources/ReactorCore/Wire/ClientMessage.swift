/// One thing a client said, whichever channel and encoding it came in; the server's side of `ServerMessage`.
package struct ClientMessage: Hashable, Sendable {
    /// Empty when the client gave none.
    package var requestID: String
    package var content: Content

    package enum Content: Hashable, Sendable {
        case command(Command)
        case ping
        case requestSchema
        case fileUploaded(UploadReference)
        case requestClip(durationSeconds: Double)
        case requestRecording
        case publishTrack(name: String)
        case pauseTrack(name: String)
        case resumeTrack(name: String)
        case unpublishTrack(name: String)
        /// Readable, and nothing to answer: statistics, errors, steps, payloads of a later version.
        case other
    }

    package init(requestID: String, content: Content) {
        self.requestID = requestID
        self.content = content
    }
}

/// The two encodings of channel messages (wire-protocol 5.2).
package enum ChannelEncoding: Hashable, Sendable {
    /// JSON text, for clients of the first version and browsers.
    case v0
    /// Protobuf.
    case v1

    /// What a connection speaks, by the first frame that came on it. Protobuf may begin like JSON (tag 0x0A is a line feed), so
    /// what only looks like JSON has to be JSON.
    package init(firstFrame bytes: [UInt8], isText: Bool) {
        let isJSON = isText || ServerFrameDecoder.looksLikeJSON(bytes) && (try? JSONText.parse(bytes)) != nil
        self = isJSON ? .v0 : .v1
    }
}

/// Makes a `ClientMessage` of a whole message from a channel.
package enum ClientFrameDecoder {
    package static func decode(
        channel: MessageChannel, encoding: ChannelEncoding, bytes: [UInt8]
    ) throws(WireFormatError) -> ClientMessage {
        switch (encoding, channel) {
        case (.v1, .data):
            let envelope = try DataClientMessage(parsing: bytes)
            return ClientMessage(requestID: envelope.requestID, content: content(envelope.payload))
        case (.v1, .control):
            let envelope = try ControlClientMessage(parsing: bytes)
            return ClientMessage(requestID: envelope.requestID, content: content(envelope.payload))
        case (.v0, _):
            return try LegacyClientMessage.parse(channel: channel, bytes)
        }
    }

    private static func content(_ payload: DataClientPayload?) -> ClientMessage.Content {
        if case .command(let command) = payload { return .command(command) }
        return .other
    }

    private static func content(_ payload: ControlClientPayload?) -> ClientMessage.Content {
        switch payload {
        case .ping: .ping
        case .requestSchema: .requestSchema
        case .fileUploaded(let upload): .fileUploaded(upload)
        case .requestClip(let seconds): .requestClip(durationSeconds: seconds)
        case .requestRecording: .requestRecording
        case .publishTrack(let name): .publishTrack(name: name)
        case .pauseTrack(let name): .pauseTrack(name: name)
        case .resumeTrack(let name): .resumeTrack(name: name)
        case .unpublishTrack(let name): .unpublishTrack(name: name)
        case .clientStats, .error, nil: .other
        }
    }
}
