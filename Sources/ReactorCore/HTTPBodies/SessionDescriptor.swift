/// The session object of create, get, and the local runtime (wire-protocol 2.4, 3.1). Members we do not use are ignored.
package struct SessionDescriptor: Hashable, Sendable {
    package var sessionID: String
    /// Opaque: upper case in the cloud, lower case locally, and new values may come.
    package var state: String
    package var modelName: String?
    package var cluster: String?
    package var serverVersion: String?
    package var selectedTransport: TransportChoice?
    package var capabilities: Capabilities?
    package var generation: String?

    package struct TransportChoice: Hashable, Sendable {
        package var protocolName: String
        package var version: String
    }

    /// The ready rule: capabilities and transport are both there, whatever the state string says.
    package var isConnectable: Bool { capabilities != nil && selectedTransport != nil }

    /// The two states of the cloud vocabulary a session does not leave. Other strings, the local ones included, are not terminal.
    package var isTerminal: Bool { state == "INACTIVE" || state == "CLOSED" }

    package init(parsing bytes: [UInt8]) throws(WireFormatError) {
        let body = try WireValue.parseBody(bytes)
        sessionID = try body.requiredString("session_id")
        guard Self.isSafePathComponent(sessionID) else { throw .wrongType("session_id") }
        state = try body.requiredString("state")
        modelName = try body.optionalObject("model")?.optionalString("name")
        cluster = try body.optionalString("cluster")
        serverVersion = try body.optionalObject("server_info")?.optionalString("server_version")
        if let transport = try body.optionalObject("selected_transport") {
            selectedTransport = TransportChoice(
                protocolName: try transport.requiredString("protocol"), version: try transport.optionalString("version") ?? "")
        }
        if let object = try body.optionalObject("capabilities") { capabilities = try Capabilities(object) }
        generation = try body.optionalString("generation")
    }

    /// The error for a session that ended while we waited for it: "session entered terminal state Closed".
    package var terminalError: CoreError? {
        guard isTerminal else { return nil }
        let word = state.prefix(1) + state.dropFirst().lowercased()
        return CoreError(.sessionTerminal, "session entered terminal state \(word)")
    }

    /// The id becomes part of a URL path; an id that would leave its place in the path is not an id.
    package static func isSafePathComponent(_ id: String) -> Bool {
        !id.isEmpty && id.utf8.count <= 256 && id != "." && id != ".."
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "~"), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
    }
}
