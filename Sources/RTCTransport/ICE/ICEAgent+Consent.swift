private import CNice
private import RTCBase
package import RTCWire

// The wire side of consent freshness (RFC 7675): when to check is decided above. A check is a connectivity check (RFC 8445
// §7.2.4) without a nomination; its answer comes past libnice by way of `CNice/AnswerFilter`, where that works: UDP sockets
// of Linux, pairs that are not relayed. libnice answers the peer's own checks.
extension ICEAgent {
    package enum CheckOutcome: Hashable, Sendable {
        case sent
        /// The socket did not take it, or there is no pair.
        case notSent
        /// Answers on this pair would not be seen.
        case unsupported
    }

    /// Sends one binding request on the selected pair. An authentic success response comes back through `onCheckAnswered`.
    package func sendCheck(_ transaction: STUNTransaction) -> CheckOutcome {
        var pair = rnice_pair()
        guard let handle, rnice_agent_selected_pair(handle, &pair) != 0,
            let request = consent.request(transaction, localPriority: pair.local_priority)
        else { return .notSent }
        guard rnice_agent_expect_answer(handle, transaction.bytes) != 0 else { return .unsupported }
        return request.withUnsafeBytes { send($0) } ? .sent : .notSent
    }

    /// STUN that libnice did not take. The source address is not known here; libnice has dropped what does not come from a
    /// candidate of the peer.
    func handleSTUN(_ datagram: UnsafeRawBufferPointer) {
        guard let message = consent.authenticResponse(in: datagram.bytes) else { return drops.count(.unknownDatagram) }
        switch (message.messageClass, message.errorCode) {
        case (.success, _): onCheckAnswered?(message.transaction)
        case (.failure, STUNMessage.roleConflict): consent.isControlling.toggle()
        default: drops.count(.unknownDatagram)
        }
    }
}

/// Writes consent checks and tells authentic responses, with the credentials of one session.
struct ConsentChecks {
    /// The role that checks claim. libnice may have settled a conflict, and tells nobody how; then the first check is refused,
    /// and the next ones claim the other role.
    var isControlling: Bool
    private var username: String?
    private var key: STUNKey?

    init(isControlling: Bool) { self.isControlling = isControlling }

    /// - Parameters:
    ///   - username: the peer's fragment, a colon, ours (RFC 8445 §7.2.2).
    ///   - password: the peer's: it signs our requests and its responses to them.
    mutating func setPeer(username: String, password: String) {
        self.username = username
        key = STUNKey(password: password)
    }

    func request(_ transaction: STUNTransaction, localPriority: UInt32) -> [UInt8]? {
        guard let username, let key else { return nil }
        var message = STUNMessage(.request, transaction: transaction)
        message.username = username
        // RFC 8445 §7.1.1: what the local candidate's priority would be if the peer had discovered it.
        message.priority = localPriority & 0x00FF_FFFF | Self.peerReflexivePreference << 24
        // Whatever its own number is, a peer that claims the same role refuses (RFC 8445 §7.3.1.1): who controls is libnice's
        // affair, and these checks must not change the peer's mind about it.
        message.role = isControlling ? .controlling(tieBreaker: 0) : .controlled(tieBreaker: .max)
        return message.bytes { key.tag(of: $0) }
    }

    /// A binding response as it comes out of `CNice/AnswerFilter`: without its FINGERPRINT. Nil unless it is signed.
    func authenticResponse(in datagram: RawSpan) -> STUNMessage? {
        guard let key, let bytes = STUNMessage.closingGap(of: datagram, byteCount: Self.fingerprintCount),
            let message = try? STUNMessage(parsing: bytes.span.bytes)
        else { return nil }
        guard message.method == STUNMessage.binding, message.messageClass == .success || message.messageClass == .failure,
            message.unknownAttribute == nil, let tag = message.integrity, let signed = message.authenticatedBytes(of: bytes.span.bytes),
            key.verify(tag, of: signed)
        else { return nil }
        return message
    }

    /// RFC 8445 §5.1.2.2.
    private static let peerReflexivePreference: UInt32 = 110
    private static let fingerprintCount = 8
}
