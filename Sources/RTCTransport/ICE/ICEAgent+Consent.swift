private import CNice
private import RTCBase
package import RTCWire

// The wire side of consent freshness (RFC 7675): when to check is decided above. libnice hands a response to a request that
// it did not send to the receive callback; requests it answers itself.
extension ICEAgent {
    /// Sends one binding request on the selected pair: a connectivity check (RFC 8445 §7.2.4) without a nomination. An
    /// authentic success response comes back through `onCheckAnswered`. False when nothing was sent.
    @discardableResult
    package func sendCheck(_ transaction: STUNTransaction) -> Bool {
        guard let handle, let request = consent.request(transaction, isControlling: isControlling, localPriority: localPriority(handle))
        else { return false }
        return request.withUnsafeBytes { send($0) }
    }

    /// The role now; a conflict with the peer may have changed it.
    package var isControlling: Bool {
        guard let handle else { return false }
        return rnice_agent_is_controlling(handle) != 0
    }

    /// STUN that libnice had no use for. The source address is not known here; libnice has dropped what does not come from a
    /// candidate of the peer.
    func handleSTUN(_ datagram: UnsafeRawBufferPointer) {
        guard let message = try? STUNMessage(parsing: datagram.bytes), consent.isAuthenticAnswer(message, datagram.bytes) else {
            return drops.count(.unknownDatagram)
        }
        onCheckAnswered?(message.transaction)
    }

    private func localPriority(_ handle: OpaquePointer) -> UInt32 {
        var pair = rnice_pair()
        return rnice_agent_selected_pair(handle, &pair) != 0 ? pair.local_priority : 0
    }
}

/// Writes consent checks and tells authentic answers, with the credentials of one session.
struct ConsentChecks {
    private var username: String?
    private var key: STUNKey?
    /// Of our own; libnice tells nobody its. It only matters while both ends claim one role, which libnice's checks settled
    /// before there is a pair.
    private let tieBreaker = UInt64.random(in: 0...UInt64.max)

    /// - Parameters:
    ///   - username: the peer's fragment, a colon, ours (RFC 8445 §7.2.2).
    ///   - password: the peer's: it signs our requests and its responses to them.
    mutating func setPeer(username: String, password: String) {
        self.username = username
        key = STUNKey(password: password)
    }

    func request(_ transaction: STUNTransaction, isControlling: Bool, localPriority: UInt32) -> [UInt8]? {
        guard let username, let key else { return nil }
        var message = STUNMessage(.request, transaction: transaction)
        message.username = username
        // RFC 8445 §7.1.1: what the local candidate's priority would be if the peer had discovered it.
        message.priority = localPriority & 0x00FF_FFFF | Self.peerReflexivePreference << 24
        message.role = isControlling ? .controlling(tieBreaker: tieBreaker) : .controlled(tieBreaker: tieBreaker)
        return message.bytes { key.tag(of: $0) }
    }

    func isAuthenticAnswer(_ message: STUNMessage, _ datagram: RawSpan) -> Bool {
        guard message.messageClass == .success, message.method == STUNMessage.binding, message.unknownAttribute == nil,
            let key, let tag = message.integrity, let bytes = message.authenticatedBytes(of: datagram)
        else { return false }
        return key.verify(tag, of: bytes)
    }

    /// RFC 8445 §5.1.2.2.
    private static let peerReflexivePreference: UInt32 = 110
}
