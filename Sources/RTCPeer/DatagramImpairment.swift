package import RTCBase

/// Stands between ICE and everything above it, for tests and demonstrations: a connection shows it each datagram but STUN,
/// both ways, and it loses or delays what it likes. Called on the network thread of its connection.
package protocol DatagramImpairment: Sendable {
    /// Takes charge of a datagram, copying what is to come later. False leaves it to go on at once.
    func take(_ datagram: UnsafeRawBufferPointer, _ direction: DatagramDirection, now: MonotonicTime) -> Bool

    /// The next taken datagram that is due by `now`; false when there is none.
    func next(_ direction: DatagramDirection, now: MonotonicTime, into datagram: inout [UInt8]) -> Bool

    /// When the next one is due, either way.
    func nextDeadline() -> MonotonicTime?
}

package enum DatagramDirection: Sendable, CaseIterable {
    case outgoing, incoming
}
