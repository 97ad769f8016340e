/// What all four top-level messages share: id, kind, and one of several payloads (wire-protocol 5.3).
///
/// One type per channel and direction: `DataClientMessage`, `DataServerMessage`, `ControlClientMessage`, `ControlServerMessage`.
package struct Envelope<Payload: EnvelopePayload>: Hashable, Sendable {
    /// Empty on notifications.
    package var requestID: String
    package var kind: MessageKind
    /// `nil` in a bodyless acknowledgement.
    package var payload: Payload?
    /// Number of a payload-like field we do not know, when there was one and no known payload. Such a message is not an
    /// acknowledgement: something was said that we cannot read (PB-05).
    package var unknownPayloadField: Int?

    package init(requestID: String = "", kind: MessageKind, payload: Payload?) {
        self.requestID = requestID
        self.kind = kind
        self.payload = payload
    }

    package init(parsing bytes: [UInt8]) throws(WireFormatError) {
        var reader = try ProtobufReader(bytes)
        requestID = ""
        kind = .unspecified
        while let field = try reader.nextField() {
            switch (field.number, field.wireType) {
            case (1, .lengthDelimited): requestID = try reader.readString()
            case (2, .varint): kind = MessageKind(rawValue: try reader.readVarint())
            case (_, .lengthDelimited) where Payload.fields.contains(field.number):
                payload = try reader.readMessage { body throws(WireFormatError) in try Payload(reading: &body, field: field.number) }
                unknownPayloadField = nil
            default:
                if field.number >= Self.firstPayloadField, payload == nil { unknownPayloadField = field.number }
                try reader.skip(field)
            }
        }
        // A oneof that ends in an unknown member would hide a known one before it; senders set one member, so keep what we know.
        if payload != nil { unknownPayloadField = nil }
    }

    package func encode() throws(WireFormatError) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.write(requestID, field: 1)
        writer.write(kind.rawValue, field: 2)
        if let payload {
            try writer.writeMessage(field: payload.field) { body throws(WireFormatError) in try payload.write(to: &body) }
        }
        return writer.bytes
    }

    private static var firstPayloadField: Int { 10 }
}

/// The oneof of one envelope.
package protocol EnvelopePayload: Hashable, Sendable {
    /// Field numbers of all members.
    static var fields: Set<Int> { get }
    /// Field number of this member.
    var field: Int { get }
    init(reading reader: inout ProtobufReader, field: Int) throws(WireFormatError)
    func write(to writer: inout ProtobufWriter) throws(WireFormatError)
}

/// Request, response or notification. Open: other numbers are kept.
package struct MessageKind: RawRepresentable, Hashable, Sendable {
    package var rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let unspecified = MessageKind(rawValue: 0)
    package static let request = MessageKind(rawValue: 1)
    package static let response = MessageKind(rawValue: 2)
    package static let notification = MessageKind(rawValue: 3)
}
