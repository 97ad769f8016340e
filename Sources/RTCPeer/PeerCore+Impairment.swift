internal import RTCBase
internal import RTCTransport

// Datagrams on their way through `PeerConfiguration.impairment`. What comes due is passed on in the call that finds it due:
// outgoing datagrams from any call, incoming ones only from where datagrams arrive, never amid something else of the engine.
extension PeerCore {
    func takes(_ datagram: UnsafeMutableRawBufferPointer, _ impairment: any DatagramImpairment) -> Bool {
        guard impairment.take(UnsafeRawBufferPointer(datagram), .incoming, now: executor.now) else { return false }
        passIncoming(impairment)
        rearm()
        return true
    }

    func takes(_ datagram: UnsafeRawBufferPointer, to ice: ICEAgent, _ impairment: any DatagramImpairment) -> Bool {
        guard impairment.take(datagram, .outgoing, now: executor.now) else { return false }
        passOutgoing(impairment, to: ice, by: executor.now)
        rearm()
        return true
    }

    func passDue(_ impairment: any DatagramImpairment) {
        if let ice { passOutgoing(impairment, to: ice, by: executor.now) }
        passIncoming(impairment)
    }

    /// The connection closes: what is on the way out leaves, the goodbye with it.
    func passRest(_ impairment: any DatagramImpairment) {
        if let ice { passOutgoing(impairment, to: ice, by: MonotonicTime(nanoseconds: .max)) }
    }

    /// When to look at the impairment again; it may be told to be quicker at any time.
    func impairmentDeadline(_ impairment: any DatagramImpairment) -> MonotonicTime? {
        impairment.nextDeadline().map { min($0, executor.now.adding(milliseconds: Self.impairmentIntervalMilliseconds)) }
    }

    private func passIncoming(_ impairment: any DatagramImpairment) {
        var datagram = impairedDatagrams.incoming
        impairedDatagrams.incoming = []
        while !isClosed, impairment.next(.incoming, now: executor.now, into: &datagram) {
            datagram.withUnsafeMutableBytes { arrived($0) }
        }
        impairedDatagrams.incoming = datagram
    }

    private func passOutgoing(_ impairment: any DatagramImpairment, to ice: ICEAgent, by time: MonotonicTime) {
        var datagram = impairedDatagrams.outgoing
        impairedDatagrams.outgoing = []
        while impairment.next(.outgoing, now: time, into: &datagram) {
            if !datagram.withUnsafeBytes({ ice.send($0) }) { drops.count(.sendFailed) }
        }
        impairedDatagrams.outgoing = datagram
    }

    private static let impairmentIntervalMilliseconds: Int64 = 20
}
