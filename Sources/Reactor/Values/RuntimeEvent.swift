internal import ReactorCore

/// A message of the platform, read.
public enum RuntimeEvent: Sendable, Hashable {
    /// A clip or recording was accepted, whoever asked for it.
    case clipReady(Clip)
    /// One was refused: `.recorderDisabled` when the session is not recorded, `.internalError` otherwise.
    case clipFailed(ReactorError)
    /// Something sent to the model was objected to.
    case moderation(ModerationEvent)
    /// A type this version has no case for, or one whose content it cannot read.
    case other(type: String, data: JSONValue)

    /// Reads a message as ``Reactor/runtimeMessages`` gives it.
    init(_ message: JSONValue) {
        let type = message["type"]?.stringValue ?? ""
        let data = message["data"] ?? .null
        self = .other(type: type, data: data)
        switch type {
        case "clipReady": if let clip = try? Clip(payload: data) { self = .clipReady(clip) }
        case "clipFailed":
            let error = PendingCall.clip.clipFailed(reason: data["reason"]?.stringValue ?? "")
            self = .clipFailed(ReactorError(error))
        case "moderation": if let event = ModerationEvent(data) { self = .moderation(event) }
        default: break
        }
    }
}

/// The platform objected to an input.
public struct ModerationEvent: Sendable, Hashable, Codable {
    /// What follows from it; others than the known ones may come.
    public struct Action: RawRepresentable, Sendable, Hashable, Codable {
        /// The platform's spelling.
        public let rawValue: String
        /// Takes any text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The session goes on.
        public static let warn = Action(rawValue: "warn")
        /// The session is about to end.
        public static let terminate = Action(rawValue: "terminate")
    }

    /// What follows from it.
    public let action: Action
    /// `text` or `image`.
    public let inputKind: String
    /// The command whose argument it was.
    public let command: String
    /// What was found in it.
    public let categories: [String]
    /// For people.
    public let message: String

    /// The platform's spelling.
    private enum CodingKeys: String, CodingKey {
        case action
        case inputKind = "input_kind"
        case command
        case categories
        case message
    }

    init?(_ data: JSONValue) {
        guard let action = data["action"]?.stringValue else { return nil }
        self.action = Action(rawValue: action)
        inputKind = data["input_kind"]?.stringValue ?? ""
        command = data["command"]?.stringValue ?? ""
        categories = data["categories"]?.arrayValue?.compactMap(\.stringValue) ?? []
        message = data["message"]?.stringValue ?? ""
    }
}
