internal import RTCPeer
public import Reactor
internal import ReactorCore

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One running session of a ``LocalRuntime``, as its model sees it.
///
/// It lasts from a client's `connect()` until somebody ends it, or until no client has been there for a while. After that, calls
/// that send throw `ReactorError.sessionTerminal`, and the sequences have ended. All calls are safe from any task.
public actor LocalSession {
    /// The id in the runtime's URLs; all local sessions have the same.
    public nonisolated let id: String
    nonisolated let core: RuntimeCore
    private nonisolated let media: SessionMedia

    init(id: String, core: RuntimeCore, media: SessionMedia) {
        self.id = id
        self.core = core
        self.media = media
    }

    // MARK: Messages

    /// Sends a message of the model to every client.
    ///
    /// ```swift
    /// try await session.send(["type": "progress", "data": ["percent": 40]])
    /// ```
    ///
    /// - Parameter message: an object with a `type`, a string, and `data`, an object, or none. A client whose channel cannot take
    ///   it, because it is too large or too many wait, does not get it.
    /// - Throws: `ReactorError.badRequest` for another shape or NaN; `.sessionTerminal` when the session has ended.
    public func send(_ message: JSONValue) async throws {
        guard let type = message["type"]?.stringValue else {
            throw ReactorError(.badRequest, "a message is an object with a string named 'type'", operation: "send")
        }
        let data = (message["data"] ?? .null).wireValue
        guard data.isNull || data.objectValue != nil else {
            throw ReactorError(.badRequest, "the data of a message is an object", operation: "send")
        }
        do {
            try data.validateForSending()
        } catch {
            throw ReactorError(.badRequest, "the message cannot be sent: \(error)", operation: "send")
        }
        try await core.broadcast(.model(ModelMessage(type: type, data: data)), on: .data, session: self)
    }

    // MARK: Media

    /// Sends one picture to every client that has the track resumed; without one, and on a track that is not recorded, it costs
    /// nothing. The first track of each kind is recorded, unless ``LocalRuntime/Configuration/recordsSessions`` is off.
    ///
    /// Returns when the picture is converted; encoding and sending go on by themselves, and a picture that is not yet being
    /// encoded when the next one comes is replaced by it.
    /// - Throws: `ReactorError.badRequest` when size, count of bytes or capture time cannot be; `.notFound` for a track that the
    ///   model does not declare; `.invalidState` for one that carries audio or comes from clients; `.sessionTerminal` when the
    ///   session has ended.
    public func pushVideo(_ frame: OutgoingVideoFrame, to track: String) throws { try media.push(frame, to: track) }

    /// Sends sound to every client that has the track resumed, and to the recording, as ``pushVideo(_:to:)``.
    ///
    /// - Parameters:
    ///   - samples: 48 kHz, one channel, any number of them. They are sent as they come: push 10 or 20 ms at a time, at the pace of a
    ///     clock.
    ///   - track: the name of an audio track that goes to clients.
    /// - Throws: as ``pushVideo(_:to:)``.
    public func pushAudio(_ samples: [Int16], to track: String) throws { try media.push(samples, to: track) }

    /// The pictures that the track's publisher sends, newest first come. It ends with the session.
    ///
    /// - Throws: `ReactorError.notFound` for a track that the model does not declare; `.invalidState` for one that carries audio
    ///   or goes to clients.
    public nonisolated func videoFrames(from track: String) throws -> VideoFrames {
        VideoFrames(track: try media.input(track, kind: .video, operation: "videoFrames"))
    }

    /// The sound that the track's publisher sends, in blocks of 10 ms. It ends with the session.
    ///
    /// - Throws: as ``videoFrames(from:)``.
    public nonisolated func audioFrames(from track: String) throws -> AudioFrames {
        AudioFrames(track: try media.input(track, kind: .audio, operation: "audioFrames"))
    }

    // MARK: Uploads

    /// The file behind a command's argument of kind ``LocalParameter/Kind/upload``; waits until its bytes are there.
    ///
    /// - Throws: `ReactorError.badRequest` when the argument names no file; `.unresolvedUpload` when the bytes do not come within
    ///   ``LocalRuntime/Configuration/uploadTimeout``; `.sessionTerminal` when the session has ended. A cancelled task throws
    ///   `CancellationError`.
    public func upload(_ argument: JSONValue?) async throws -> LocalUpload {
        guard let id = argument?.wireValue.uploadID else {
            throw ReactorError(.badRequest, "the argument is no uploaded file", operation: "upload")
        }
        let bytes = await core.uploads.bytes(of: id, within: core.settings.uploadTimeout)
        try Task.checkCancellation()
        // The files of the next session are not this one's.
        if media.hasEnded { throw ReactorError(.sessionTerminal, "the session has ended", operation: "upload") }
        guard let bytes, let upload = core.uploads.upload(id) else {
            throw ReactorError(.unresolvedUpload, "the bytes of upload '\(id)' did not arrive", operation: "upload")
        }
        return LocalUpload(name: upload.name, mimeType: upload.mimeType, data: Data(bytes))
    }

    // MARK: Clients

    /// How many clients are connected.
    public var connectionCount: Int { get async { await core.openConnectionCount(of: self) } }

    /// Closes every client's connection without a word; the session stays, and they may reconnect.
    public func dropConnection() async { await core.dropConnections(of: self) }

    /// Tells every client that an input was found to break the rules; informs only, the session goes on.
    ///
    /// - Parameters:
    ///   - message: for people.
    ///   - command: the command that brought the input.
    ///   - inputKind: `text` or `image`.
    ///   - categories: what was found.
    /// - Throws: `ReactorError.sessionTerminal` when the session has ended.
    public func moderate(
        _ message: String, command: String = "", inputKind: String = "text", categories: [String] = []
    ) async throws {
        var moderation = Moderation()
        moderation.action = "warn"
        moderation.message = message
        moderation.command = command
        moderation.inputKind = inputKind
        moderation.categories = categories
        try await core.broadcast(.moderation(moderation), on: .control, session: self)
    }

    /// Ends the session for every client, and returns when their connections are closed. Does nothing when it has ended.
    ///
    /// - Parameters:
    ///   - reason: told to the clients, at most 64 characters of it; without one they are told nothing.
    ///   - moderated: tells them instead that the session was ended because of a violation of policy.
    public func end(reason: String = "", moderated: Bool = false) async {
        await core.endSession(of: self, moderates: moderated, reason: reason)
    }
}

/// A file that a client uploaded.
public struct LocalUpload: Sendable, Hashable {
    /// As the client named it.
    public let name: String
    /// As the client said, such as `image/png`; nobody has looked.
    public let mimeType: String
    /// All of its bytes.
    public let data: Data

    /// For tests of a model's own code.
    public init(name: String, mimeType: String, data: Data) {
        self.name = name
        self.mimeType = mimeType
        self.data = data
    }
}

extension RuntimeCore {
    func openConnectionCount(of handle: LocalSession) -> Int {
        session?.handle === handle ? connections.values.count(where: \.isOpen) : 0
    }

    func dropConnections(of handle: LocalSession) async {
        guard session?.handle === handle else { return }
        let dropped = Array(connections.values)
        for connection in dropped { detach(connection, from: session) }
        publish()
        await closeAll(dropped.compactMap(\.peer)) { await $0.close() }
    }

    func endSession(of handle: LocalSession, moderates: Bool, reason: String) async {
        guard session?.handle === handle else { return }
        try? await stopSession(moderates: moderates, reason: reason)
    }
}
