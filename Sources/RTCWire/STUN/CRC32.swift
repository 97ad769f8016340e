import RTCBase

/// The CRC of ITU V.42 that FINGERPRINT is made of (RFC 8489 §14.7), bit by bit: used a few times a second at most.
enum CRC32 {
    static func checksum(_ bytes: RawSpan) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for offset in 0..<bytes.byteCount {
            crc ^= UInt32(bytes.uint8(at: offset))
            for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
