/// What is known of one track, from which a `Diagnosis` is made. Pure.
struct TrackFindings: Sendable {
    var name: String
    var status: ReactorStatus
    /// The names the session declares.
    var declaredNames: [String]
    /// Nil for a track that is not declared.
    var direction: TrackDirection?
    var kind: TrackKind?
    /// Why the server carries no media for it.
    var rejection: String?
    var isNegotiated = false
    var isPaused = false
    var isPublished = false
    var packetsReceived = 0
    var framesDecoded = 0
    var framesTaken = 0
    var packetsSent = 0
    var framesPushed = 0
    var isAcknowledged = false
    var lastDecodeError: String?

    var diagnosis: Diagnosis {
        var passed: [Diagnosis.Step] = []
        for (step, hasHappened, advice) in steps {
            guard hasHappened else { return Diagnosis(track: name, passed: passed, firstMissing: step, advice: advice) }
            passed.append(step)
        }
        return Diagnosis(track: name, passed: passed, firstMissing: nil, advice: "")
    }

    private var steps: [(Diagnosis.Step, Bool, advice: String)] {
        let common: [(Diagnosis.Step, Bool, advice: String)] = [
            (.connected, status == .ready, Self.connectAdvice(status)),
            (
                .declared, direction != nil,
                declaredNames.isEmpty
                    ? "the session declares no tracks" : "the session declares \(declaredNames.joined(separator: ", "))"
            ),
            (
                .subscribed, isNegotiated && rejection == nil,
                "the server takes part in no media for it: \(rejection ?? "its answer leaves the track out")"
            ),
        ]
        switch direction {
        case .sendonly: return common + sendSteps
        case .recvonly, nil: return common + receiveSteps
        }
    }

    private var receiveSteps: [(Diagnosis.Step, Bool, advice: String)] {
        [
            (.resumed, !isPaused, "it is paused; call resume()"),
            (
                .received, packetsReceived > 0,
                "no packet has come; the model may have nothing to show before it is told what, or the network carries no media"
            ),
            (
                .decoded, framesDecoded > 0,
                lastDecodeError.map { "\(packetsReceived) packets came and no frame of them could be decoded: \($0)" }
                    ?? "\(packetsReceived) packets came and no whole frame yet; a key frame has been asked for"
            ),
            (
                .delivered, framesTaken > 0,
                kind == .audio
                    ? "nobody takes its sound; loop over audioFrames or keep the subscription of onFrame"
                    : "nobody takes its frames; loop over videoFrames or keep the subscription of onFrame"
            ),
        ]
    }

    private var sendSteps: [(Diagnosis.Step, Bool, advice: String)] {
        [
            (.published, isPublished, "call publish(), also after a reconnect"),
            (
                .sent, packetsSent > 0,
                framesPushed > 0
                    ? "\(framesPushed) \(kind == .audio ? "samples" : "frames") were pushed and nothing of them has gone out yet"
                    : "nothing was pushed; call pushFrame()"
            ),
            (.acknowledged, isAcknowledged, "\(packetsSent) packets went out and the server has reported none; ask again in a second"),
        ]
    }

    static func connectAdvice(_ status: ReactorStatus) -> String {
        switch status {
        case .disconnected: "the status is disconnected; call connect(), or reconnect() after a loss"
        case .connecting, .waiting: "the status is \(status.rawValue); wait for connect() to return"
        case .ready: ""
        }
    }
}
