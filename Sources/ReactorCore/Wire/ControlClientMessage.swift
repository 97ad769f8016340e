package typealias ControlClientMessage = Envelope<ControlClientPayload>

/// What the client says on the control channel.
package enum ControlClientPayload: EnvelopePayload {
    case ping
    case requestSchema
    case fileUploaded(UploadReference)
    case requestClip(durationSeconds: Double)
    case requestRecording
    case publishTrack(name: String)
    case pauseTrack(name: String)
    case resumeTrack(name: String)
    case unpublishTrack(name: String)
    /// Optional statistics for the platform; we send none and keep nothing of them.
    case clientStats
    case error(ErrorMessage)

    package static let fields: Set<Int> = Set(10...19).union([40])

    package var field: Int {
        switch self {
        case .ping: 10
        case .requestSchema: 11
        case .fileUploaded: 12
        case .requestClip: 13
        case .requestRecording: 14
        case .publishTrack: 15
        case .pauseTrack: 16
        case .resumeTrack: 17
        case .unpublishTrack: 18
        case .clientStats: 19
        case .error: 40
        }
    }

    package init(reading reader: inout ProtobufReader, field: Int) throws(WireFormatError) {
        switch field {
        case 10:
            try SingleString.skipAll(&reader)
            self = .ping
        case 11:
            try SingleString.skipAll(&reader)
            self = .requestSchema
        case 12: self = .fileUploaded(try UploadReference(reading: &reader))
        case 13: self = .requestClip(durationSeconds: try Self.readDuration(&reader))
        case 14:
            try SingleString.skipAll(&reader)
            self = .requestRecording
        case 15: self = .publishTrack(name: try SingleString.read(&reader))
        case 16: self = .pauseTrack(name: try SingleString.read(&reader))
        case 17: self = .resumeTrack(name: try SingleString.read(&reader))
        case 18: self = .unpublishTrack(name: try SingleString.read(&reader))
        case 19:
            try SingleString.skipAll(&reader)
            self = .clientStats
        case 40: self = .error(try ErrorMessage(reading: &reader))
        default: throw .badTag
        }
    }

    package func write(to writer: inout ProtobufWriter) throws(WireFormatError) {
        switch self {
        case .ping, .requestSchema, .requestRecording, .clientStats: break
        case .fileUploaded(let upload): upload.write(to: &writer)
        case .requestClip(let seconds): writer.write(seconds, field: 1)
        case .publishTrack(let name), .pauseTrack(let name), .resumeTrack(let name), .unpublishTrack(let name):
            writer.write(name, field: 1)
        case .error(let error): error.write(to: &writer)
        }
    }

    private static func readDuration(_ reader: inout ProtobufReader) throws(WireFormatError) -> Double {
        var seconds = 0.0
        while let field = try reader.nextField() {
            if field.number == 1, field.wireType == .fixed64 { seconds = try reader.readDouble() } else { try reader.skip(field) }
        }
        return seconds
    }
}

extension ControlClientMessage {
    /// A notification: no id, no reply.
    package static func notification(_ payload: ControlClientPayload) -> ControlClientMessage {
        ControlClientMessage(kind: .notification, payload: payload)
    }
}
