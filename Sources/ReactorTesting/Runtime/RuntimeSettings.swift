internal import RTCPeer
internal import Reactor

/// Settings of one runtime; plain values.
struct RuntimeSettings: Sendable {
    var orphanTimeout: Duration = .seconds(60)
    /// Nil: silent clients are kept.
    var pingTimeout: Duration? = .seconds(20)
    /// From an offer until both channels are open (wire-protocol 3.2).
    var negotiationTimeout: Duration = .seconds(30)
    var uploadTimeout: Duration = .seconds(10)
    var iceServers: [LocalRuntime.ICEServer] = []
    var logger: ReactorLogger?
    /// Called on the network thread; must not wait.
    var onTransition: (@Sendable (RuntimeSessionMachine.Transition) -> Void)?

    func log(
        _ level: ReactorLogger.Level, _ message: @autoclosure () -> String, _ metadata: @autoclosure () -> [String: String] = [:]
    ) {
        logger?.log(level, "runtime", message(), metadata())
    }

    /// Of an answering end: the client opens the channels.
    var peerConfiguration: PeerConfiguration {
        var configuration = PeerConfiguration()
        configuration.channels = []
        configuration.iceServers = iceServers.flatMap { server in
            server.urls.map { PeerConfiguration.Server(url: $0, username: server.username, credential: server.password) }
        }
        return configuration
    }
}
