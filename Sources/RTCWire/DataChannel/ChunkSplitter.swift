import RTCBase

/// Cuts a message into frames of a chunked channel (shared wire protocol §5.8).
package enum ChunkSplitter {
    /// At least one frame; all but the last carry MORE and are `frameBytes` long, head included.
    package static func frames(of message: RawSpan, isText: Bool, frameBytes: Int = ChunkFraming.frameBytes) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var offset = 0
        repeat {
            frames.append(nextFrame(of: message, offset: &offset, isText: isText, frameBytes: frameBytes))
        } while offset < message.byteCount
        return frames
    }

    /// The frame that begins at `offset` of the message; `offset` moves to its end.
    package static func nextFrame(
        of message: RawSpan, offset: inout Int, isText: Bool, frameBytes: Int = ChunkFraming.frameBytes
    ) -> [UInt8] {
        let start = min(max(0, offset), message.byteCount)
        let end = min(start + max(1, frameBytes - 1), message.byteCount)
        var frame: [UInt8] = []
        frame.reserveCapacity(1 + end - start)
        frame.append((isText ? ChunkFraming.text : 0) | (end < message.byteCount ? ChunkFraming.more : 0))
        message.extracting(start..<end).withUnsafeBytes { frame.append(contentsOf: $0) }
        offset = end
        return frame
    }
}
