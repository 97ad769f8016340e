import RTCBase

/// An address and port as XOR-MAPPED-ADDRESS carries them (RFC 8489 §14.2).
package struct STUNAddress: Hashable, Sendable {
    /// 4 bytes of IPv4 or 16 of IPv6, in network order.
    package var address: [UInt8]
    package var port: UInt16

    /// Nil unless the address has 4 or 16 bytes.
    package init?(address: [UInt8], port: UInt16) {
        guard address.count == 4 || address.count == 16 else { return nil }
        self.address = address
        self.port = port
    }

    init(parsing value: RawSpan, transaction: STUNTransaction) throws(WireError) {
        guard value.byteCount >= 4 else { throw .badLength }
        let count =
            switch value.uint8(at: 1) {
            case Self.ipv4: 4
            case Self.ipv6: 16
            default: throw .badValue
            }
        guard value.byteCount == 4 + count else { throw .badLength }
        port = value.uint16(at: 2) ^ UInt16(truncatingIfNeeded: STUNMessage.cookie >> 16)
        address = zip(value.copy(4..<(4 + count)), Self.mask(transaction)).map { $0 ^ $1 }
    }

    /// The attribute's value.
    func value(transaction: STUNTransaction) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 4 + address.count)
        writer.write(UInt8(0))
        writer.write(address.count == 4 ? Self.ipv4 : Self.ipv6)
        writer.write(port ^ UInt16(truncatingIfNeeded: STUNMessage.cookie >> 16))
        writer.write(zip(address, Self.mask(transaction)).map { $0 ^ $1 })
        return writer.bytes
    }

    /// The magic cookie and the transaction, 16 bytes.
    private static func mask(_ transaction: STUNTransaction) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 16)
        writer.write(STUNMessage.cookie)
        writer.write(transaction.high)
        writer.write(transaction.low)
        return writer.bytes
    }

    private static let ipv4: UInt8 = 1
    private static let ipv6: UInt8 = 2
}
