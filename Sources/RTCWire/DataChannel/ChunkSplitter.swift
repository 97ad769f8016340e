import RTCBase

/// Cuts a message into frames of a chunked channel (shared wire protocol §5.8).
package enum ChunkSplitter {
    /// At least one frame; all but the last carry MORE and are `frameBytes` long, head included.
    package static func frames(of message: RawSpan, isText: Bool, frameBytes: Int = ChunkFraming.frameBytes) -> [[UInt8]] {
        let room = max(1, frameBytes - 1)
        let text = isText ? ChunkFraming.text : 0
        var frames: [[UInt8]] = []
        var offset = 0
        repeat {
            let end = min(offset + room, message.byteCount)
            var frame: [UInt8] = []
            frame.reserveCapacity(1 + end - offset)
            frame.append(text | (end < message.byteCount ? ChunkFraming.more : 0))
            message.extracting(offset..<end).withUnsafeBytes { frame.append(contentsOf: $0) }
            frames.append(frame)
            offset = end
        } while offset < message.byteCount
        return frames
    }
}
