#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A stretch of the session's recording that the platform has accepted to make, or has made. A promise: the file may not be
/// ready yet, and ``Reactor/download(_:to:readyTimeout:progress:)`` waits for it.
///
/// It can be stored and downloaded later with ``Reactor/download(_:to:jwt:readyTimeout:progress:)``; its coded form is the
/// platform's own.
public struct Clip: Sendable, Hashable, Codable {
    /// Where the playlist is: an absolute URL.
    public let playlistURL: String
    /// The platform's id of the recording; not always the session's.
    public let sessionID: String?
    /// `snap` for a clip, `recording` for a whole session; other kinds may come.
    public let kind: String?
    /// When it should be ready, in milliseconds since 1970. Optimistic.
    public let predictedReadyAtMS: Double?
    /// Beginning, in seconds of the recording's media time.
    public let startMarker: Double?
    /// End, in seconds of the recording's media time.
    public let endMarker: Double?
    /// Where the recording was when the clip was asked for, in seconds of its media time.
    public let nowMarker: Double?
    /// The platform's own payload.
    public let raw: JSONValue

    /// Reads the platform's payload, an object with at least `playlist_url`: `data` of a runtime message of type `clipReady`.
    ///
    /// - Throws: ``ReactorError`` with code `DECODE_FAILED` without a playlist URL.
    public init(payload: JSONValue) throws {
        guard let url = payload["playlist_url"]?.stringValue, !url.isEmpty else {
            throw ReactorError(
                .decodeFailed, "this is no clip: it has no playlist_url; take the data of a clipReady message", operation: "clip")
        }
        playlistURL = url
        sessionID = payload["session_id"]?.stringValue
        kind = payload["kind"]?.stringValue
        predictedReadyAtMS = payload["predicted_ready_at_ms"]?.doubleValue
        startMarker = payload["start_marker"]?.doubleValue
        endMarker = payload["end_marker"]?.doubleValue
        nowMarker = payload["now_marker"]?.doubleValue
        raw = payload
    }

    /// Reads the platform's payload.
    public init(from decoder: any Decoder) throws { try self.init(payload: JSONValue(from: decoder)) }

    /// Writes the platform's payload.
    public func encode(to encoder: any Encoder) throws { try raw.encode(to: encoder) }

    /// `predictedReadyAtMS` as a date, or nil.
    public var predictedReadyAt: Date? {
        guard let predictedReadyAtMS, predictedReadyAtMS.isFinite, predictedReadyAtMS > 0 else { return nil }
        return Date(timeIntervalSince1970: predictedReadyAtMS / 1000)
    }

    /// From the start marker to the end marker; nil when one is missing or they are in the wrong order.
    public var duration: Duration? {
        guard let startMarker, let endMarker, endMarker >= startMarker, endMarker - startMarker < 1e9 else { return nil }
        return .microseconds(Int64(((endMarker - startMarker) * 1e6).rounded()))
    }
}
