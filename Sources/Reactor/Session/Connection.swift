internal import RTCPeer
internal import ReactorCore

/// One attempt to connect and the connection it became. Belongs to the engine and is used on its thread only.
final class Connection {
    let generation: Generation
    let isReconnect: Bool
    /// Runs the attempt's steps; ends with the attempt.
    var task: Task<Void, Never>?
    var peer: PeerConnection?
    /// The attempt has reported how it ended.
    var isSettled = false
    private var openChannels: Set<String> = []
    private var loss: PeerLoss?
    private var readiness: CheckedContinuation<Void, any Error>?
    /// Given up: what still comes from its peer concerns nobody.
    private(set) var isCancelled = false

    // Trickle: what was found while the connection had no id, or another request was on its way.
    var candidates: [String] = []
    var isGatheringDone = false
    var wasFinalSent = false
    var isSendingCandidates = false
    var signaling: SignalingClient?
    var connectionID: UInt32?
    var firstMid: String?

    /// Why a track carries nothing on this connection, by name.
    var rejections: [String: String] = [:]

    init(generation: Generation, isReconnect: Bool) {
        self.generation = generation
        self.isReconnect = isReconnect
    }

    /// Stops the attempt: its task, and whoever waits for readiness.
    func cancel() {
        isCancelled = true
        task?.cancel()
        resumeReadiness(.failure(CancellationError()))
    }

    var isReady: Bool { openChannels.count == MessageChannel.allCases.count }

    func channelOpened(_ label: String) {
        openChannels.insert(label)
        if isReady { resumeReadiness(.success(())) }
    }

    func channelClosed(_ label: String) { openChannels.remove(label) }

    func isOpen(_ channel: MessageChannel) -> Bool { openChannels.contains(channel.rawValue) }

    func lost(_ loss: PeerLoss) {
        self.loss = loss
        resumeReadiness(.failure(loss.failure))
    }

    /// What ended the connection before it was ready.
    var lossBeforeReady: PeerLoss? { loss }

    /// Keeps `continuation` until both channels are open or the connection is lost; resumes it at once if that is so now.
    func waitForReadiness(_ continuation: CheckedContinuation<Void, any Error>) {
        readiness = continuation
        if isReady {
            resumeReadiness(.success(()))
        } else if let loss {
            resumeReadiness(.failure(loss.failure))
        } else if isCancelled {
            resumeReadiness(.failure(CancellationError()))
        }
    }

    func failReadiness(_ error: any Error) { resumeReadiness(.failure(error)) }

    private func resumeReadiness(_ result: Result<Void, any Error>) {
        let waiting = readiness
        readiness = nil
        waiting?.resume(with: result)
    }
}

extension PeerLoss {
    /// The failure of an attempt whose transport went before it was ready.
    var failure: CoreError { CoreError(.transportError, message) }

    /// In the words of an error event for an established connection.
    var causeText: String {
        switch cause {
        case .closedByPeer: "Closed: \(message)"
        case .refused, .silence: "Disconnected: \(message)"
        case .transport: "Failed: \(message)"
        }
    }
}
