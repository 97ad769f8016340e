internal import RTCWire

/// Messages of one data channel on their way into SCTP, cut into frames as they leave.
///
/// With chunking (wire protocol §5.8) a message becomes frames of at most 64 KiB, or of what the peer takes if that is
/// less, with a header byte; without, it is one frame. Frames of different messages never interleave. Bounded in bytes.
struct MessageOutbox {
    private struct Message {
        let bytes: [UInt8]
        let isText: Bool
        var offset = 0
    }

    private let isChunked: Bool
    private let frameBytes: Int
    private var messages: [Message] = []
    private var head = 0
    private(set) var waitingBytes = 0

    init(isChunked: Bool, frameBytes: Int = ChunkFraming.frameBytes) {
        self.isChunked = isChunked
        self.frameBytes = min(frameBytes, ChunkFraming.frameBytes)
    }

    /// False, and nothing is kept, when too much waits already. One message always fits into an empty outbox.
    mutating func append(_ bytes: [UInt8], isText: Bool) -> Bool {
        guard head == messages.count || waitingBytes + bytes.count <= Self.limitBytes, messages.count - head < Self.limitMessages else {
            return false
        }
        messages.append(Message(bytes: bytes, isText: isText))
        waitingBytes += bytes.count
        return true
    }

    mutating func nextFrame() -> (bytes: [UInt8], isText: Bool)? {
        guard head < messages.count else { return nil }
        let message = messages[head]
        guard isChunked else {
            advance(by: message.bytes.count)
            return (message.bytes, message.isText)
        }
        var offset = message.offset
        let frame = ChunkSplitter.nextFrame(of: message.bytes.span.bytes, offset: &offset, isText: message.isText, frameBytes: frameBytes)
        advance(by: offset - message.offset)
        // A frame is binary to SCTP whatever the message is.
        return (frame, false)
    }

    private mutating func advance(by count: Int) {
        waitingBytes -= count
        messages[head].offset += count
        guard messages[head].offset >= messages[head].bytes.count else { return }
        messages[head] = Message(bytes: [], isText: false)
        head += 1
        if head == messages.count || head > 256 {
            messages.removeFirst(head)
            head = 0
        }
    }

    /// Twice the largest message a peer announces.
    private static let limitBytes = 128 << 20
    private static let limitMessages = 16_384
}
