/// An open set of error codes: the platform may send others, and those keep their text (wire-protocol 8.2, 8.3).
package struct ErrorCode: RawRepresentable, Hashable, Sendable {
    package var rawValue: String

    /// An empty code from the wire becomes `INTERNAL_ERROR`.
    package init(rawValue: String) { self.rawValue = rawValue.isEmpty ? "INTERNAL_ERROR" : rawValue }

    package static let invalidState = ErrorCode(rawValue: "INVALID_STATE")
    package static let disconnected = ErrorCode(rawValue: "DISCONNECTED")
    package static let networkError = ErrorCode(rawValue: "NETWORK_ERROR")
    package static let requestTimeout = ErrorCode(rawValue: "REQUEST_TIMEOUT")
    package static let transportError = ErrorCode(rawValue: "TRANSPORT_ERROR")
    package static let unauthorized = ErrorCode(rawValue: "UNAUTHORIZED")
    package static let notFound = ErrorCode(rawValue: "NOT_FOUND")
    package static let conflict = ErrorCode(rawValue: "CONFLICT")
    package static let rateLimited = ErrorCode(rawValue: "RATE_LIMITED")
    package static let badRequest = ErrorCode(rawValue: "BAD_REQUEST")
    package static let serverError = ErrorCode(rawValue: "SERVER_ERROR")
    package static let versionMismatch = ErrorCode(rawValue: "VERSION_MISMATCH")
    package static let decodeFailed = ErrorCode(rawValue: "DECODE_FAILED")
    package static let sessionTerminal = ErrorCode(rawValue: "SESSION_TERMINAL")
    package static let messageTooLarge = ErrorCode(rawValue: "MESSAGE_TOO_LARGE")
    package static let aborted = ErrorCode(rawValue: "ABORTED")
    package static let internalError = ErrorCode(rawValue: "INTERNAL_ERROR")
    package static let recorderDisabled = ErrorCode(rawValue: "RECORDER_DISABLED")

    /// Whether trying again may help. Follows from the code alone, so one failure has one answer everywhere;
    /// platform codes are not recoverable.
    package var isRecoverable: Bool {
        switch self {
        case .disconnected, .networkError, .requestTimeout, .transportError, .rateLimited, .serverError: true
        default: false
        }
    }

    /// The code for an HTTP status that is not the expected one. 1xx and 3xx count as server errors.
    package static func forHTTPStatus(_ status: Int) -> ErrorCode {
        switch status {
        case 401, 403: .unauthorized
        case 404: .notFound
        case 409: .conflict
        case 426, 501: .versionMismatch
        case 429: .rateLimited
        case 400..<500: .badRequest
        default: .serverError
        }
    }
}
