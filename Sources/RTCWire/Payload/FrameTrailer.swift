package import RTCBase

/// The metadata that a sender appends to an encoded video frame: a small protobuf, its length, and a mark
/// (`52 58 4d 54`); shared wire protocol §7.
package enum FrameTrailer {
    private static let mark: UInt32 = 0x5258_4D54
    /// Length and mark behind the protobuf.
    private static let tailCount = 8

    /// What the end of `frame` carries and how many bytes to cut there; nil when there is no trailer or it does not read,
    /// in which case the frame stays as it is.
    package static func parse(_ frame: RawSpan) -> (metadata: FrameMetadata, byteCount: Int)? {
        guard let trailer = read(frame) else { return nil }
        return (trailer.metadata(trailer.userData.map { FrameUserData(frame.copy($0)) }), trailer.byteCount)
    }

    /// The same for a frame in memory of its own, which the user data goes on using: nothing is allocated.
    package static func parse(_ frame: MediaBytes) -> (metadata: FrameMetadata, byteCount: Int)? {
        guard let trailer = frame.withBytes({ read($0) }) else { return nil }
        return (trailer.metadata(trailer.userData.map { FrameUserData(memory: frame, range: $0) }), trailer.byteCount)
    }

    /// What stands in a trailer; the user data is a place in the frame.
    private struct Trailer {
        var frameID: UInt64 = 0
        var captureTimeMicros: UInt64 = 0
        var userData: Range<Int>?
        /// The whole trailer.
        var byteCount: Int

        func metadata(_ userData: FrameUserData?) -> FrameMetadata {
            FrameMetadata(frameID: frameID, captureTimeMicros: captureTimeMicros, userData: userData)
        }
    }

    private static func read(_ frame: RawSpan) -> Trailer? {
        let count = frame.byteCount
        guard count >= tailCount, frame.uint32(at: count - 4) == mark else { return nil }
        let length = Int(frame.uint32(at: count - tailCount).byteSwapped)
        guard length <= count - tailCount else { return nil }
        let start = count - tailCount - length
        var trailer = Trailer(byteCount: length + tailCount)
        guard (try? read(frame.extracting(start..<(start + length)), at: start, into: &trailer)) != nil else { return nil }
        return trailer
    }

    /// Appends the trailer; zero and empty fields are left out, as proto3 does.
    package static func write(_ metadata: FrameMetadata, into writer: inout ByteWriter) {
        let start = writer.count
        if metadata.frameID != 0 {
            writer.write(0x08 as UInt8)
            writeVarint(metadata.frameID, into: &writer)
        }
        if metadata.captureTimeMicros != 0 {
            writer.write(0x10 as UInt8)
            writeVarint(metadata.captureTimeMicros, into: &writer)
        }
        if let userData = metadata.userData, !userData.isEmpty {
            writer.write(0x1A as UInt8)
            writeVarint(UInt64(userData.count), into: &writer)
            writer.write(userData)
        }
        writer.write(UInt32(truncatingIfNeeded: writer.count - start).byteSwapped)
        writer.write(mark)
    }

    /// Reads the protobuf, which lies at `start` in the frame.
    private static func read(_ message: RawSpan, at start: Int, into trailer: inout Trailer) throws(WireError) {
        var reader = ByteReader(message)
        while !reader.isAtEnd {
            let tag = try readVarint(&reader)
            switch (tag >> 3, tag & 7) {
            case (0, _): throw .badValue
            case (1, 0): trailer.frameID = try readVarint(&reader)
            case (2, 0): trailer.captureTimeMicros = try readVarint(&reader)
            case (3, 2):
                let count = try readLength(&reader)
                let offset = start + reader.offset
                try reader.skip(count)
                trailer.userData = count == 0 ? nil : offset..<(offset + count)
            // Unknown fields are passed over by their wire type.
            case (_, 0): _ = try readVarint(&reader)
            case (_, 1): try reader.skip(8)
            case (_, 2): try reader.skip(try readLength(&reader))
            case (_, 5): try reader.skip(4)
            default: throw .badValue
            }
        }
    }

    private static func readLength(_ reader: inout ByteReader) throws(WireError) -> Int {
        guard let length = Int(exactly: try readVarint(&reader)) else { throw .truncated }
        return length
    }

    private static func readVarint(_ reader: inout ByteReader) throws(WireError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: 0 as UInt64, to: 70, by: 7) {
            let byte = try reader.readUInt8()
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw .badValue
    }

    private static func writeVarint(_ value: UInt64, into writer: inout ByteWriter) {
        var rest = value
        while rest >= 0x80 {
            writer.write(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        writer.write(UInt8(truncatingIfNeeded: rest))
    }
}
