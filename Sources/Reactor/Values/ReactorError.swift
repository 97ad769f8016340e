package import ReactorCore

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The one error type of this library: every failing call throws it, and `onError` and `errors` deliver it.
///
/// Match by code with a pattern, or read the fields:
///
/// ```swift
/// do {
///     try await reactor.connect()
/// } catch ReactorError.unauthorized {
///     // get another token
/// } catch let error as ReactorError where error.recoverable {
///     // try again, after `error.retryAfter` when there is one
/// }
/// ```
///
/// A cancelled task gets `CancellationError` instead. No token, key or credential appears in any field.
public struct ReactorError: Error, Sendable, Hashable {
    /// What kind of failure this is.
    public let code: Code
    /// What happened, for people. HTTP failures read `unexpected HTTP status <n> from <context>: <body>`, where the
    /// body is shortened to 512 bytes.
    public let message: String
    /// Whether trying the same again can succeed. It follows from `code` (see ``Code``), unless the platform said otherwise.
    public let recoverable: Bool
    /// HTTP status of the answer that failed the call, or nil when there was none.
    public let status: Int?
    /// The call that failed in snake case, such as `connect` or `send_command`; nil for a failure no call waited for.
    public let operation: String?
    /// How long the server asked to wait before the next try, in milliseconds, or nil.
    public let retryAfterMS: Double?
    /// When the failure was seen, in milliseconds since 1970; set on errors delivered as events only.
    public let timestampMS: Double?
    /// The entry of a generation step that failed, or nil.
    public let entry: String?
    /// The code of the command inside a generation step that failed, or nil.
    public let commandCode: String?
    /// The platform's own payload, or nil.
    public let details: JSONValue?

    /// Makes an error from its parts; `recoverable` is taken as given.
    public init(
        code: Code, message: String, recoverable: Bool = false, status: Int? = nil, operation: String? = nil,
        retryAfterMS: Double? = nil, timestampMS: Double? = nil, entry: String? = nil, commandCode: String? = nil,
        details: JSONValue? = nil
    ) {
        self.code = code
        self.message = message
        self.recoverable = recoverable
        self.status = status
        self.operation = operation
        self.retryAfterMS = retryAfterMS
        self.timestampMS = timestampMS
        self.entry = entry
        self.commandCode = commandCode
        self.details = details
    }

    /// Makes an error whose `recoverable` follows from its code.
    public init(_ code: Code, _ message: String, operation: String? = nil) {
        self.init(code: code, message: message, recoverable: code.isRecoverable, operation: operation)
    }

    /// `retryAfterMS` as a duration; nil when absent, negative or not finite.
    public var retryAfter: Duration? {
        guard let retryAfterMS, retryAfterMS.isFinite, retryAfterMS >= 0, retryAfterMS < 1e15 else { return nil }
        return .microseconds(Int64(retryAfterMS * 1000))
    }

    /// `timestampMS` as a date, or nil.
    public var timestamp: Date? {
        guard let timestampMS, timestampMS.isFinite else { return nil }
        return Date(timeIntervalSince1970: timestampMS / 1000)
    }
}

extension ReactorError: LocalizedError, CustomStringConvertible {
    /// The message.
    public var errorDescription: String? { message }

    /// `CODE: message (operation: …, status: …)`; absent parts are left out.
    public var description: String {
        var parts: [String] = []
        if let operation { parts.append("operation: \(operation)") }
        if let status { parts.append("status: \(status)") }
        return parts.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(parts.joined(separator: ", ")))"
    }
}

extension ReactorError {
    /// The public form of a failure from the session core: its text, and what the caller can do about it.
    package init(_ error: CoreError) {
        self.init(
            code: Code(rawValue: error.code.rawValue), message: error.advisedMessage,
            recoverable: error.recoverable, status: error.status,
            operation: error.operation?.rawValue, retryAfterMS: error.retryAfterMilliseconds)
    }

    /// The same failure as an event carries it: with the moment it was seen.
    package func stamped(timestampMS: Double) -> ReactorError {
        ReactorError(
            code: code, message: message, recoverable: recoverable, status: status, operation: operation, retryAfterMS: retryAfterMS,
            timestampMS: timestampMS, entry: entry, commandCode: commandCode, details: details)
    }
}

/// Matches an error by its code, so that `catch ReactorError.unauthorized` works.
///
/// `.aborted` also matches `CancellationError`: other SDKs report a cancelled call under that code.
public func ~= (code: ReactorError.Code, error: any Error) -> Bool {
    if let error = error as? ReactorError { return error.code == code }
    return code == .aborted && error is CancellationError
}
