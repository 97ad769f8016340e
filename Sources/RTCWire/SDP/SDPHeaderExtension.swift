/// One `a=extmap` (RFC 8285 §5).
package struct SDPHeaderExtension: Sendable, Hashable {
    package var id: UInt8
    package var uri: String
    package var direction: String?

    package init(id: UInt8, uri: String, direction: String? = nil) {
        self.id = id
        self.uri = uri
        self.direction = direction
    }
}

extension HeaderExtensionIDs {
    /// The ids that a section's extmap lines give to the extensions we use.
    package init(_ extensions: [SDPHeaderExtension]) {
        self.init()
        for element in extensions {
            switch element.uri {
            case HeaderExtensionURI.mid: mid = element.id
            case HeaderExtensionURI.transportSequenceNumber: transportSequenceNumber = element.id
            case HeaderExtensionURI.absoluteSendTime: absoluteSendTime = element.id
            case HeaderExtensionURI.streamID: streamID = element.id
            case HeaderExtensionURI.repairedStreamID: repairedStreamID = element.id
            case HeaderExtensionURI.audioLevel: audioLevel = element.id
            default: break
            }
        }
    }
}
