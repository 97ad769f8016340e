import ReactorCore

extension ReactorError {
    /// The kind of a failure: an open set of strings.
    ///
    /// A code this version does not know keeps its text; ``isKnown`` tells the two apart. The codes marked recoverable are
    /// worth another try; all others, and all unknown ones, are not.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The wire spelling.
        public let rawValue: String

        /// Takes any text; an empty one becomes `INTERNAL_ERROR`.
        public init(rawValue: String) { self.rawValue = rawValue.isEmpty ? "INTERNAL_ERROR" : rawValue }

        /// Whether this is one of the codes below.
        public var isKnown: Bool { Self.known.contains(self) }

        /// The wire spelling.
        public var description: String { rawValue }

        /// Whether the code alone says that another try can succeed.
        package var isRecoverable: Bool { ErrorCode(rawValue: rawValue).isRecoverable }

        private static let known: Set<Code> = [
            .invalidState, .disconnected, .networkError, .requestTimeout, .transportError, .unauthorized, .notFound, .conflict,
            .rateLimited, .badRequest, .serverError, .versionMismatch, .decodeFailed, .sessionTerminal, .messageTooLarge, .aborted,
            .recorderDisabled, .internalError, .invalidCommand, .unresolvedUpload, .publishRefused, .handlerFailed,
            .generationModeMismatch, .dataChannelChunkingRequired, .unsupportedFrameEncoding, .stepRefused, .stepNotReady,
            .stepResultTooLarge, .stepCommandFailed, .stepSessionEnded,
        ]
    }
}

extension ReactorError.Code {
    /// The call is not allowed now, or not on this track.
    public static let invalidState = ReactorError.Code(rawValue: "INVALID_STATE")
    /// The connection was lost, also with this call in flight. Recoverable.
    public static let disconnected = ReactorError.Code(rawValue: "DISCONNECTED")
    /// No HTTP answer: name resolution, TLS, refused or broken connection. Recoverable.
    public static let networkError = ReactorError.Code(rawValue: "NETWORK_ERROR")
    /// The request was sent and nothing came back in time. Recoverable.
    public static let requestTimeout = ReactorError.Code(rawValue: "REQUEST_TIMEOUT")
    /// ICE, DTLS or the media transport failed. Recoverable.
    public static let transportError = ReactorError.Code(rawValue: "TRANSPORT_ERROR")
    /// HTTP 401 or 403; a refused API key or token.
    public static let unauthorized = ReactorError.Code(rawValue: "UNAUTHORIZED")
    /// HTTP 404; an unknown track.
    public static let notFound = ReactorError.Code(rawValue: "NOT_FOUND")
    /// HTTP 409; a session that somebody else holds.
    public static let conflict = ReactorError.Code(rawValue: "CONFLICT")
    /// HTTP 429; `retryAfter` says how long to wait when the server did. Recoverable.
    public static let rateLimited = ReactorError.Code(rawValue: "RATE_LIMITED")
    /// Any other HTTP 4xx; a bad argument refused before sending.
    public static let badRequest = ReactorError.Code(rawValue: "BAD_REQUEST")
    /// HTTP 5xx except 501, and answers of other unexpected kinds. Recoverable.
    public static let serverError = ReactorError.Code(rawValue: "SERVER_ERROR")
    /// HTTP 426 or 501, or a native part that does not fit.
    public static let versionMismatch = ReactorError.Code(rawValue: "VERSION_MISMATCH")
    /// An answer that cannot be read.
    public static let decodeFailed = ReactorError.Code(rawValue: "DECODE_FAILED")
    /// The session is inactive or closed.
    public static let sessionTerminal = ReactorError.Code(rawValue: "SESSION_TERMINAL")
    /// The message is over the data-channel limit; nothing was sent.
    public static let messageTooLarge = ReactorError.Code(rawValue: "MESSAGE_TOO_LARGE")
    /// The client was closed under the call.
    public static let aborted = ReactorError.Code(rawValue: "ABORTED")
    /// A clip was refused because the recorder is off or crashed.
    public static let recorderDisabled = ReactorError.Code(rawValue: "RECORDER_DISABLED")
    /// Nothing better is known.
    public static let internalError = ReactorError.Code(rawValue: "INTERNAL_ERROR")
    /// The model refused the command: unknown name, bad argument, constraint.
    public static let invalidCommand = ReactorError.Code(rawValue: "invalid_command")
    /// The bytes of an upload used by the command did not arrive in time.
    public static let unresolvedUpload = ReactorError.Code(rawValue: "unresolved_upload")
    /// The track's slot is held by another connection.
    public static let publishRefused = ReactorError.Code(rawValue: "publish_refused")
    /// The model's handler raised.
    public static let handlerFailed = ReactorError.Code(rawValue: "internal_error")
    /// The session generates in another mode than the call needs.
    public static let generationModeMismatch = ReactorError.Code(rawValue: "GENERATION_MODE_MISMATCH")
    /// The server cannot take messages in parts, and the call needs that.
    public static let dataChannelChunkingRequired = ReactorError.Code(rawValue: "DATA_CHANNEL_CHUNKING_REQUIRED")
    /// The server does not take frames in this encoding.
    public static let unsupportedFrameEncoding = ReactorError.Code(rawValue: "UNSUPPORTED_FRAME_ENCODING")
    /// A generation step was refused.
    public static let stepRefused = ReactorError.Code(rawValue: "step_refused")
    /// The model cannot take a generation step yet.
    public static let stepNotReady = ReactorError.Code(rawValue: "step_not_ready")
    /// The result of a generation step is over the limit.
    public static let stepResultTooLarge = ReactorError.Code(rawValue: "step_result_too_large")
    /// A command inside a generation step failed; see `commandCode`.
    public static let stepCommandFailed = ReactorError.Code(rawValue: "step_command_failed")
    /// The session ended during a generation step.
    public static let stepSessionEnded = ReactorError.Code(rawValue: "step_session_ended")
}

// The codes again on the error itself, so that patterns read `catch ReactorError.unauthorized`.
extension ReactorError {
    /// `INVALID_STATE`: see ``Code/invalidState``.
    public static var invalidState: Code { .invalidState }
    /// `DISCONNECTED`: see ``Code/disconnected``.
    public static var disconnected: Code { .disconnected }
    /// `NETWORK_ERROR`: see ``Code/networkError``.
    public static var networkError: Code { .networkError }
    /// `REQUEST_TIMEOUT`: see ``Code/requestTimeout``.
    public static var requestTimeout: Code { .requestTimeout }
    /// `TRANSPORT_ERROR`: see ``Code/transportError``.
    public static var transportError: Code { .transportError }
    /// `UNAUTHORIZED`: see ``Code/unauthorized``.
    public static var unauthorized: Code { .unauthorized }
    /// `NOT_FOUND`: see ``Code/notFound``.
    public static var notFound: Code { .notFound }
    /// `CONFLICT`: see ``Code/conflict``.
    public static var conflict: Code { .conflict }
    /// `RATE_LIMITED`: see ``Code/rateLimited``.
    public static var rateLimited: Code { .rateLimited }
    /// `BAD_REQUEST`: see ``Code/badRequest``.
    public static var badRequest: Code { .badRequest }
    /// `SERVER_ERROR`: see ``Code/serverError``.
    public static var serverError: Code { .serverError }
    /// `VERSION_MISMATCH`: see ``Code/versionMismatch``.
    public static var versionMismatch: Code { .versionMismatch }
    /// `DECODE_FAILED`: see ``Code/decodeFailed``.
    public static var decodeFailed: Code { .decodeFailed }
    /// `SESSION_TERMINAL`: see ``Code/sessionTerminal``.
    public static var sessionTerminal: Code { .sessionTerminal }
    /// `MESSAGE_TOO_LARGE`: see ``Code/messageTooLarge``.
    public static var messageTooLarge: Code { .messageTooLarge }
    /// `ABORTED`: see ``Code/aborted``.
    public static var aborted: Code { .aborted }
    /// `RECORDER_DISABLED`: see ``Code/recorderDisabled``.
    public static var recorderDisabled: Code { .recorderDisabled }
    /// `INTERNAL_ERROR`: see ``Code/internalError``.
    public static var internalError: Code { .internalError }
    /// `invalid_command`: see ``Code/invalidCommand``.
    public static var invalidCommand: Code { .invalidCommand }
    /// `unresolved_upload`: see ``Code/unresolvedUpload``.
    public static var unresolvedUpload: Code { .unresolvedUpload }
    /// `publish_refused`: see ``Code/publishRefused``.
    public static var publishRefused: Code { .publishRefused }
    /// `internal_error`: see ``Code/handlerFailed``.
    public static var handlerFailed: Code { .handlerFailed }
    /// `GENERATION_MODE_MISMATCH`: see ``Code/generationModeMismatch``.
    public static var generationModeMismatch: Code { .generationModeMismatch }
    /// `DATA_CHANNEL_CHUNKING_REQUIRED`: see ``Code/dataChannelChunkingRequired``.
    public static var dataChannelChunkingRequired: Code { .dataChannelChunkingRequired }
    /// `UNSUPPORTED_FRAME_ENCODING`: see ``Code/unsupportedFrameEncoding``.
    public static var unsupportedFrameEncoding: Code { .unsupportedFrameEncoding }
    /// `step_refused`: see ``Code/stepRefused``.
    public static var stepRefused: Code { .stepRefused }
    /// `step_not_ready`: see ``Code/stepNotReady``.
    public static var stepNotReady: Code { .stepNotReady }
    /// `step_result_too_large`: see ``Code/stepResultTooLarge``.
    public static var stepResultTooLarge: Code { .stepResultTooLarge }
    /// `step_command_failed`: see ``Code/stepCommandFailed``.
    public static var stepCommandFailed: Code { .stepCommandFailed }
    /// `step_session_ended`: see ``Code/stepSessionEnded``.
    public static var stepSessionEnded: Code { .stepSessionEnded }
}
