package import RTCBase

/// A STUN message (RFC 8489 §5) with the attributes of ICE (RFC 8445 §7.1); other attributes are read over.
///
/// FINGERPRINT is checked here. MESSAGE-INTEGRITY needs a key: compare `integrity` with the tag of `authenticatedBytes(of:)`.
package struct STUNMessage: Hashable, Sendable {
    package enum Class: UInt8, Sendable { case request, indication, success, failure }

    /// What the sender takes itself for, with the number that settles a conflict (RFC 8445 §7.3.1.1).
    package enum Role: Hashable, Sendable { case controlling(tieBreaker: UInt64), controlled(tieBreaker: UInt64) }

    package var messageClass: Class
    /// 12 bits; binding is 1.
    package var method = STUNMessage.binding
    package var transaction: STUNTransaction
    /// At most 508 bytes of UTF-8 (RFC 8489 §14.3).
    package var username: String?
    package var priority: UInt32?
    package var role: Role?
    package var usesCandidate = false
    package var mappedAddress: STUNAddress?
    /// 300 to 699, of an error response.
    package var errorCode: Int?
    /// The first attribute that the receiver would have to understand and we do not (RFC 8489 §5: types below 0x8000).
    package private(set) var unknownAttribute: UInt16?
    /// The received HMAC-SHA1, 20 bytes.
    package private(set) var integrity: [UInt8]?
    /// Where the MESSAGE-INTEGRITY attribute begins in the received bytes; what follows it is not authenticated.
    package private(set) var integrityOffset: Int?
    package private(set) var hasFingerprint = false

    package init(_ messageClass: Class, transaction: STUNTransaction) {
        self.messageClass = messageClass
        self.transaction = transaction
    }

    package static let binding: UInt16 = 1
    /// RFC 8445 §7.3.1.1.
    package static let roleConflict = 487
    static let headerCount = 20
    static let cookie: UInt32 = 0x2112_A442
    static let integrityCount = 20
    static let maxUsernameBytes = 508
    /// RFC 8489 §14.7: "STUN" in ASCII, so that no other checksum over the same bytes is the same.
    static let fingerprintMask: UInt32 = 0x5354_554E

    enum Attribute {
        static let mappedAddress: UInt16 = 0x0001
        static let username: UInt16 = 0x0006
        static let integrity: UInt16 = 0x0008
        static let errorCode: UInt16 = 0x0009
        static let integritySHA256: UInt16 = 0x001C
        static let xorMappedAddress: UInt16 = 0x0020
        static let priority: UInt16 = 0x0024
        static let useCandidate: UInt16 = 0x0025
        static let fingerprint: UInt16 = 0x8028
        static let controlled: UInt16 = 0x8029
        static let controlling: UInt16 = 0x802A
        /// UNKNOWN-ATTRIBUTES, REALM, NONCE, PASSWORD-ALGORITHM, USERHASH: understood, and of no interest here.
        static let ignored: Set<UInt16> = [0x000A, 0x0014, 0x0015, 0x001D, 0x001E]
    }
}

// MARK: Reading

extension STUNMessage {
    /// Reads one datagram. The first occurrence of an attribute counts (RFC 8489 §14); behind MESSAGE-INTEGRITY only
    /// FINGERPRINT counts (§14.5), which must come last and fit (§14.7).
    package init(parsing datagram: RawSpan) throws(WireError) {
        var reader = ByteReader(datagram)
        let type = try reader.readUInt16()
        guard type < 0x4000 else { throw .badVersion }
        let length = Int(try reader.readUInt16())
        guard try reader.readUInt32() == Self.cookie else { throw .badVersion }
        let transaction = STUNTransaction(high: try reader.readUInt32(), low: try reader.readUInt64())
        guard length % 4 == 0, length == reader.remaining else { throw .badLength }
        guard let messageClass = Class(rawValue: UInt8((type >> 7 & 2) | (type >> 4 & 1))) else { throw .badValue }
        self.init(messageClass, transaction: transaction)
        method = (type & 0x000F) | (type >> 1 & 0x0070) | (type >> 2 & 0x0F80)
        var seen: Set<UInt16> = []
        while !reader.isAtEnd {
            guard !hasFingerprint else { throw .badValue }
            let offset = reader.offset
            let attribute = try reader.readUInt16()
            let count = Int(try reader.readUInt16())
            let value = try reader.readSpan(count)
            try reader.skip((4 - count % 4) % 4)
            if attribute == Attribute.fingerprint {
                guard count == 4 else { throw .badLength }
                let checksum = CRC32.checksum(datagram.extracting(0..<offset)) ^ Self.fingerprintMask
                guard value.uint32(at: 0) == checksum else { throw .badValue }
                hasFingerprint = true
            } else if integrityOffset == nil, seen.insert(attribute).inserted {
                try read(attribute, value, at: offset)
            }
        }
    }

    private mutating func read(_ attribute: UInt16, _ value: RawSpan, at offset: Int) throws(WireError) {
        let count = value.byteCount
        switch attribute {
        case Attribute.username:
            guard count <= Self.maxUsernameBytes else { throw .tooLarge }
            guard let text = String(validating: value.copy(), as: UTF8.self) else { throw .badValue }
            username = text
        case Attribute.integrity:
            guard count == Self.integrityCount else { throw .badLength }
            integrity = value.copy()
            integrityOffset = offset
        case Attribute.errorCode:
            guard count >= 4 else { throw .badLength }
            let (hundreds, rest) = (Int(value.uint8(at: 2) & 7), Int(value.uint8(at: 3)))
            guard (3...6).contains(hundreds), rest < 100 else { throw .badValue }
            errorCode = hundreds * 100 + rest
        case Attribute.xorMappedAddress:
            mappedAddress = try STUNAddress(parsing: value, transaction: transaction)
        case Attribute.priority:
            guard count == 4 else { throw .badLength }
            priority = value.uint32(at: 0)
        case Attribute.useCandidate:
            guard count == 0 else { throw .badLength }
            usesCandidate = true
        case Attribute.controlled, Attribute.controlling:
            guard count == 8 else { throw .badLength }
            let tieBreaker = UInt64(value.uint32(at: 0)) << 32 | UInt64(value.uint32(at: 4))
            guard role == nil else { return }
            role = attribute == Attribute.controlled ? .controlled(tieBreaker: tieBreaker) : .controlling(tieBreaker: tieBreaker)
        case Attribute.mappedAddress, Attribute.integritySHA256:
            break
        default:
            if attribute < 0x8000, !Attribute.ignored.contains(attribute), unknownAttribute == nil { unknownAttribute = attribute }
        }
    }

    /// What MESSAGE-INTEGRITY protects: the bytes before it, with the length as if it were the last attribute
    /// (RFC 8489 §14.5). Nil for a message without one.
    ///
    /// - Parameter datagram: the bytes that this was read from.
    package func authenticatedBytes(of datagram: RawSpan) -> [UInt8]? {
        guard let integrityOffset, integrityOffset >= Self.headerCount, integrityOffset <= datagram.byteCount else { return nil }
        var bytes = datagram.copy(0..<integrityOffset)
        Self.setLength(of: &bytes, adding: 4 + Self.integrityCount)
        return bytes
    }
}

extension STUNMessage {
    /// A message whose last attributes were cut off, made whole again without them. Nil unless the length in its header counts
    /// just `byteCount` bytes more than there are.
    package static func closingGap(of datagram: RawSpan, byteCount: Int) -> [UInt8]? {
        guard datagram.byteCount >= headerCount, Int(datagram.uint16(at: 2)) == datagram.byteCount - headerCount + byteCount else {
            return nil
        }
        var bytes = datagram.copy()
        setLength(of: &bytes, adding: 0)
        return bytes
    }
}

// MARK: Writing

extension STUNMessage {
    /// The message with a FINGERPRINT, and with a MESSAGE-INTEGRITY before it when `sign` is given.
    ///
    /// - Parameter sign: the HMAC-SHA1, 20 bytes, of what it is given. Nil, or another size, gives no message.
    package func bytes(sign: (([UInt8]) -> [UInt8]?)? = nil) -> [UInt8]? {
        var writer = ByteWriter(reservingCapacity: 160)
        let classBits = UInt16(messageClass.rawValue)
        writer.write((method & 0x000F) | (method & 0x0070) << 1 | (method & 0x0F80) << 2 | (classBits & 1) << 4 | (classBits & 2) << 7)
        writer.write(UInt16(0))  // the length, known at the end
        writer.write(Self.cookie)
        writer.write(transaction.high)
        writer.write(transaction.low)
        writeAttributes(into: &writer)
        var bytes = writer.bytes
        if let sign {
            Self.setLength(of: &bytes, adding: 4 + Self.integrityCount)
            guard let tag = sign(bytes), tag.count == Self.integrityCount else { return nil }
            Self.append(Attribute.integrity, tag, to: &bytes)
        }
        Self.setLength(of: &bytes, adding: 8)
        let checksum = CRC32.checksum(bytes.span.bytes) ^ Self.fingerprintMask
        Self.append(Attribute.fingerprint, Self.big(checksum), to: &bytes)
        return bytes
    }

    private func writeAttributes(into writer: inout ByteWriter) {
        func write(_ attribute: UInt16, _ value: some Collection<UInt8>) {
            writer.write(attribute)
            writer.write(UInt16(truncatingIfNeeded: value.count))
            writer.write(value)
            writer.write(repeatElement(UInt8(0), count: (4 - value.count % 4) % 4))
        }
        if let errorCode { write(Attribute.errorCode, [0, 0, UInt8(clamping: errorCode / 100), UInt8(clamping: errorCode % 100)]) }
        if let mappedAddress { write(Attribute.xorMappedAddress, mappedAddress.value(transaction: transaction)) }
        if let username { write(Attribute.username, Array(username.utf8.prefix(Self.maxUsernameBytes))) }
        if let priority { write(Attribute.priority, Self.big(priority)) }
        switch role {
        case .controlling(let tieBreaker): write(Attribute.controlling, Self.big(tieBreaker))
        case .controlled(let tieBreaker): write(Attribute.controlled, Self.big(tieBreaker))
        case nil: break
        }
        if usesCandidate { write(Attribute.useCandidate, []) }
    }

    private static func append(_ attribute: UInt16, _ value: [UInt8], to bytes: inout [UInt8]) {
        bytes += big(attribute)
        bytes += big(UInt16(truncatingIfNeeded: value.count))
        bytes += value
    }

    private static func setLength(of bytes: inout [UInt8], adding extra: Int) {
        bytes.replaceSubrange(2..<4, with: big(UInt16(truncatingIfNeeded: bytes.count - headerCount + extra)))
    }

    private static func big(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
}
