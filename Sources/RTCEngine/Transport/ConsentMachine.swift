// Consent freshness (RFC 7675 §5.1): whether the peer still wants what we send. In: that ICE selected a pair, valid answers
// to our checks, time, random bits. Out: when to send a binding request and with which transaction, and that the consent has
// expired, after which nothing may be sent on the pair.
//
// A check is sent once, never again; the next one follows 4 to 6 s after the start of the one before, answered or not, so a
// lost one costs nothing. 30 s after the last valid answer it is over. Left out: how a check looks and whether an answer is
// authentic (`ICEAgent`), and the sessions' own, shorter patience with a peer that sends nothing at all (`PeerCore`).

package import RTCBase
package import RTCWire

/// Asks for consent and knows whether it is still given. One selected pair at a time.
package struct ConsentMachine: Sendable {
    package struct Settings: Sendable, Hashable {
        /// Between the starts of two checks, drawn anew for each: 5 s times 0.8 to 1.2. RFC 7675 forbids less than 4 s, for
        /// all but tests.
        package var intervalMilliseconds: ClosedRange<Int64> = 4_000...6_000
        /// Without a valid answer.
        package var expiryMilliseconds: Int64 = 30_000

        package init() {}
    }

    package enum Action: Hashable, Sendable {
        case none
        /// Send a binding request with this transaction on the selected pair, once.
        case check(STUNTransaction)
        /// Stop sending; told once.
        case expired
    }

    private enum Phase: Sendable {
        case idle
        case fresh(nextCheck: MonotonicTime, expiry: MonotonicTime)
        case expired
    }

    private struct Check: Sendable {
        let transaction: STUNTransaction
        let sent: MonotonicTime
    }

    private let settings: Settings
    private var phase = Phase.idle
    /// Checks that may still be answered, oldest first.
    private var outstanding: [Check] = []
    package private(set) var checksSent = 0
    package private(set) var answers = 0

    package init(settings: Settings = Settings()) {
        self.settings = settings
        outstanding.reserveCapacity(Self.maxOutstanding)
    }

    package var isExpired: Bool { if case .expired = phase { true } else { false } }

    /// Nil before the first pair and after expiry.
    package var nextDeadline: MonotonicTime? {
        guard case .fresh(let nextCheck, let expiry) = phase else { return nil }
        return min(nextCheck, expiry)
    }

    /// ICE selected a pair: its own checks were answered there just now, which is the first consent (RFC 7675 §5.1). What is
    /// under way on another pair no longer counts. Expired consent does not come back: that takes new credentials.
    package mutating func onSelectedPair(now: MonotonicTime, using generator: inout some RandomNumberGenerator) {
        guard !isExpired else { return }
        outstanding.removeAll(keepingCapacity: true)
        phase = .fresh(nextCheck: nextCheck(after: now, using: &generator), expiry: now.adding(milliseconds: settings.expiryMilliseconds))
    }

    /// Checks on this pair tell nothing: nothing more is due until another one is selected.
    package mutating func stop() {
        guard !isExpired else { return }
        phase = .idle
        outstanding.removeAll(keepingCapacity: true)
    }

    package mutating func handleTimeout(now: MonotonicTime, using generator: inout some RandomNumberGenerator) -> Action {
        guard case .fresh(let due, let expiry) = phase else { return .none }
        if expiry <= now {
            phase = .expired
            outstanding.removeAll()
            return .expired
        }
        guard due <= now else { return .none }
        let transaction = STUNTransaction(using: &generator)
        if outstanding.count == Self.maxOutstanding { outstanding.removeFirst() }
        outstanding.append(Check(transaction: transaction, sent: now))
        checksSent += 1
        phase = .fresh(nextCheck: nextCheck(after: now, using: &generator), expiry: expiry)
        return .check(transaction)
    }

    /// An authentic success response arrived. False when it answers none of the checks under way.
    @discardableResult
    package mutating func handleAnswer(_ transaction: STUNTransaction, now: MonotonicTime) -> Bool {
        guard case .fresh(let due, let expiry) = phase, now < expiry else { return false }
        // Any check counts, not only the last: an answer may take longer than until the next one.
        guard let index = outstanding.firstIndex(where: { $0.transaction == transaction }) else { return false }
        let check = outstanding.remove(at: index)
        guard now.nanoseconds(since: check.sent) <= Self.answerLimit else { return false }
        answers += 1
        phase = .fresh(nextCheck: due, expiry: now.adding(milliseconds: settings.expiryMilliseconds))
        return true
    }

    private func nextCheck(after now: MonotonicTime, using generator: inout some RandomNumberGenerator) -> MonotonicTime {
        let range = settings.intervalMilliseconds
        let interval = Int64.random(in: (range.lowerBound * 1_000_000)...(range.upperBound * 1_000_000), using: &generator)
        return now.adding(nanoseconds: interval)
    }

    /// As many as fit into the time until expiry, 30 s of them 4 s apart.
    private static let maxOutstanding = 8
    /// RFC 7675 §5.1 awaits an answer for the round trip with an allowance for its variation. Ten seconds are beyond every
    /// path that carries a conversation; an answer that is older says little about now.
    private static let answerLimit: Int64 = 10_000_000_000
}
