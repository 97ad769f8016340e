internal import RTCTransport

/// SHA-256 as text, for telling a client what arrived of its file.
enum SHA256 {
    /// 64 hexadecimal digits.
    static func hexText(_ bytes: some Collection<UInt8>) -> String {
        let digits = Array("0123456789abcdef")
        let digest =
            bytes.withContiguousStorageIfAvailable { MessageDigest.sha256(UnsafeRawBufferPointer($0)) }
            ?? Array(bytes).withUnsafeBytes { MessageDigest.sha256($0) }
        return String(digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
