package import RTCBase

/// The VP8 payload descriptor in front of each packet's data (RFC 7741 §4.2). Parsing allocates nothing.
package struct VP8Descriptor: Hashable, Sendable {
    /// Bytes of the descriptor; the VP8 data starts there.
    package var headerCount: Int
    /// S: the packet starts a partition. With `partitionIndex` 0 it starts a frame.
    package var isStartOfPartition: Bool
    package var partitionIndex: UInt8
    /// N: no other frame depends on this one.
    package var isNonReference: Bool
    /// 7 or 15 bits; the width may change within a stream (trap VID-01).
    package var pictureID: UInt16?
    package var hasLongPictureID: Bool
    package var tl0PictureIndex: UInt8?
    package var temporalID: UInt8?
    /// Y: depends on the base layer only. Means something with a `temporalID`.
    package var isLayerSync: Bool
    package var keyIndex: UInt8?

    package init(
        isStartOfPartition: Bool, partitionIndex: UInt8 = 0, isNonReference: Bool = false, pictureID: UInt16? = nil,
        hasLongPictureID: Bool = true, tl0PictureIndex: UInt8? = nil, temporalID: UInt8? = nil, isLayerSync: Bool = false,
        keyIndex: UInt8? = nil
    ) {
        self.isStartOfPartition = isStartOfPartition
        self.partitionIndex = partitionIndex & 7
        self.isNonReference = isNonReference
        self.pictureID = pictureID.map { $0 & (hasLongPictureID ? 0x7FFF : 0x7F) }
        self.hasLongPictureID = pictureID != nil && hasLongPictureID
        self.tl0PictureIndex = tl0PictureIndex
        self.temporalID = temporalID.map { $0 & 3 }
        self.isLayerSync = isLayerSync && temporalID != nil
        self.keyIndex = keyIndex.map { $0 & 0x1F }
        let hasLayer = temporalID != nil || keyIndex != nil
        var count = 1
        if pictureID != nil || tl0PictureIndex != nil || hasLayer { count += 1 }
        if pictureID != nil { count += hasLongPictureID ? 2 : 1 }
        if tl0PictureIndex != nil { count += 1 }
        if hasLayer { count += 1 }
        headerCount = count
    }

    package init(parsing payload: RawSpan) throws(WireError) {
        var reader = ByteReader(payload)
        let first = try reader.readUInt8()
        self.init(isStartOfPartition: first & 0x10 != 0, partitionIndex: first & 7, isNonReference: first & 0x20 != 0)
        if first & 0x80 != 0 {
            let flags = try reader.readUInt8()
            if flags & 0x80 != 0 {
                let low = try reader.readUInt8()
                hasLongPictureID = low & 0x80 != 0
                pictureID = hasLongPictureID ? UInt16(low & 0x7F) << 8 | UInt16(try reader.readUInt8()) : UInt16(low)
            }
            if flags & 0x40 != 0 { tl0PictureIndex = try reader.readUInt8() }
            if flags & 0x30 != 0 {
                let layer = try reader.readUInt8()
                if flags & 0x20 != 0 {
                    temporalID = layer >> 6
                    isLayerSync = layer & 0x20 != 0
                }
                if flags & 0x10 != 0 { keyIndex = layer & 0x1F }
            }
        }
        headerCount = reader.offset
    }

    /// Writes exactly `headerCount` bytes of a descriptor made by the first initializer (trap VID-04).
    package func write(into writer: inout ByteWriter) {
        let hasLayer = temporalID != nil || keyIndex != nil
        let isExtended = pictureID != nil || tl0PictureIndex != nil || hasLayer
        var first = partitionIndex & 7
        if isExtended { first |= 0x80 }
        if isNonReference { first |= 0x20 }
        if isStartOfPartition { first |= 0x10 }
        writer.write(first)
        guard isExtended else { return }
        var flags: UInt8 = 0
        if pictureID != nil { flags |= 0x80 }
        if tl0PictureIndex != nil { flags |= 0x40 }
        if temporalID != nil { flags |= 0x20 }
        if keyIndex != nil { flags |= 0x10 }
        writer.write(flags)
        if let pictureID {
            if hasLongPictureID { writer.write(pictureID | 0x8000) } else { writer.write(UInt8(truncatingIfNeeded: pictureID & 0x7F)) }
        }
        if let tl0PictureIndex { writer.write(tl0PictureIndex) }
        if hasLayer { writer.write((temporalID ?? 0) << 6 | (isLayerSync ? 0x20 : 0) | (keyIndex ?? 0) & 0x1F) }
    }

    /// S with partition 0: the first packet of a frame.
    package var isStartOfFrame: Bool { isStartOfPartition && partitionIndex == 0 }

    /// The inverse P bit of the VP8 frame header (RFC 7741 §4.3), for the data behind the descriptor of a frame's
    /// first packet.
    package static func isKeyFrame(_ data: RawSpan) -> Bool { data.byteCount >= 1 && data.uint8(at: 0) & 1 == 0 }

    /// Width and height from a key frame's header (RFC 6386 §9.1), scaling bits removed; nil when it is not one.
    package static func keyFrameSize(_ data: RawSpan) -> (width: Int, height: Int)? {
        guard data.byteCount >= 10, isKeyFrame(data) else { return nil }
        guard data.uint8(at: 3) == 0x9D, data.uint8(at: 4) == 0x01, data.uint8(at: 5) == 0x2A else { return nil }
        let width = Int(data.uint16(at: 6).byteSwapped & 0x3FFF)
        let height = Int(data.uint16(at: 8).byteSwapped & 0x3FFF)
        return (width, height)
    }
}
