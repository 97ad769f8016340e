private import RTCBase

/// A STUN binding indication (RFC 8489 §5, §14.7): it is valid traffic for an ICE peer and asks for no answer.
enum STUNIndication {
    static func bytes(transaction: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 28)
        writer.write(UInt16(0x0011))
        writer.write(UInt16(8))  // the fingerprint attribute counts
        writer.write(UInt32(0x2112_A442))
        writer.write(transaction.prefix(12))
        let checksum = crc32(writer.bytes) ^ 0x5354_554E
        writer.write(UInt16(0x8028))
        writer.write(UInt16(4))
        writer.write(checksum)
        return writer.bytes
    }

    /// The CRC of RFC 8489 §14.7 (ITU V.42), bit by bit: used once a second at most.
    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
