/// Random text for SDP: CNAMEs and session ids.
enum RandomToken {
    static func make(length: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] })
    }

    /// A session id: decimal, 62 bits (RFC 9429 §5.2.1).
    static func decimal() -> String { String(UInt64.random(in: 0..<(1 << 62))) }
}
