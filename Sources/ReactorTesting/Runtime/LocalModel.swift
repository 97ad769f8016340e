public import Reactor

/// A model served by ``LocalRuntime``: what it declares, what it does with commands, and what it sends.
///
/// ```swift
/// struct Mirror: LocalModel {
///     let tracks = [LocalTrack("main_video", kind: .video, direction: .recvonly)]
///
///     func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
///         CommandReply(type: "ok", data: arguments)
///     }
/// }
/// ```
public protocol LocalModel: Sendable {
    /// The name in the session's descriptor and in the schema; by default the type's.
    var name: String { get }
    /// What the model sends and takes, at most 127 tracks. Read when the runtime starts; later changes have no effect.
    var tracks: [LocalTrack] { get }
    /// What clients may send. `nil`, the default, lets every command through unchecked; otherwise a command that is not
    /// declared, or whose arguments do not fit, is refused with `invalid_command` before ``handle(_:_:in:)`` runs.
    var commands: [LocalCommand]? { get }

    /// Answers one command. Commands of one client arrive one after the other, in order.
    ///
    /// - Returns: the reply, or `nil` for an acknowledgement without one.
    /// - Throws: ``LocalCommandError`` reaches the client as it is, anything else as `internal_error` without a word
    ///   of it.
    func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply?

    /// A client has connected: at a session's start, a further one, or one that reconnects. What the model sends now reaches
    /// it; commands of this client are answered after this has returned. What it throws is logged, and the client stays.
    func clientConnected(in session: LocalSession) async throws

    /// What the model does by itself, from the first connection of a session until the session ends, when its task is
    /// cancelled. Returning earlier leaves the session as it is.
    func run(in session: LocalSession) async throws
}

extension LocalModel {
    public var name: String { String(describing: Self.self) }
    /// Everything goes, unchecked.
    public var commands: [LocalCommand]? { nil }
    /// Acknowledges.
    public func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? { nil }
    /// Nothing.
    public func clientConnected(in session: LocalSession) async throws {}
    /// Nothing.
    public func run(in session: LocalSession) async throws {}
}

/// A model's refusal of a command: code and message reach the client's `sendCommand` as they are.
public struct LocalCommandError: Error, Sendable, Hashable {
    /// Lower case by custom: `not_ready`.
    public let code: String
    /// For people.
    public let message: String

    /// To be thrown from ``LocalModel/handle(_:_:in:)``.
    public init(code: String, message: String) {
        self.code = code
        self.message = message
    }
}
