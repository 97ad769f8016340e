internal import RTCBase
internal import RTCPeer
internal import ReactorCore

// Reconnecting by itself, as the policy says: one timer, and attempts that are calls of nobody.
extension SessionEngine {
    /// What an event means for the plan, before the machine has seen it; the names of the tracks that are published now when it
    /// is a loss to be repaired.
    func lossToRepair(_ event: SessionMachine.Event) -> [String]? {
        guard case .transportLost(_, let generation) = event, machine.readyGeneration == generation, !machine.isEndAnnounced else {
            return nil
        }
        return machine.tracks.publishedNames.sorted()
    }

    /// The app takes over.
    func yieldToApp(_ event: SessionMachine.Event) {
        switch event {
        case .disconnectCalled, .closeCalled: stopReconnecting()
        case .connectCalled: if reconnectPlan.phase == .waiting { stopReconnecting() }
        case .reconnectCalled(let call) where call != automaticCall: if reconnectPlan.phase == .waiting { stopReconnecting() }
        default: break
        }
    }

    private func stopReconnecting() {
        reconnectPlan.stop()
        reconnectTimer?.set(deadline: nil)
    }

    func repairLoss(published: [String]) {
        guard configuration.reconnectPolicy.maxAttempts > 0 else { return }
        let names = configuration.reconnectPolicy.republishesTracks ? published : []
        let now = NetworkThread.now().nanoseconds
        wait(reconnectPlan.lost(published: names, now: now, random: .random(in: 0..<1)))
    }

    private func wait(_ nanoseconds: Int64?) {
        guard let nanoseconds else { return }
        log(.debug, "reconnecting", ["in": "\(nanoseconds / 1_000_000) ms"])
        let timer = reconnectTimer ?? PeerTimer { [weak self] in self?.assumeIsolated { $0.reconnectTimerFired() } }
        reconnectTimer = timer
        timer.set(deadline: NetworkThread.now().adding(nanoseconds: nanoseconds))
    }

    private func reconnectTimerFired() {
        guard reconnectPlan.begin() else { return }
        let call = makeCall()
        automaticCall = call
        perform(.reconnectCalled(call))
    }

    /// How an attempt of the plan's own ended; true when the call was one.
    func endedAutomatically(_ call: CallID, _ outcome: CallOutcome) -> Bool {
        guard call == automaticCall else { return false }
        automaticCall = nil
        switch outcome {
        case .success:
            republish(reconnectPlan.succeeded(now: NetworkThread.now().nanoseconds))
        case .failure(let error):
            wait(reconnectPlan.failed(isRecoverable: error.recoverable, random: .random(in: 0..<1)))
        case .cancelled: stopReconnecting()
        }
        return true
    }

    private func republish(_ names: [String]) {
        guard !names.isEmpty else { return }
        Task {
            for name in names {
                do {
                    try await publish(name)
                } catch {
                    // Refusals were error events already. What a new loss has prevented is for the next connection.
                    guard machine.readyGeneration != nil else { return }
                    log(.warning, "a track could not be published again", ["track": name, "error": "\(error)"])
                }
                reconnectPlan.settled(name)
            }
        }
    }
}

extension ReconnectPlan {
    init(_ policy: ReconnectPolicy) {
        self.init(
            maxAttempts: policy.maxAttempts, initialDelay: SessionEngine.nanoseconds(policy.initialDelay),
            maxDelay: SessionEngine.nanoseconds(policy.maxDelay))
    }
}
