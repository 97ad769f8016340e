/// A call on a peer connection that cannot be carried out. The message says what is wrong, never credentials.
package struct PeerError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        case invalidState
        case malformedDescription
        case negotiation
        case configuration
        case messageTooLarge
        /// More waits to be sent than is sensible; the connection goes on.
        case backpressure
        case transport
    }
    package var kind: Kind
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }
}
