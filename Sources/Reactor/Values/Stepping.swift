#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Stepped generation, where the client asks for each chunk of a stream. This version makes streamed sessions only: what is here
// is the shape of the call, which such a session refuses.

/// A command that is part of a step.
public struct StepCommand: Sendable, Hashable {
    /// The name the model knows it by.
    public var command: String
    /// Its arguments, an object; nil for none.
    public var data: JSONValue?

    /// Makes a command from its parts.
    public init(_ command: String, _ data: JSONValue? = nil) {
        self.command = command
        self.data = data
    }
}

/// One frame of a track that a step made.
public struct StepFrame: Sendable, Hashable {
    /// The bytes, as `encoding` says.
    public let data: Data
    /// The type of a number in raw data, such as `uint8`.
    public let dtype: String
    /// The dimensions of raw data, outermost first.
    public let shape: [Int]
    /// How the bytes are coded.
    public let encoding: String
    /// Bytes that travel with the frame.
    public let metadata: Data?
    /// When it was made, in microseconds of the sender's clock.
    public let captureTimeUs: Int64?
}

/// What a step made on one track.
public struct StepTrackOutput: Sendable, Hashable {
    /// The track.
    public let name: String
    /// Its kind.
    public let kind: TrackKind
    /// In order.
    public let frames: [StepFrame]
    /// Frames per second, or samples per second.
    public let rate: Double
}

/// What one step made.
public struct StepResult: Sendable, Hashable {
    /// The number of the step, from 0.
    public let step: Int
    /// By track.
    public let tracks: [StepTrackOutput]
    /// How long the model took.
    public let elapsed: Duration
    /// What failed in it; nil when nothing did.
    public let error: String?

    /// The output of one track.
    ///
    /// - Throws: `ReactorError.notFound` when the step made nothing on it; the message names the tracks it has.
    public func track(_ name: String) throws -> StepTrackOutput {
        if let output = tracks.first(where: { $0.name == name }) { return output }
        throw ReactorError(
            .notFound, "the step made nothing on a track '\(name)'; it has: \(tracks.map(\.name).joined(separator: ", "))",
            operation: "track")
    }
}

extension Reactor {
    /// Asks a stepped session for its next chunk. A session of this version streams, and refuses it.
    ///
    /// - Throws: `.generationModeMismatch` on every session this version makes; `.invalidState` after ``close()``.
    public func step(state: JSONValue? = nil, commands: [StepCommand] = []) async throws -> StepResult {
        if isClosed { throw ReactorError.clientGone("step") }
        throw ReactorError(
            .generationModeMismatch,
            "this client makes streamed sessions, whose frames arrive by themselves; stepped generation is not part of this version",
            operation: "step")
    }
}
