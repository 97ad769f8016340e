import RTCBase
import Testing

@testable import RTCWire

/// The sample messages of RFC 5769, whose keys are in `STUNKeyTests`.
enum STUNVectors {
    static let request = hex(
        """
        00010058 2112a442 b7e7a701bc34d686fa87dfae 80220010 5354554e207465737420636c69656e74 00240004 6e0001ff
        80290008 932ff9b151263b36 00060009 6576746a3a68367659202020 00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2
        80280004 e57a3bcf
        """)
    static let ipv4Response = hex(
        """
        0101003c 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220 00200008 0001a147 e112a643
        00080014 2b91f599fd9e90c38c7489f92af9ba53f06be7d7 80280004 c07d4c96
        """)
    static let ipv6Response = hex(
        """
        01010048 2112a442 b7e7a701bc34d686fa87dfae 8022000b 7465737420766563746f7220
        00200014 0002a147 0113a9faa5d3f179bc25f4b5bed2b9d9 00080014 a382954e4be67bf11784c97c8292c275bfe3ed41 80280004 c8fb0b4c
        """)
    static let longTermRequest = hex(
        """
        00010060 2112a442 78ad3433c6ad72c029da412e 00060012 e3839ee38388e383aae38383e382afe382b90000
        0015001c 662f2f3439396b39353464364f4c33346f4c39465354767936347341 0014000b 6578616d706c652e6f726700
        00080014 f67024656dd64a3e02b8e0712e85c9a28ca89666
        """)

    static func hex(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

@Suite("STUN messages")
struct STUNMessageTests {
    private let transaction = STUNTransaction(high: 0xB7E7_A701, low: 0xBC34_D686_FA87_DFAE)

    private func parse(_ bytes: [UInt8]) throws(WireError) -> STUNMessage { try STUNMessage(parsing: bytes.span.bytes) }

    /// Why the bytes are refused; nil when they are not.
    private func refusal(of bytes: [UInt8]) -> WireError? {
        do throws(WireError) {
            _ = try parse(bytes)
            return nil
        } catch {
            return error
        }
    }

    /// A binding request with raw attributes, without a fingerprint.
    private func message(_ attributes: [(type: UInt16, value: [UInt8])]) -> [UInt8] {
        var body = ByteWriter()
        for (type, value) in attributes {
            body.write(type)
            body.write(UInt16(value.count))
            body.write(value + Array(repeating: 0, count: (4 - value.count % 4) % 4))
        }
        return [0, 1, UInt8(body.count >> 8), UInt8(body.count & 0xFF)] + STUNVectors.request[4..<20] + body.bytes
    }

    // MARK: RFC 5769

    @Test("RFC 5769 §2.1 sample request")
    func sampleRequest() throws {
        let bytes = STUNVectors.request
        let message = try parse(bytes)
        #expect(message.messageClass == .request && message.method == STUNMessage.binding && message.transaction == transaction)
        #expect(message.username == "evtj:h6vY" && message.priority == 0x6E00_01FF)
        #expect(message.role == .controlled(tieBreaker: 0x932F_F9B1_5126_3B36) && !message.usesCandidate)
        #expect(message.hasFingerprint && message.integrity == Array(bytes[80..<100]) && message.integrityOffset == 76)
        #expect(message.unknownAttribute == nil)
        let authenticated = message.authenticatedBytes(of: bytes.span.bytes)
        #expect(authenticated == [0, 1, 0, 0x50] + bytes[4..<76])
    }

    @Test("RFC 5769 §2.2 and §2.3 sample responses")
    func sampleResponses() throws {
        let ipv4 = try parse(STUNVectors.ipv4Response)
        #expect(ipv4.messageClass == .success && ipv4.method == STUNMessage.binding && ipv4.transaction == transaction)
        #expect(ipv4.mappedAddress == STUNAddress(address: [192, 0, 2, 1], port: 32853) && ipv4.hasFingerprint)
        let ipv6 = try parse(STUNVectors.ipv6Response)
        let address = STUNVectors.hex("20010db8123456780011223344556677")
        #expect(ipv6.mappedAddress == STUNAddress(address: address, port: 32853) && ipv6.hasFingerprint)
    }

    @Test("RFC 5769 §2.4 sample request with long-term credentials")
    func sampleLongTermRequest() throws {
        let message = try parse(STUNVectors.longTermRequest)
        #expect(message.username == "\u{30DE}\u{30C8}\u{30EA}\u{30C3}\u{30AF}\u{30B9}")
        #expect(!message.hasFingerprint && message.integrity?.prefix(2) == [0xF6, 0x70] && message.unknownAttribute == nil)
    }

    // MARK: Writing

    @Test("what is written reads back, in every class and with every attribute")
    func roundTrip() throws {
        for messageClass in [STUNMessage.Class.request, .indication, .success, .failure] {
            for method in [STUNMessage.binding, 0x003, 0xFFF] {
                var message = STUNMessage(messageClass, transaction: transaction)
                message.method = method
                message.username = "peer:me"
                message.priority = 0x6EFF_FFFE
                message.role = .controlling(tieBreaker: .max)
                message.usesCandidate = true
                message.mappedAddress = STUNAddress(address: Array(1...16), port: 9)
                message.errorCode = 487
                let bytes = try #require(message.bytes())
                let again = try parse(bytes)
                #expect(again.hasFingerprint && again.integrity == nil && again.bytes() == bytes)
                #expect(again.messageClass == messageClass && again.method == method && again.errorCode == 487)
                #expect(again.username == "peer:me" && again.priority == 0x6EFF_FFFE && again.usesCandidate)
                #expect(again.role == .controlling(tieBreaker: .max) && again.mappedAddress == message.mappedAddress)
            }
        }
    }

    @Test("the signed part is the message up to the tag, with a length that counts the tag and not the fingerprint")
    func signing() throws {
        var message = STUNMessage(.request, transaction: transaction)
        message.username = "evtj:h6vY"
        message.priority = 0x6E00_01FF
        message.role = .controlled(tieBreaker: 0x932F_F9B1_5126_3B36)
        var signed: [UInt8] = []
        let bytes = try #require(
            message.bytes {
                signed = $0
                return Array(repeating: 7, count: 20)
            })
        let again = try parse(bytes)
        #expect(again.integrity == Array(repeating: 7, count: 20) && again.hasFingerprint)
        let authenticated = again.authenticatedBytes(of: bytes.span.bytes)
        #expect(authenticated == signed)
        #expect(UInt16(signed[2]) << 8 | UInt16(signed[3]) == UInt16(signed.count - 20 + 24))
        #expect(message.bytes { _ in nil } == nil)
        #expect(message.bytes { _ in [1, 2, 3] } == nil)
    }

    @Test("an indication that is only a fingerprint has the bytes it must have")
    func indication() {
        let bytes = STUNMessage(.indication, transaction: transaction).bytes() ?? []
        #expect(bytes.prefix(8) == [0x00, 0x11, 0x00, 0x08, 0x21, 0x12, 0xA4, 0x42] && bytes.count == 28)
        let digits = Array("123456789".utf8)
        let checksum = CRC32.checksum(digits.span.bytes)
        #expect(checksum == 0xCBF4_3926)
    }

    // MARK: Hostile and odd input

    @Test("ICE-16 attributes behind MESSAGE-INTEGRITY are not read, and the first of two counts")
    func order() throws {
        let late = try parse(
            message([
                (0x0024, [0, 0, 0, 1]), (0x0024, [0, 0, 0, 2]), (0x0008, Array(repeating: 1, count: 20)), (0x0025, []), (0x7000, []),
            ]))
        #expect(late.priority == 1 && !late.usesCandidate && late.unknownAttribute == nil && late.integrity != nil)
    }

    @Test("an attribute that had to be understood is told; one that need not is read over")
    func unknownAttributes() throws {
        let message = try parse(message([(0xC057, [1, 2, 3, 4]), (0x7001, [1]), (0x7002, [])]))
        #expect(message.unknownAttribute == 0x7001)
    }

    @Test("malformed messages are refused")
    func malformed() {
        let good = STUNVectors.ipv4Response
        func expectRefused(_ bytes: [UInt8], _ expected: WireError, _ what: Comment) {
            #expect(refusal(of: bytes) == expected, what)
        }
        expectRefused([], .truncated, "nothing")
        expectRefused(Array(good.prefix(19)), .truncated, "half a header")
        expectRefused(Array(good.dropLast(4)), .badLength, "cut")
        expectRefused(good + [0, 0, 0, 0], .badLength, "bytes behind the end")
        expectRefused([0x80] + good.dropFirst(), .badVersion, "RTP")
        expectRefused(good[..<4] + [0x21, 0x12, 0xA4, 0x43] + good[8...], .badVersion, "another cookie")
        expectRefused(Array(good.dropLast()) + [0x97], .badValue, "a wrong fingerprint")
        expectRefused(message([(0x8028, [1, 2, 3, 4, 5])]), .badLength, "a long fingerprint")
        expectRefused(message([(0x0008, [1, 2, 3, 4])]), .badLength, "a short tag")
        expectRefused(message([(0x0024, [1])]), .badLength, "a short priority")
        expectRefused(message([(0x0025, [1])]), .badLength, "USE-CANDIDATE with a value")
        expectRefused(message([(0x802A, [1])]), .badLength, "a short tie-breaker")
        expectRefused(message([(0x0020, [0, 1, 0, 0])]), .badLength, "half an address")
        expectRefused(message([(0x0020, [0, 3, 0, 0, 1, 2, 3, 4])]), .badValue, "an unknown family")
        expectRefused(message([(0x0009, [0, 0, 7, 0])]), .badValue, "error 700")
        expectRefused(message([(0x0006, [0xFF, 0xFE])]), .badValue, "a name that is no UTF-8")
        expectRefused(message([(0x0006, Array(repeating: 97, count: 509))]), .tooLarge, "a name beyond the limit")
        var overrun = message([(0x0006, [97, 97, 97, 97])])
        overrun[23] = 200
        expectRefused(overrun, .truncated, "an attribute beyond the end")
    }

    @Test("a fingerprint that is not last is refused")
    func fingerprintNotLast() throws {
        var bytes = try #require(STUNMessage(.request, transaction: transaction).bytes())
        bytes += [0, 0x25, 0, 0]
        bytes[3] = 12
        let head = Array(bytes[..<20])
        let checksum = CRC32.checksum(head.span.bytes) ^ 0x5354_554E
        bytes.replaceSubrange(24..<28, with: withUnsafeBytes(of: checksum.bigEndian) { Array($0) })
        #expect(refusal(of: bytes) == .badValue)
    }
}
