/// The pair in use.
package struct ICESelectedPair: Sendable, Hashable {
    package var localType: ICECandidateType
    package var remoteType: ICECandidateType
    package var localAddress: String
    package var remoteAddress: String
    package var remotePort: UInt16
    /// How the relay is reached, when the local candidate is relayed and only one configured server can be meant.
    package var relayProtocol: RelayTransport?
}
