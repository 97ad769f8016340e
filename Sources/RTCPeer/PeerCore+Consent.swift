internal import RTCBase
internal import RTCEngine
internal import RTCTransport
internal import RTCWire

// Consent freshness (RFC 7675): `ConsentMachine` decides, `ICEAgent` writes and reads the checks. Independent of the silence
// rule in `tick`, which ends a connection much earlier when nothing at all arrives: this one ends a connection whose peer
// still sends but no longer answers for what we send.
extension PeerCore {
    func pairSelected() {
        guard !isClosed else { return }
        consent.onSelectedPair(now: executor.now, using: &random)
        rearm()
    }

    func checkAnswered(_ transaction: STUNTransaction) {
        guard !isClosed else { return }
        // The deadline only moves back, so the timer need not be set anew.
        if !consent.handleAnswer(transaction, now: executor.now) { drops.count(.unknownDatagram) }
    }

    func checkConsent(now: MonotonicTime) {
        switch consent.handleTimeout(now: now, using: &random) {
        case .none: break
        case .check(let transaction):
            // A check that cannot be sent counts as one that was lost. Where answers cannot be seen, as on a relayed pair, what
            // remains are libnice's own checks, which give up after 50 s, and the silence rule.
            if ice?.sendCheck(transaction) == .unsupported { consent.stop() }
        case .expired: lose(PeerLoss(.transport, "the server no longer answers the checks of the network path"))
        }
    }
}
