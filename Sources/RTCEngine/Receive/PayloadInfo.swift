// What frame assembly needs to know about one payload, in one shape for VP8 and VP9. In: the payload of an RTP packet.
// Out: where the descriptor ends, whether a frame starts or ends here, and on what the frame depends. RFC 7741 §4.2,
// RFC 9628 §4.2. Left out: spatial layers beyond keeping their parts of a picture together (the peers we meet send one).

package import RTCBase
package import RTCWire

/// One payload descriptor, reduced.
package struct PayloadInfo: Sendable {
    package var codec: VideoCodec
    /// Bytes of the descriptor; the codec's bytes follow.
    package var headerCount = 0
    /// The first packet of a frame. That of an upper spatial layer begins a frame of its own only when a marker ended
    /// the layer below (VID-17).
    package var isFrameStart = false
    package var isUpperSpatialLayer = false
    /// The descriptor itself says that the picture ends here, whatever the marker says (VP9 with one layer, VID-17).
    package var isFrameEnd = false
    /// The descriptor leaves open that the picture ends here: always so for VP8; of VP9, the last packet of a layer (E bit).
    package var mayEndFrame = true
    /// Known on the first packet of a VP8 frame and on every packet of a VP9 picture.
    package var isKeyFrame = false
    /// No other frame refers to this one (VP8 N bit).
    package var isDiscardable = false
    /// 7 or 15 bits; the width may change within a stream (VID-01).
    package var pictureID: UInt16?
    package var hasLongPictureID = false
    package var temporalID: UInt8 = 0
    /// Running index of base-layer frames; the key to decodability across a loss.
    package var baseLayerIndex: UInt8?
    /// Refers to the base layer only (VP8 Y bit).
    package var isLayerSync = false
    /// VP9 flexible mode: distances in picture ids to the frames it refers to.
    package var references: VP9Descriptor.ReferenceDiffs?

    /// Nil when the descriptor is broken.
    package init?(codec: VideoCodec, payload: RawSpan) {
        self.codec = codec
        switch codec {
        case .vp8:
            guard let descriptor = try? VP8Descriptor(parsing: payload) else { return nil }
            apply(descriptor, payload: payload)
        case .vp9:
            guard let descriptor = try? VP9Descriptor(parsing: payload) else { return nil }
            apply(descriptor)
        }
    }

    private mutating func apply(_ descriptor: VP8Descriptor, payload: RawSpan) {
        headerCount = descriptor.headerCount
        isFrameStart = descriptor.isStartOfFrame
        isKeyFrame = isFrameStart && VP8Descriptor.isKeyFrame(payload.extracting(headerCount..<payload.byteCount))
        isDiscardable = descriptor.isNonReference
        pictureID = descriptor.pictureID
        hasLongPictureID = descriptor.hasLongPictureID
        temporalID = descriptor.temporalID ?? 0
        baseLayerIndex = descriptor.temporalID == nil ? nil : descriptor.tl0PictureIndex
        isLayerSync = descriptor.isLayerSync
    }

    private mutating func apply(_ descriptor: VP9Descriptor) {
        headerCount = descriptor.headerCount
        let spatialID = descriptor.spatialID ?? 0
        isFrameStart = descriptor.isStartOfFrame
        isUpperSpatialLayer = spatialID > 0
        isFrameEnd = descriptor.isEndOfFrame && descriptor.spatialID == nil
        mayEndFrame = descriptor.isEndOfFrame
        isKeyFrame = !descriptor.isInterPredicted && spatialID == 0 && !descriptor.usesInterLayer
        pictureID = descriptor.pictureID
        hasLongPictureID = descriptor.hasLongPictureID
        temporalID = descriptor.temporalID ?? 0
        baseLayerIndex = descriptor.tl0PictureIndex
        if descriptor.isFlexible, descriptor.isInterPredicted { references = descriptor.referenceDiffs }
    }
}
