// The bridge from libnice's callbacks to an `ICEAgent`: the object that C holds while callbacks may come.
//
// The C agent owns one reference to the box from its making to its `closed` call; the box refers to the agent weakly. So a
// late callback finds the box alive, and no agent in it once that is gone.

private import CNice
private import RTCBase

/// What the C agent holds as its user pointer. Network thread only, apart from `close`.
final class ICEAgentBox {
    weak var agent: ICEAgent?
    private let executor: NetworkExecutor
    private var completions: [() -> Void] = []
    private var isClosed = false
    private var limit: NetworkTimer?

    init(executor: NetworkExecutor) { self.executor = executor }

    /// Makes the C agent, which takes a reference to `box` over. `nil` when libnice fails.
    static func makeHandle(_ box: ICEAgentBox, configuration: ICEAgent.Configuration, context: OpaquePointer) -> OpaquePointer? {
        var options = rnice_agent_options()
        options.controlling = configuration.isControlling ? 1 : 0
        // One round trip less than regular nomination; libwebrtc as the controlled end follows it (RFC 5245 §8.1.1.2).
        options.aggressive_nomination = 1
        options.force_relay = configuration.relayOnly ? 1 : 0
        // libnice gives up 10 s after the last answer with checks 4-6 s apart: one lost check could end a session. Without
        // the option it goes on checking at the same pace and gives up after 50 s; who owns the agent notices before.
        options.consent_freshness = 0
        options.pacing_ms = 5  // the least that RFC 8445 §14.2 allows; the default of 20 costs 45 ms of connection time
        // A lost first check costs 200 ms instead of 500; about 12 s until a server or pair counts as dead.
        options.initial_timeout_ms = 200
        options.max_retransmissions = 5
        if let range = configuration.portRange {
            options.min_port = UInt32(range.lowerBound)
            options.max_port = UInt32(range.upperBound)
        }
        var callbacks = rnice_agent_callbacks(
            candidate: iceCandidate, gathering_done: iceGatheringDone, state: iceState, pair_selected: icePairSelected,
            datagram: iceDatagram, send_error: iceSendError, heard: iceHeard, closed: iceClosed)
        let user = Unmanaged.passRetained(box)
        guard let handle = rnice_agent_new(context, &options, &callbacks, user.toOpaque()) else {
            user.release()
            return nil
        }
        return handle
    }

    /// Ends the C agent. From any thread: the last reference to an agent may go away anywhere.
    func close(_ handle: OpaquePointer) {
        guard !executor.isOnThread else { return rnice_agent_close(handle) }
        // The pointer is given away: nobody else has it any more.
        nonisolated(unsafe) let handle = handle
        executor.execute { rnice_agent_close(handle) }
    }

    /// Runs `completion` when the C agent is closed, at once if it is, and after half a second in any case.
    func addCompletion(_ completion: @escaping () -> Void) {
        guard !isClosed else { return completion() }
        completions.append(completion)
        guard limit == nil else { return }
        let timer = executor.makeTimer { [weak self] in self?.complete() }
        timer.set(deadline: executor.now.adding(milliseconds: 500))
        limit = timer
    }

    fileprivate func handleClosed() {
        isClosed = true
        complete()
    }

    private func complete() {
        limit?.cancel()
        let waiting = completions
        completions.removeAll()
        for completion in waiting { completion() }
    }
}

// C callbacks are free functions: a closure made in an isolated context would carry a check of that isolation with it.

private func box(_ user: UnsafeMutableRawPointer?) -> ICEAgentBox? {
    user.map { Unmanaged<ICEAgentBox>.fromOpaque($0).takeUnretainedValue() }
}

private func iceCandidate(_ user: UnsafeMutableRawPointer?, _ line: UnsafePointer<CChar>?) {
    guard let agent = box(user)?.agent, let line else { return }
    agent.handleCandidate(String(cString: line))
}

private func iceGatheringDone(_ user: UnsafeMutableRawPointer?) { box(user)?.agent?.handleGatheringDone() }

private func iceState(_ user: UnsafeMutableRawPointer?, _ state: Int32) { box(user)?.agent?.handleState(state) }

private func icePairSelected(_ user: UnsafeMutableRawPointer?) { box(user)?.agent?.handlePairSelected() }

private func iceDatagram(_ user: UnsafeMutableRawPointer?, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int) {
    guard let agent = box(user)?.agent, let bytes else { return }
    agent.handleDatagram(UnsafeMutableRawBufferPointer(start: bytes, count: count))
}

private func iceSendError(_ user: UnsafeMutableRawPointer?, _ error: Int32, _ address: UnsafePointer<CChar>?, _ port: UInt16) {
    guard let agent = box(user)?.agent, let address else { return }
    agent.handleSendError(error, address: String(cString: address), port: port)
}

private func iceHeard(_ user: UnsafeMutableRawPointer?) { box(user)?.agent?.handleHeard() }

private func iceClosed(_ user: UnsafeMutableRawPointer?) {
    guard let user else { return }
    Unmanaged<ICEAgentBox>.fromOpaque(user).takeRetainedValue().handleClosed()
}
