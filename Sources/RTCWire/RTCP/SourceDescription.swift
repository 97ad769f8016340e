package import RTCBase

/// SDES: of its items only the CNAME is read and written (RFC 3550 §6.5).
package struct SourceDescription: Hashable, Sendable {
    /// One source with its name.
    package struct Chunk: Hashable, Sendable {
        package var ssrc: UInt32
        /// Nil when the chunk has none or it is not UTF-8; up to 255 bytes are written.
        package var cname: String?

        package init(ssrc: UInt32, cname: String?) {
            self.ssrc = ssrc
            self.cname = cname
        }
    }

    /// At most 31 are written.
    package var chunks: [Chunk]

    package init(chunks: [Chunk]) { self.chunks = chunks }

    package init(ssrc: UInt32, cname: String) { self.init(chunks: [Chunk(ssrc: ssrc, cname: cname)]) }

    private static let cnameItem: UInt8 = 1

    init(body: RawSpan, count: UInt8) throws(WireError) {
        chunks = []
        var reader = ByteReader(body)
        for _ in 0..<count {
            let ssrc = try reader.readUInt32()
            var cname: String?
            while true {
                let item = try reader.readUInt8()
                if item == 0 { break }
                let text = try reader.readBytes(Int(try reader.readUInt8()))
                if item == Self.cnameItem, cname == nil { cname = String(validating: text, as: UTF8.self) }
            }
            // Zeros fill the chunk to 32 bits; whatever stands there is not looked at.
            try reader.skip((4 - reader.offset % 4) % 4)
            chunks.append(Chunk(ssrc: ssrc, cname: cname))
        }
    }

    package func write(into writer: inout ByteWriter) {
        let written = chunks.prefix(31)
        let start = RTCPHead.open(RTCPType.sourceDescription, format: UInt8(written.count), into: &writer)
        for chunk in written {
            writer.write(chunk.ssrc)
            if let cname = chunk.cname {
                let text = cname.utf8.prefix(255)
                writer.write(Self.cnameItem)
                writer.write(UInt8(text.count))
                writer.write(text)
            }
            repeat { writer.write(0 as UInt8) } while (writer.count - start) % 4 != 0
        }
        RTCPHead.close(start, in: &writer)
    }
}
