/// Which call waits for which reply on one channel (wire-protocol 5.5).
///
/// In: calls with their deadline, replies by id, time. Out: the waiter to resume, exactly once. Ids count from 1 for the life of the
/// client and never start over, so a reply of an earlier connection cannot meet a later call. A reply whose id is not here (late,
/// cancelled, or made up) is "unknown"; `ServerMessage.route` says what becomes of it.
package struct RequestCorrelator<Waiter> {
    /// The part of an id before the number.
    private let prefix: String
    /// Number of the last id given out.
    private var lastNumber: UInt64 = 0
    /// Calls in flight by id.
    private var pending: [String: Entry] = [:]
    /// The smallest deadline of them; asked for after every message.
    private var earliest: Int64?

    package struct Entry {
        package var call: PendingCall
        package var waiter: Waiter
        /// Monotonic nanoseconds.
        package var deadlineNanoseconds: Int64
    }

    package init(channel: MessageChannel) { prefix = channel == .data ? "data_" : "ctrl_" }

    package var count: Int { pending.count }
    package var isEmpty: Bool { pending.isEmpty }

    /// Gives the call its request id.
    ///
    /// - Throws: `CoreError` INVALID_STATE when too many calls are waiting already.
    package mutating func register(
        _ call: PendingCall, waiter: Waiter, nowNanoseconds: Int64, timeoutNanoseconds: Int64? = nil
    ) throws(CoreError) -> String {
        guard pending.count < Self.maxPending else {
            throw CoreError(
                .invalidState, "\(Self.maxPending) calls are waiting for a reply; let some of them finish before making more",
                operation: call.operation)
        }
        lastNumber += 1
        let id = prefix + String(lastNumber)
        let (deadline, overflow) = nowNanoseconds.addingReportingOverflow(max(0, timeoutNanoseconds ?? call.timeoutNanoseconds))
        let entry = Entry(call: call, waiter: waiter, deadlineNanoseconds: overflow ? .max : deadline)
        pending[id] = entry
        earliest = min(earliest ?? .max, entry.deadlineNanoseconds)
        return id
    }

    /// The call in flight with this id.
    package func isPending(_ id: String) -> Bool { pending[id] != nil }

    /// The waiter of a reply, or of a call that was cancelled; `nil` when the id is unknown.
    package mutating func take(_ id: String) -> Entry? {
        guard let entry = pending.removeValue(forKey: id) else { return nil }
        if entry.deadlineNanoseconds == earliest { updateEarliest() }
        return entry
    }

    /// When `takeExpired` should be called next.
    package func nextDeadline() -> Int64? { earliest }

    /// Calls whose time is up, earliest first. Their replies are unknown from now on.
    package mutating func takeExpired(nowNanoseconds: Int64) -> [Entry] {
        let expired = pending.filter { $0.value.deadlineNanoseconds <= nowNanoseconds }
        for id in expired.keys { pending[id] = nil }
        updateEarliest()
        return expired.values.sorted { $0.deadlineNanoseconds < $1.deadlineNanoseconds }
    }

    /// All calls, when the connection is gone or the client closes.
    package mutating func takeAll() -> [Entry] {
        defer {
            pending.removeAll()
            earliest = nil
        }
        return Array(pending.values)
    }

    private mutating func updateEarliest() {
        earliest = nil
        for entry in pending.values { earliest = min(earliest ?? .max, entry.deadlineNanoseconds) }
    }

    /// A limit against a caller that never waits; the wire has none.
    private static var maxPending: Int { 4096 }
}

extension RequestCorrelator: Sendable where Waiter: Sendable {}
extension RequestCorrelator.Entry: Sendable where Waiter: Sendable {}

/// What a call asked for: enough to word its failures.
package enum PendingCall: Hashable, Sendable {
    case command(type: String)
    case publish(track: String)
    case schema
    case clip
    case recording

    package var operation: CoreError.Operation {
        switch self {
        case .command: .sendCommand
        case .publish: .publishTrack
        case .schema: .requestSchema
        case .clip: .requestClip
        case .recording: .requestRecording
        }
    }

    /// The name in failure texts.
    package var name: String {
        switch self {
        case .command(let type): type
        default: operation.rawValue
        }
    }

    /// Ten seconds for everything that waits for a reply (wire-protocol 9.4).
    package var timeoutNanoseconds: Int64 { 10_000_000_000 }
}
