package import RTCBase

/// A message of the data channel establishment protocol, PPID 50 (RFC 8832 §5).
package enum DCEPMessage: Hashable, Sendable {
    /// `channelType` is one of 0x00, 0x80, 0x01, 0x81, 0x02, 0x82; the high bit means unordered.
    case open(channelType: UInt8, priority: UInt16, reliability: UInt32, label: String, protocolName: String)
    case acknowledge

    private static let acknowledgeType: UInt8 = 0x02
    private static let openType: UInt8 = 0x03
    private static let unordered: UInt8 = 0x80

    package init(parsing bytes: RawSpan) throws(WireError) {
        var reader = ByteReader(bytes)
        switch try reader.readUInt8() {
        case Self.acknowledgeType:
            self = .acknowledge
        case Self.openType:
            let channelType = try reader.readUInt8()
            guard channelType & ~Self.unordered <= 2 else { throw .badValue }
            let priority = try reader.readUInt16()
            let reliability = try reader.readUInt32()
            let labelCount = Int(try reader.readUInt16())
            let protocolCount = Int(try reader.readUInt16())
            guard let label = String(validating: try reader.readBytes(labelCount), as: UTF8.self),
                let protocolName = String(validating: try reader.readBytes(protocolCount), as: UTF8.self)
            else { throw .badValue }
            self = .open(
                channelType: channelType, priority: priority, reliability: reliability, label: label, protocolName: protocolName)
        default:
            throw .badValue
        }
    }

    /// Label and protocol of more than 65535 bytes do not fit the format; the caller checks them.
    package func write(into writer: inout ByteWriter) {
        switch self {
        case .acknowledge:
            writer.write(Self.acknowledgeType)
        case .open(let channelType, let priority, let reliability, let label, let protocolName):
            let label = label.utf8.prefix(0xFFFF)
            let protocolName = protocolName.utf8.prefix(0xFFFF)
            writer.write(Self.openType)
            writer.write(channelType)
            writer.write(priority)
            writer.write(reliability)
            writer.write(UInt16(label.count))
            writer.write(UInt16(protocolName.count))
            writer.write(label)
            writer.write(protocolName)
        }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter()
        write(into: &writer)
        return writer.bytes
    }

    /// An OPEN with the channel type that these properties have (§5.1; trap DC-08).
    package static func open(
        label: String, protocolName: String, isOrdered: Bool, reliability: ChannelReliability, priority: UInt16 = 256
    ) -> DCEPMessage {
        let (kind, parameter): (UInt8, UInt32) =
            switch reliability {
            case .reliable: (0, 0)
            case .maxRetransmits(let count): (1, UInt32(count))
            case .maxLifetimeMilliseconds(let time): (2, UInt32(time))
            }
        return .open(
            channelType: kind | (isOrdered ? 0 : unordered), priority: priority, reliability: parameter, label: label,
            protocolName: protocolName)
    }

    /// The properties that a channel type and its parameter mean; a parameter over 65535 counts as 65535.
    package static func properties(channelType: UInt8, reliability: UInt32) -> (isOrdered: Bool, reliability: ChannelReliability) {
        let parameter = UInt16(clamping: reliability)
        let meaning: ChannelReliability =
            switch channelType & ~unordered {
            case 1: .maxRetransmits(parameter)
            case 2: .maxLifetimeMilliseconds(parameter)
            default: .reliable
            }
        return (channelType & unordered == 0, meaning)
    }
}
