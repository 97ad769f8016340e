internal import ReactorCore

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

extension ReactorError {
    /// The error as an event: the same record with the time.
    static func event(_ error: CoreError) -> ReactorError { event(ReactorError(error)) }

    static func event(_ plain: ReactorError) -> ReactorError {
        ReactorError(
            code: plain.code, message: plain.message, recoverable: plain.recoverable, status: plain.status, operation: plain.operation,
            retryAfterMS: plain.retryAfterMS, timestampMS: Date().timeIntervalSince1970 * 1000)
    }

    /// The client was closed or released.
    static func clientGone(_ operation: String) -> ReactorError {
        ReactorError(.invalidState, "the client is closed or was released; make a new one", operation: operation)
    }
}
