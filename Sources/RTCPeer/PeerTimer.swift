package import RTCBase
internal import RTCTransport

/// A one-shot timer on the network thread, for actors pinned to it. Used on the network thread only.
package final class PeerTimer {
    private let timer: NetworkTimer

    package init(_ fire: @escaping () -> Void) { timer = NetworkExecutor.shared.makeTimer(fire) }

    deinit { timer.cancel() }

    /// Fires once at or shortly after `deadline`; nil disarms.
    package func set(deadline: MonotonicTime?) { timer.set(deadline: deadline) }
}

/// The network thread as others see it.
package enum NetworkThread {
    /// The executor of every `PeerConnection`; an actor pinned to it reaches one without a thread hop.
    package static var executor: any SerialExecutor { NetworkExecutor.shared }

    /// Runs `body` on the network thread, after everything that was enqueued before it. Any thread.
    package static func execute(_ body: @escaping @Sendable () -> Void) { NetworkExecutor.shared.execute(body) }

    package static func now() -> MonotonicTime { NetworkExecutor.now() }
}
