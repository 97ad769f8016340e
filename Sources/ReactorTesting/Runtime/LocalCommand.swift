public import Reactor

/// One command that a model accepts, with the arguments it takes.
public struct LocalCommand: Sendable, Hashable {
    /// What clients call it; unique among the model's commands.
    public let name: String
    /// For people who read the schema.
    public let summary: String
    /// What it takes, by name; anything else in a client's arguments is refused.
    public let parameters: [LocalParameter]

    /// A command without parameters takes no arguments.
    public init(_ name: String, _ summary: String = "", parameters: [LocalParameter] = []) {
        self.name = name
        self.summary = summary
        self.parameters = parameters
    }
}

/// One argument of a command.
public struct LocalParameter: Sendable, Hashable {
    /// What fits; anything else is refused with `invalid_command`.
    public enum Kind: Sendable, Hashable {
        /// A text of at most `maxLength` Unicode scalars; `oneOf` empty allows every text.
        case string(maxLength: Int?, oneOf: [String])
        /// A number within the range; `nil` allows every number.
        case number(ClosedRange<Double>?)
        /// A number without a fraction within the range; `nil` allows every one.
        case integer(ClosedRange<Int>?)
        /// True or false.
        case boolean
        /// An object, whatever its members.
        case object
        /// An array, whatever its elements.
        case list
        /// A file that the client uploaded; the handler reads it with ``LocalSession/upload(_:)``.
        case upload
    }

    /// The member of the arguments; unique within the command.
    public let name: String
    /// What fits.
    public let kind: Kind
    /// Used when the argument is missing; a parameter without one is required.
    public let defaultValue: JSONValue?
    /// For people who read the schema.
    public let summary: String

    /// Declares an argument.
    ///
    /// - Parameters:
    ///   - name: unique within the command.
    ///   - kind: what fits.
    ///   - defaultValue: used when the argument is missing; without one the argument is required.
    ///   - summary: for people who read the schema.
    public init(_ name: String, _ kind: Kind, default defaultValue: JSONValue? = nil, _ summary: String = "") {
        self.name = name
        self.kind = kind
        self.defaultValue = defaultValue
        self.summary = summary
    }
}
