/// One `a=ssrc` line: a source attribute such as `cname` (RFC 5576 §4.1).
package struct SSRCAttribute: Sendable, Hashable {
    package var ssrc: UInt32
    package var name: String
    package var value: String?

    package init(ssrc: UInt32, name: String, value: String? = nil) {
        self.ssrc = ssrc
        self.name = name
        self.value = value
    }
}

/// One `a=ssrc-group` line; `FID` pairs a source with its retransmission (RFC 5576 §4.2).
package struct SSRCGroup: Sendable, Hashable {
    package var semantics: String
    package var ssrcs: [UInt32]

    package init(semantics: String, ssrcs: [UInt32]) {
        self.semantics = semantics
        self.ssrcs = ssrcs
    }
}
