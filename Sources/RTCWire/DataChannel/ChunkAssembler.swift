package import RTCBase

/// Joins the frames of one chunked channel to messages; at most one message is open at a time, because frames of
/// different messages are never mixed (shared wire protocol §5.8).
package struct ChunkAssembler: Sendable {
    /// Our own declared size: a longer message is discarded, and the channel goes on.
    private let maxMessageBytes: Int
    private var message: [UInt8] = []
    /// TEXT flag of the open message; nil between messages.
    private var openText: Bool?
    private var isDiscarding = false
    /// Messages thrown away for their size, for `DropReason.messageTooLarge`.
    package private(set) var discardedMessages: UInt64 = 0

    package init(maxMessageBytes: Int) { self.maxMessageBytes = maxMessageBytes }

    /// Takes one SCTP message; the whole message when this frame completed one. A throw is a protocol error that ends
    /// the channel: a text-typed or empty SCTP message, a reserved bit, or a TEXT flag that changes within a message.
    package mutating func receive(_ frame: RawSpan, isText: Bool) throws(WireError) -> (isText: Bool, bytes: [UInt8])? {
        guard !isText else { throw .badValue }
        guard frame.byteCount >= 1 else { throw .truncated }
        let flags = frame.uint8(at: 0)
        guard flags & ~(ChunkFraming.more | ChunkFraming.text) == 0 else { throw .badValue }
        let messageIsText = flags & ChunkFraming.text != 0
        guard openText == nil || openText == messageIsText else { throw .badValue }
        openText = messageIsText
        if frame.byteCount - 1 > maxMessageBytes - message.count { isDiscarding = true }
        if isDiscarding {
            message = []
        } else {
            frame.extracting(1..<frame.byteCount).withUnsafeBytes { message.append(contentsOf: $0) }
        }
        guard flags & ChunkFraming.more == 0 else { return nil }
        defer {
            message = []
            openText = nil
            isDiscarding = false
        }
        guard !isDiscarding else {
            discardedMessages += 1
            return nil
        }
        return (messageIsText, message)
    }
}
