import CDTLS
package import RTCBase

// The security step of a connection: a DTLS 1.2 association with the peer over the datagrams of the selected path.
//
// In: datagrams whose first byte says DTLS, the peer's announced fingerprints, time. Out: datagrams, SRTP keys once, application
// data (SCTP packets), one end. RFC 6347, RFC 5764 (keys for SRTP), RFC 8122 §5 and RFC 8827 §6.5 (fingerprints), RFC 8842 (the
// role comes from the one place that negotiated it). The certificate is checked here, before keys are exported and before any
// data is delivered. Left out: DTLS 1.3, renegotiation, resumption, cookies (ICE has verified the path).
//
// The object is passive: it moves when the owner calls. The retransmission timer runs on the library's own clock; `nextDeadline`
// translates its remainder into the owner's time.

/// One DTLS association. Network thread only.
package final class DTLSConnection {
    /// Who sends the first flight: `setup:active` is the client (RFC 8842 §5).
    package enum Role: Sendable { case client, server }

    package enum CloseReason: Sendable, Hashable {
        /// The peer sent close_notify. This is final.
        case peerClosed
        case failed(TransportError)
    }

    private enum State { case idle, handshaking, connected, closed }

    /// A datagram to send, valid during the call; false when the path does not take it now. Must not call back into the
    /// connection except for `close`.
    package var onSend: (UnsafeRawBufferPointer) -> Bool = { _ in false }
    /// Once, after the peer's certificate has been checked.
    package var onConnected: (SRTPKeys) -> Void = { _ in }
    /// One record of application data, valid during the call; only after `onConnected`.
    package var onApplicationData: (UnsafeRawBufferPointer) -> Void = { _ in }
    /// Once, when the association ends other than by `close`.
    package var onClosed: (CloseReason) -> Void = { _ in }

    package let role: Role
    package private(set) var nextDeadline: MonotonicTime?
    /// Datagrams that are not DTLS (RFC 7983) or came after the end; they never reach the library.
    package private(set) var drops = DropCounters()

    private var session: OpaquePointer?
    private var state = State.idle
    private let offeredProfiles: [SRTPProfile]
    /// Accepted digests: those of the strongest hash the peer announced (RFC 8122 §5).
    private let hash: FingerprintHash
    private let expectedDigests: [[UInt8]]
    private let record: UnsafeMutableRawBufferPointer
    /// The library is on the stack; closing waits until it has returned.
    private var isInLibrary = false
    private var mustClose = false

    /// - Parameters:
    ///   - profiles: SRTP profiles to offer or accept, best first.
    ///   - expectedFingerprints: what the peer's description announced; hashes other than SHA-256/384/512 are passed over.
    ///   - mtu: the longest datagram, in UDP payload bytes.
    ///   - firstRetransmissionMilliseconds: RFC 6347 §4.2.4.1 has 1 s; on a path that ICE has just measured, 50 ms are fair.
    package init(
        role: Role, identity: DTLSIdentity, profiles: [SRTPProfile] = SRTPProfile.preferred,
        expectedFingerprints: [(algorithm: String, value: String)], mtu: Int = 1200, firstRetransmissionMilliseconds: Int = 50
    ) throws(TransportError) {
        let announced = expectedFingerprints.compactMap { fingerprint -> (FingerprintHash, [UInt8])? in
            guard let hash = FingerprintHash(rawValue: fingerprint.algorithm.lowercased()),
                let digest = FingerprintHash.parse(fingerprint.value)
            else { return nil }
            return (hash, digest)
        }
        guard let hash = FingerprintHash.allCases.last(where: { hash in announced.contains { $0.0 == hash } }) else {
            throw TransportError(.dtlsFailed, "the peer announced no certificate fingerprint with SHA-256, SHA-384 or SHA-512")
        }
        guard !profiles.isEmpty else { throw TransportError(.srtpFailed, "no SRTP profile to offer") }
        self.role = role
        self.hash = hash
        expectedDigests = announced.filter { $0.0 == hash }.map(\.1)
        offeredProfiles = profiles
        record = .allocate(byteCount: DTLSConnection.recordBytes, alignment: 16)
        let first = UInt32(clamping: max(1, firstRetransmissionMilliseconds)) &* 1000
        session = cdtls_session_create(
            identity.handle, role == .client ? 1 : 0, profiles.map(\.openSSLName).joined(separator: ":"), UInt32(clamping: mtu),
            min(first, DTLSConnection.longestRetransmissionMicroseconds), DTLSConnection.longestRetransmissionMicroseconds,
            dtlsOutput, Unmanaged.passUnretained(self).toOpaque())
        guard session != nil else {
            record.deallocate()
            throw TransportError(.dtlsFailed, "no DTLS session could be made")
        }
    }

    deinit {
        cdtls_session_free(session)
        record.deallocate()
    }

    package var isConnected: Bool { state == .connected }

    /// Begins the handshake. A server then waits for the peer's first flight.
    package func start(now: MonotonicTime) {
        guard state == .idle else { return }
        state = .handshaking
        step(now)
    }

    /// One datagram from the path.
    package func receive(_ datagram: UnsafeRawBufferPointer, now: MonotonicTime) {
        guard let session, state == .handshaking || state == .connected, let first = datagram.first, 20...63 ~= first else {
            drops.count(.unknownDatagram)
            return
        }
        cdtls_session_lend(session, datagram.baseAddress, datagram.count)
        step(now)
        if let session = self.session { cdtls_session_unlend(session) }
    }

    /// To be called at `nextDeadline`: sends the last flight again, more rarely each time.
    package func handleTimeout(now: MonotonicTime) {
        guard let session, state == .handshaking || state == .connected else { return }
        let result = inLibrary { cdtls_session_handle_timeout(session) }
        if result == CDTLS_FAILED {
            finish(.failed(TransportError(.timeout, "DTLS handshake: \(errorText)")))
        } else {
            updateDeadline(now)
        }
    }

    /// Sends one record. False when not connected, too long, or when the path does not take it now.
    package func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let session, state == .connected, !mustClose else { return false }
        return inLibrary { cdtls_session_write(session, bytes.baseAddress, bytes.count) } == CDTLS_DONE
    }

    /// Says goodbye and ends without waiting for an answer. No callback follows. The close_notify goes out a few times because
    /// nothing repeats it when it is lost (RFC 6347 §4.2.7: alerts are not retransmitted); copies fall to the peer's replay check.
    package func close() {
        guard state != .closed else { return }
        guard !isInLibrary else { return mustClose = true }
        let wasConnected = state == .connected
        state = .closed
        nextDeadline = nil
        if wasConnected { sayGoodbye(copies: DTLSConnection.goodbyeCopies) }
        release()
    }

    // MARK: Progress

    private func step(_ now: MonotonicTime) {
        if state == .handshaking, !continueHandshake() { return }
        if state == .connected { readRecords() }
        updateDeadline(now)
    }

    /// False when the association has ended.
    private func continueHandshake() -> Bool {
        guard let session else { return false }
        switch inLibrary({ cdtls_session_handshake(session) }) {
        case CDTLS_DONE: return completeHandshake(session)
        case CDTLS_WANT: return state == .handshaking
        case CDTLS_CLOSED: finish(.peerClosed)
        default: finish(.failed(TransportError(.dtlsFailed, "DTLS handshake: \(errorText)")))
        }
        return false
    }

    private func completeHandshake(_ session: OpaquePointer) -> Bool {
        guard state == .handshaking else { return false }
        guard let digest = hash.digest({ cdtls_session_peer_digest(session, $0, $1) }), expectedDigests.contains(digest) else {
            refuse(TransportError(.fingerprintMismatch, "the peer's certificate does not have the announced \(hash.rawValue) fingerprint"))
            return false
        }
        guard let profile = SRTPProfile(rawValue: UInt16(truncatingIfNeeded: cdtls_session_srtp_profile(session))),
            offeredProfiles.contains(profile)
        else {
            refuse(TransportError(.srtpFailed, "no SRTP profile in common with the peer"))
            return false
        }
        var material = [UInt8](repeating: 0, count: 2 * (profile.keyCount + profile.saltCount))
        guard cdtls_session_export_srtp(session, &material, material.count) == 1,
            let keys = SRTPKeys(profile: profile, exported: material, isClient: role == .client)
        else {
            refuse(TransportError(.srtpFailed, "no SRTP keys could be exported"))
            return false
        }
        state = .connected
        onConnected(keys)
        return state == .connected
    }

    private func readRecords() {
        while let session, state == .connected {
            let count = inLibrary { cdtls_session_read(session, record.baseAddress, record.count) }
            guard state == .connected else { return }
            switch count {
            case 1...: onApplicationData(UnsafeRawBufferPointer(rebasing: record[..<Int(count)]))
            case CDTLS_WANT: return
            case CDTLS_CLOSED: return finish(.peerClosed)
            default: return finish(.failed(TransportError(.dtlsFailed, "DTLS: \(errorText)")))
            }
        }
    }

    /// Ends an association whose handshake is complete but whose peer is not acceptable; the peer is told.
    private func refuse(_ error: TransportError) {
        sayGoodbye(copies: DTLSConnection.goodbyeCopies)
        finish(.failed(error))
    }

    private func sayGoodbye(copies: Int32) {
        guard let session else { return }
        isInLibrary = true
        cdtls_session_shutdown(session, copies)
        isInLibrary = false
    }

    private func finish(_ reason: CloseReason) {
        guard state != .closed else { return }
        let wasConnected = state == .connected
        state = .closed
        nextDeadline = nil
        // RFC 5246 §7.2.1: close_notify is answered by close_notify.
        if reason == .peerClosed, wasConnected { sayGoodbye(copies: 1) }
        release()
        // Closed by the owner from within `onSend`: no callback after `close`.
        if !mustClose { onClosed(reason) }
    }

    private func release() {
        cdtls_session_free(session)
        session = nil
    }

    private func updateDeadline(_ now: MonotonicTime) {
        guard let session, state != .closed else { return nextDeadline = nil }
        let microseconds = cdtls_session_timeout(session)
        nextDeadline = microseconds < 0 ? nil : now.adding(nanoseconds: microseconds &* 1000)
    }

    private var errorText: String { session.map { String(cString: cdtls_session_error($0)) } ?? "closed" }

    private func inLibrary(_ call: () -> Int32) -> Int32 {
        isInLibrary = true
        let result = call()
        isInLibrary = false
        if mustClose { close() }
        return result
    }

    /// A datagram the library wants sent.
    fileprivate func output(_ bytes: UnsafeRawBufferPointer) -> Bool { onSend(bytes) }

    private static let goodbyeCopies: Int32 = 3
    private static let longestRetransmissionMicroseconds: UInt32 = 1_000_000
    /// The longest plaintext of a record (RFC 5246 §6.2.1).
    private static let recordBytes = 16384
}

/// The user pointer is the connection: it frees the session, so it is alive whenever the library runs.
private func dtlsOutput(_ user: UnsafeMutableRawPointer?, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int32 {
    guard let user else { return 0 }
    let connection = Unmanaged<DTLSConnection>.fromOpaque(user).takeUnretainedValue()
    return connection.output(UnsafeRawBufferPointer(start: bytes, count: count)) ? 1 : 0
}
