package import RTCBase

/// The VP9 payload descriptor in front of each packet's data (RFC 9628 §4.2). Parsing allocates nothing.
package struct VP9Descriptor: Hashable, Sendable {
    /// Up to three P_DIFF values of flexible mode: how many pictures back the references lie.
    package struct ReferenceDiffs: Hashable, Sendable {
        package private(set) var count = 0
        private var values: SIMD4<UInt8> = .zero

        package init() {}

        package static let capacity = 3

        package subscript(index: Int) -> UInt8 { index >= 0 && index < count ? values[index] : 0 }

        /// False, and nothing is stored, after three.
        package mutating func append(_ diff: UInt8) -> Bool {
            guard count < Self.capacity else { return false }
            values[count] = diff & 0x7F
            count += 1
            return true
        }
    }

    /// The scalability structure of a key frame (§4.2.1). Picture groups are skipped and only counted.
    package struct ScalabilityStructure: Hashable, Sendable {
        /// 1...8.
        package var spatialLayers: Int
        package var hasSizes: Bool
        /// By layer; zero beyond `spatialLayers` or without sizes.
        package var widths: SIMD8<UInt16>
        package var heights: SIMD8<UInt16>
        /// N_G; 0 when the structure has no picture group. Not written.
        package var pictureGroupCount: Int

        package init(spatialLayers: Int = 1, hasSizes: Bool = false) {
            self.spatialLayers = min(max(spatialLayers, 1), 8)
            self.hasSizes = hasSizes
            widths = .zero
            heights = .zero
            pictureGroupCount = 0
        }

        package init(width: UInt16, height: UInt16) {
            self.init(spatialLayers: 1, hasSizes: true)
            widths[0] = width
            heights[0] = height
        }
    }

    /// Bytes of the descriptor; the VP9 data starts there.
    package var headerCount: Int
    package var pictureID: UInt16?
    package var hasLongPictureID: Bool
    /// P: the layer frame is predicted from earlier pictures.
    package var isInterPredicted: Bool
    /// F: references are told by `referenceDiffs`.
    package var isFlexible: Bool
    /// B, E: first and last packet of a layer frame.
    package var isStartOfFrame: Bool
    package var isEndOfFrame: Bool
    /// Z: not a reference for upper spatial layers.
    package var isNotReference: Bool
    package var temporalID: UInt8?
    package var spatialID: UInt8?
    /// D: predicted from the lower spatial layer of the same picture.
    package var usesInterLayer: Bool
    /// U: a switch up to this temporal layer is possible here.
    package var switchingUp: Bool
    /// Only with layer indices and without flexible mode.
    package var tl0PictureIndex: UInt8?
    package var referenceDiffs: ReferenceDiffs
    package var scalabilityStructure: ScalabilityStructure?

    /// A descriptor of non-flexible mode to write. `tl0PictureIndex` makes it carry layer indices.
    package init(
        isStartOfFrame: Bool, isEndOfFrame: Bool, isInterPredicted: Bool, pictureID: UInt16? = nil, hasLongPictureID: Bool = true,
        tl0PictureIndex: UInt8? = nil, temporalID: UInt8 = 0, spatialID: UInt8 = 0, switchingUp: Bool = false,
        isNotReference: Bool = false, scalabilityStructure: ScalabilityStructure? = nil
    ) {
        headerCount = 1
        self.pictureID = pictureID.map { $0 & (hasLongPictureID ? 0x7FFF : 0x7F) }
        self.hasLongPictureID = pictureID != nil && hasLongPictureID
        self.isInterPredicted = isInterPredicted
        isFlexible = false
        self.isStartOfFrame = isStartOfFrame
        self.isEndOfFrame = isEndOfFrame
        self.isNotReference = isNotReference
        self.temporalID = tl0PictureIndex == nil ? nil : temporalID & 7
        self.spatialID = tl0PictureIndex == nil ? nil : spatialID & 7
        usesInterLayer = false
        self.switchingUp = switchingUp && tl0PictureIndex != nil
        self.tl0PictureIndex = tl0PictureIndex
        referenceDiffs = ReferenceDiffs()
        self.scalabilityStructure = scalabilityStructure
        headerCount = writtenCount
    }

    package init(parsing payload: RawSpan) throws(WireError) {
        var reader = ByteReader(payload)
        let first = try reader.readUInt8()
        self.init(isStartOfFrame: first & 0x08 != 0, isEndOfFrame: first & 0x04 != 0, isInterPredicted: first & 0x40 != 0)
        isFlexible = first & 0x10 != 0
        isNotReference = first & 0x01 != 0
        if first & 0x80 != 0 {
            let low = try reader.readUInt8()
            hasLongPictureID = low & 0x80 != 0
            pictureID = hasLongPictureID ? UInt16(low & 0x7F) << 8 | UInt16(try reader.readUInt8()) : UInt16(low)
        }
        if first & 0x20 != 0 {
            let layer = try reader.readUInt8()
            temporalID = layer >> 5
            switchingUp = layer & 0x10 != 0
            spatialID = layer >> 1 & 7
            usesInterLayer = layer & 1 != 0
            if !isFlexible { tl0PictureIndex = try reader.readUInt8() }
        }
        if isFlexible, isInterPredicted {
            var next = true
            while next {
                let diff = try reader.readUInt8()
                // A fourth difference is not allowed (§4.2); without this check one packet could hold a thousand.
                guard referenceDiffs.append(diff >> 1) else { throw .badValue }
                next = diff & 1 != 0
            }
        }
        if first & 0x02 != 0 {
            let head = try reader.readUInt8()
            var structure = ScalabilityStructure(spatialLayers: Int(head >> 5) + 1, hasSizes: head & 0x10 != 0)
            if structure.hasSizes {
                for layer in 0..<structure.spatialLayers {
                    structure.widths[layer] = try reader.readUInt16()
                    structure.heights[layer] = try reader.readUInt16()
                }
            }
            if head & 0x08 != 0 {
                structure.pictureGroupCount = Int(try reader.readUInt8())
                for _ in 0..<structure.pictureGroupCount { try reader.skip(Int(try reader.readUInt8() >> 2 & 3)) }
            }
            scalabilityStructure = structure
        }
        headerCount = reader.offset
    }

    /// Writes the descriptor without picture groups; `writtenCount` bytes.
    package func write(into writer: inout ByteWriter) {
        var first: UInt8 = 0
        if pictureID != nil { first |= 0x80 }
        if isInterPredicted { first |= 0x40 }
        if hasLayers { first |= 0x20 }
        if isFlexible { first |= 0x10 }
        if isStartOfFrame { first |= 0x08 }
        if isEndOfFrame { first |= 0x04 }
        if scalabilityStructure != nil { first |= 0x02 }
        if isNotReference { first |= 0x01 }
        writer.write(first)
        if let pictureID {
            if hasLongPictureID { writer.write(pictureID | 0x8000) } else { writer.write(UInt8(truncatingIfNeeded: pictureID & 0x7F)) }
        }
        if hasLayers {
            writer.write(
                (temporalID ?? 0) << 5 | (switchingUp ? 0x10 : 0) | ((spatialID ?? 0) & 7) << 1 | (usesInterLayer ? 1 : 0))
            if !isFlexible { writer.write(tl0PictureIndex ?? 0) }
        }
        if isFlexible, isInterPredicted {
            // At least one difference is always there in this mode.
            for index in 0..<max(1, referenceDiffs.count) {
                writer.write(referenceDiffs[index] << 1 | (index + 1 < referenceDiffs.count ? 1 : 0))
            }
        }
        if let structure = scalabilityStructure {
            writer.write(UInt8(structure.spatialLayers - 1) << 5 | (structure.hasSizes ? 0x10 : 0))
            if structure.hasSizes {
                for layer in 0..<structure.spatialLayers {
                    writer.write(structure.widths[layer])
                    writer.write(structure.heights[layer])
                }
            }
        }
    }

    /// Bytes that `write` makes; equal to `headerCount` for a parsed descriptor unless it had picture groups.
    package var writtenCount: Int {
        var count = 1
        if pictureID != nil { count += hasLongPictureID ? 2 : 1 }
        if hasLayers { count += isFlexible ? 1 : 2 }
        if isFlexible, isInterPredicted { count += max(1, referenceDiffs.count) }
        if let structure = scalabilityStructure { count += 1 + (structure.hasSizes ? 4 * structure.spatialLayers : 0) }
        return count
    }

    private var hasLayers: Bool { temporalID != nil || spatialID != nil || tl0PictureIndex != nil }

    /// The first packet of a key picture: nothing earlier and no lower layer is needed.
    package var isStartOfKeyFrame: Bool { !isInterPredicted && isStartOfFrame && (spatialID ?? 0) == 0 && !usesInterLayer }

    /// Width and height from a key frame's uncompressed header (VP9 bitstream specification §6.2), profile 0 only; nil when
    /// it is not one.
    package static func keyFrameSize(_ data: RawSpan) -> (width: Int, height: Int)? {
        // Frame marker 2, profile 0, no repeat, key frame; then the sync code.
        guard data.byteCount >= 10, data.uint8(at: 0) & 0xFC == 0x80 else { return nil }
        guard data.uint8(at: 1) == 0x49, data.uint8(at: 2) == 0x83, data.uint8(at: 3) == 0x42 else { return nil }
        // Three bits of colour space, one of range; RGB is not in profile 0. Sizes follow at bit 36.
        guard data.uint8(at: 4) >> 5 != 7 else { return nil }
        let bits = UInt64(data.uint8(at: 4)) << 32 | UInt64(data.uint32(at: 5))
        return (Int(bits >> 20 & 0xFFFF) + 1, Int(bits >> 4 & 0xFFFF) + 1)
    }
}
