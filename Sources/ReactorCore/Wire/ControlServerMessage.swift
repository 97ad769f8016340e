package typealias ControlServerMessage = Envelope<ControlServerPayload>

/// What the platform says on the control channel.
package enum ControlServerPayload: EnvelopePayload {
    case modelSchema(WireValue)
    case clipReady(ClipReady)
    case clipFailed(reason: String)
    case moderation(Moderation)
    /// The name is empty in practice: match by request id.
    case publishTrack(name: String)
    case sessionEnded(reason: String)
    case error(ErrorMessage)

    package static let fields: Set<Int> = Set(10...15).union([40])

    package var field: Int {
        switch self {
        case .modelSchema: 10
        case .clipReady: 11
        case .clipFailed: 12
        case .moderation: 13
        case .publishTrack: 14
        case .sessionEnded: 15
        case .error: 40
        }
    }

    package init(reading reader: inout ProtobufReader, field: Int) throws(WireFormatError) {
        switch field {
        case 10:
            var openAPI = WireValue.object([:])
            while let part = try reader.nextField() {
                if part.number == 1, part.wireType == .lengthDelimited {
                    openAPI = try reader.readMessage { body throws(WireFormatError) in try WireValue.readStruct(&body) }
                } else {
                    try reader.skip(part)
                }
            }
            self = .modelSchema(openAPI)
        case 11: self = .clipReady(try ClipReady(reading: &reader))
        case 12: self = .clipFailed(reason: try SingleString.read(&reader))
        case 13: self = .moderation(try Moderation(reading: &reader))
        case 14: self = .publishTrack(name: try SingleString.read(&reader))
        case 15: self = .sessionEnded(reason: try SingleString.read(&reader))
        case 40: self = .error(try ErrorMessage(reading: &reader))
        default: throw .badTag
        }
    }

    package func write(to writer: inout ProtobufWriter) throws(WireFormatError) {
        switch self {
        case .modelSchema(let openAPI):
            try writer.writeMessage(field: 1) { body throws(WireFormatError) in
                try WireValue.writeStruct(openAPI.objectValue ?? [:], to: &body)
            }
        case .clipReady(let clip): clip.write(to: &writer)
        case .clipFailed(let text), .sessionEnded(let text), .publishTrack(let text): writer.write(text, field: 1)
        case .moderation(let moderation): moderation.write(to: &writer)
        case .error(let error): error.write(to: &writer)
        }
    }
}

/// A clip or recording the platform will have ready soon (wire-protocol 2.9). Markers are seconds of media time.
package struct ClipReady: Hashable, Sendable {
    package var sessionID = ""
    /// "snap" or "recording".
    package var kind = ""
    package var startMarker = 0.0
    package var endMarker = 0.0
    package var nowMarker = 0.0
    /// Unix milliseconds; optimistic.
    package var predictedReadyAtMilliseconds: Int64 = 0
    /// As sent: may be a path below the API URL.
    package var playlistURL = ""

    package init() {}

    init(reading reader: inout ProtobufReader) throws(WireFormatError) {
        while let field = try reader.nextField() {
            switch (field.number, field.wireType) {
            case (1, .lengthDelimited): sessionID = try reader.readString()
            case (2, .lengthDelimited): kind = try reader.readString()
            case (3, .fixed64): startMarker = try reader.readDouble()
            case (4, .fixed64): endMarker = try reader.readDouble()
            case (5, .fixed64): nowMarker = try reader.readDouble()
            case (6, .varint): predictedReadyAtMilliseconds = Int64(bitPattern: try reader.readVarint())
            case (7, .lengthDelimited): playlistURL = try reader.readString()
            default: try reader.skip(field)
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.write(sessionID, field: 1)
        writer.write(kind, field: 2)
        writer.write(startMarker, field: 3)
        writer.write(endMarker, field: 4)
        writer.write(nowMarker, field: 5)
        writer.write(predictedReadyAtMilliseconds, field: 6)
        writer.write(playlistURL, field: 7)
    }

    /// The playlist URL below `apiURL` unless it is absolute already (wire-protocol 2.9).
    package func resolvingPlaylist(against apiURL: String) -> ClipReady {
        var copy = self
        guard !playlistURL.hasPrefix("http://"), !playlistURL.hasPrefix("https://") else { return self }
        let base = apiURL.hasSuffix("/") ? String(apiURL.dropLast()) : apiURL
        copy.playlistURL = base + "/" + playlistURL.drop { $0 == "/" }
        return copy
    }
}

/// A moderation notice: `warn` informs, `terminate` announces the end of the session.
package struct Moderation: Hashable, Sendable {
    package var action = ""
    package var inputKind = ""
    package var command = ""
    package var categories: [String] = []
    package var message = ""

    package init() {}

    init(reading reader: inout ProtobufReader) throws(WireFormatError) {
        while let field = try reader.nextField() {
            switch (field.number, field.wireType) {
            case (1, .lengthDelimited): action = try reader.readString()
            case (2, .lengthDelimited): inputKind = try reader.readString()
            case (3, .lengthDelimited): command = try reader.readString()
            case (4, .lengthDelimited):
                try reader.countValue()
                categories.append(try reader.readString())
            case (5, .lengthDelimited): message = try reader.readString()
            default: try reader.skip(field)
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.write(action, field: 1)
        writer.write(inputKind, field: 2)
        writer.write(command, field: 3)
        for category in categories { writer.writeAlways(category, field: 4) }
        writer.write(message, field: 5)
    }
}
