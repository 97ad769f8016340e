extension ICEAgent {
    /// Settings of one agent.
    package struct Configuration: Sendable {
        /// RFC 8445 §6.1.1: the offerer controls.
        package var isControlling = true
        package var servers: [ICEServer] = []
        package var relayOnly = false
        package var portRange: ClosedRange<UInt16>?
        /// Use loopback addresses besides others, for servers on this machine. They are not announced to the peer, which
        /// learns them from our checks. Without any other address loopback is always used, and announced.
        package var includesLoopback = true
        /// SO_RCVBUF. The default of 208 KiB overflows when this thread is held off its core for some milliseconds.
        package var receiveBufferBytes = 4 << 20
        /// Gather on these addresses only (tests, multi-homed machines).
        package var localAddresses: [String]?

        package init() {}
    }
}
