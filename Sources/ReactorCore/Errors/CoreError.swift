/// A failure before it becomes the public error: the record of wire-protocol 8.1 without the time.
package struct CoreError: Error, Hashable, Sendable {
    package var code: ErrorCode
    package var message: String
    /// From the code, except for an uncorrelated data-channel error, which says `true`.
    package var recoverable: Bool
    /// HTTP status, when there was one.
    package var status: Int?
    /// What the caller asked for; `nil` on connection loss and on uncorrelated errors.
    package var operation: Operation?
    package var retryAfterMilliseconds: Double?

    package init(
        _ code: ErrorCode, _ message: String, operation: Operation? = nil, status: Int? = nil,
        retryAfterMilliseconds: Double? = nil, recoverable: Bool? = nil
    ) {
        self.code = code
        self.message = message
        self.recoverable = recoverable ?? code.isRecoverable
        self.status = status
        self.operation = operation
        self.retryAfterMilliseconds = retryAfterMilliseconds
    }

    /// The same failure, charged to `operation` unless it already names one.
    package func during(_ operation: Operation) -> CoreError {
        var copy = self
        copy.operation = self.operation ?? operation
        return copy
    }

    /// The names of operations on the wire and in error records.
    package enum Operation: String, Hashable, Sendable, CaseIterable {
        case connect
        case reconnect
        case disconnect
        case sendCommand = "send_command"
        case publishTrack = "publish_track"
        case unpublishTrack = "unpublish_track"
        case pauseTrack = "pause_track"
        case resumeTrack = "resume_track"
        case requestSchema = "request_schema"
        case requestClip = "request_clip"
        case requestRecording = "request_recording"
        case uploadFile = "upload_file"
        case uploadBytes = "upload_bytes"
        case downloadClip = "download_clip"
        case fetchJWT = "fetch_jwt"
        case getStats = "get_stats"
        case setBitrate = "set_bitrate"
        case setTrackBitrate = "set_track_bitrate"
        case create
        case step
    }
}

/// Which HTTP request an error message names (wire-protocol 8.2).
package enum HTTPContext: String, Sendable, CaseIterable {
    case createSession = "create session"
    case startSession = "start session"
    case getSession = "get session"
    case getLocalSession = "get local session"
    case terminateSession = "terminate session"
    case iceServers = "ice servers"
    case registerConnection = "register connection"
    case sendOffer = "send sdp offer"
    case pollAnswer = "poll sdp answer"
    case sendCandidates = "send ice candidates"
    case createUpload = "create upload"
    case presignedUpload = "presigned upload"
    case fetchToken = "fetch token"
    case fetchPlaylist = "fetch clip playlist"
    case fetchSegment = "fetch clip segment"
}

extension CoreError {
    /// An unexpected HTTP status. The version codes carry neither a status nor a retry hint.
    package static func http(
        status: Int, context: HTTPContext, body: [UInt8], retryAfter: String? = nil, operation: Operation? = nil
    ) -> CoreError {
        let code = ErrorCode.forHTTPStatus(status)
        let text = String(decoding: body.prefix(maxQuotedBodyBytes), as: UTF8.self)
        let message = "unexpected HTTP status \(status) from \(context.rawValue): \(text)"
        if code == .versionMismatch { return CoreError(code, message, operation: operation) }
        return CoreError(
            code, message, operation: operation, status: status,
            retryAfterMilliseconds: retryAfter.flatMap(RetryAfter.milliseconds))
    }

    /// An answer that cannot be read.
    package static func decodeFailed(_ error: WireFormatError, context: HTTPContext, operation: Operation? = nil) -> CoreError {
        CoreError(.decodeFailed, "unreadable answer from \(context.rawValue): \(error)", operation: operation)
    }

    /// Enough of a body to see what the server meant; an error page does not fill the log.
    private static let maxQuotedBodyBytes = 2048
}

/// The `Retry-After` header, delta-seconds only: the date form yields no hint (wire-protocol 2.5).
package enum RetryAfter {
    package static func milliseconds(_ header: String) -> Double? {
        let digits = header.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
        guard digits.allSatisfy({ ("0"..."9").contains($0) || $0 == "." }),
            let seconds = Double(String(digits)), seconds.isFinite, seconds >= 0
        else { return nil }
        let milliseconds = seconds * 1000
        return milliseconds.isFinite ? milliseconds : nil
    }
}
