/// Why a transport cannot be made or has ended. The message names what failed and never holds credentials or keys.
package struct TransportError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// No pair of addresses works, or none works any more.
        case iceFailed
        /// A server entry or a policy that cannot work (malformed URL, TURN without credentials, relay-only without a relay).
        case iceConfiguration
        /// The far end's machine says that nobody listens on the port any more (ICMP).
        case iceRefused
        /// The DTLS handshake or record layer failed.
        case dtlsFailed
        /// The peer's certificate is not the one its description announced.
        case fingerprintMismatch
        /// Keys or profile unusable for SRTP.
        case srtpFailed
        /// The SCTP association could not be made or was lost.
        case sctpFailed
        /// The peer said goodbye (close_notify, SCTP shutdown or abort).
        case closedByPeer
        /// Nothing came in time.
        case timeout
    }

    package var kind: Kind
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }
}
