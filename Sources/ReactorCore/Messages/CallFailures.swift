// Texts of failed calls (wire-protocol 8.2, 8.3). Here in one place, because other clients' users search for these words.

extension PendingCall {
    /// The far end answered with an error.
    package func refused(_ error: ErrorMessage) -> CoreError {
        let code = ErrorCode(rawValue: error.code)
        let text = "failed (\(code.rawValue)): \(error.message)"
        switch self {
        case .command(let type): return CoreError(code, "command '\(type)' \(text)", operation: operation)
        case .publish, .schema: return CoreError(code, "control request '\(operation.rawValue)' \(text)", operation: operation)
        case .clip, .recording:
            return CoreError(code, "recording error (\(code.rawValue)): \(error.message)", operation: operation)
        }
    }

    /// The platform cannot make the clip.
    package func clipFailed(reason: String) -> CoreError {
        let isRecorderOff = reason.contains("recorder disabled") || reason.contains("encoder crashed")
        let code: ErrorCode = isRecorderOff ? .recorderDisabled : .internalError
        return CoreError(code, "recording error (\(code.rawValue)): \(reason)", operation: operation)
    }

    /// No reply in time. The far end may still do what was asked.
    package func timedOut(afterNanoseconds nanoseconds: Int64? = nil) -> CoreError {
        let seconds = (nanoseconds ?? timeoutNanoseconds) / 1_000_000_000
        return CoreError(.requestTimeout, "timed out: \(name) did not complete within \(seconds)s", operation: operation)
    }

    /// The connection went while the call waited.
    package func interrupted(code: ErrorCode, message: String) -> CoreError {
        CoreError(code, "\(name) was interrupted: \(message)", operation: operation)
    }

    /// A reply that does not belong to this kind of call, or one of a later version.
    package var unreadableReply: CoreError {
        CoreError(.decodeFailed, "the reply to \(name) is of a kind this version cannot read", operation: operation)
    }
}

extension CoreError {
    /// A message above the channel's limit; nothing was sent.
    package static func messageTooLarge(_ call: PendingCall, count: Int, limit: Int) -> CoreError {
        CoreError(
            .messageTooLarge,
            "\(call.name) is \(count) bytes and the connection carries \(limit); send large data with uploadFile() or uploadData()",
            operation: call.operation)
    }

    /// Sending on a channel that is not open; `state` as in "Closed".
    package static func channelNotOpen(state: String, operation: Operation) -> CoreError {
        CoreError(.invalidState, "data channel not open (state: \(state))", operation: operation)
    }

    package static func transportReadinessTimedOut(seconds: Int, operation: Operation) -> CoreError {
        CoreError(.requestTimeout, "timed out: transport readiness did not complete within \(seconds)s", operation: operation)
    }

    package static func sessionPollsExhausted(sessionID: String, attempts: Int) -> CoreError {
        CoreError(.requestTimeout, "session \(sessionID) not ready after \(attempts) polls", operation: .connect)
    }

    package static func answerPollsExhausted(attempts: Int) -> CoreError {
        CoreError(.requestTimeout, "no SDP answer after \(attempts) polls")
    }

    package static func localSessionMismatch(serving: String, requested: String) -> CoreError {
        CoreError(.invalidState, "local runtime is serving session \(serving), not the requested \(requested)", operation: .connect)
    }
}
