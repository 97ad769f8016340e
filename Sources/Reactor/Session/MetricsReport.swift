// What the client measures, under the names that `ReactorMetrics` documents.
extension ReactorMetrics {
    func changed(to status: ReactorStatus, droppedEvents: UInt64) {
        counter("reactor.status", 1, dimensions: ["status": status.rawValue])
        gauge("reactor.events.dropped", Double(droppedEvents), dimensions: [:])
    }

    func failed(_ error: ReactorError) { counter("reactor.errors", 1, dimensions: ["code": error.code.rawValue]) }

    func connected(_ timings: ConnectionTimings) {
        let steps = [
            ("total", timings.total), ("session", timings.sessionReady), ("ice", timings.iceConnected),
            ("dtls", timings.dtlsConnected), ("channels", timings.dataChannelsOpen),
        ]
        for (step, duration) in steps {
            if let duration { timer("reactor.connect.duration", duration, dimensions: ["step": step]) }
        }
    }

    func reconnected() { counter("reactor.reconnects", 1, dimensions: [:]) }

    /// - Parameter failure: nil for a command that was answered.
    func commanded(failure: (any Error)?, duration: Duration) {
        let result =
            switch failure {
            case nil: "ok"
            case let error as ReactorError: error.code.rawValue
            default: "cancelled"
            }
        counter("reactor.commands", 1, dimensions: ["result": result])
        if failure == nil { timer("reactor.command.duration", duration, dimensions: [:]) }
    }
}
