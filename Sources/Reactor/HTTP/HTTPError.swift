/// Why no complete answer came. Cancellation is not among the reasons: it throws `CancellationError`.
package struct HTTPError: Error, Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// The request itself is wrong: URL, header. Nothing was sent.
        case invalidRequest
        /// No address for the host name.
        case resolveFailed
        /// Refused, unreachable.
        case connectFailed
        /// Handshake or certificate.
        case tlsFailed
        /// No connection, or no complete answer, within the limit.
        case timedOut
        /// The connection ended before the answer was complete.
        case connectionLost
        /// What came back is not HTTP, or its content encoding is broken.
        case malformedResponse
        /// Headers or body over the limit.
        case responseTooLarge
        /// Too many hops, a hop without a target, or one from https down to http.
        case badRedirect
        /// More requests at once than the client takes.
        case overloaded
        /// libcurl or the system refused a resource.
        case internalFailure
    }

    package var kind: Kind
    /// For people; without credentials.
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
