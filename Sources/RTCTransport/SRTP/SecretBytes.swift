import CSRTPCrypto

/// A key for as long as somebody needs it: one owner, overwritten when that one lets go.
package struct SecretBytes: ~Copyable {
    private let buffer: UnsafeMutableRawBufferPointer

    /// `count` zero bytes.
    package init(count: Int) {
        buffer = .allocate(byteCount: count, alignment: 16)
        _ = buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }

    package init(copying bytes: some Collection<UInt8>) {
        self.init(count: bytes.count)
        buffer.copyBytes(from: bytes)
    }

    deinit {
        csrtp_cleanse(buffer.baseAddress, buffer.count)
        buffer.deallocate()
    }

    package var count: Int { buffer.count }

    package func withUnsafeMutableBytes<Value>(_ body: (UnsafeMutableRawBufferPointer) -> Value) -> Value { body(buffer) }

    package func withUnsafeBytes<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        body(UnsafeBufferPointer(buffer.assumingMemoryBound(to: UInt8.self)))
    }
}
