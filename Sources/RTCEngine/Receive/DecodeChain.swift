// Whether a decoder that got every frame delivered so far can decode the next one. In: payload descriptors of complete
// frames, and news of losses. Out: yes or no. Without layers every frame needs the one before it; picture ids and the
// base-layer index of RFC 7741 §4.2 / RFC 9628 §4.2 allow to go on after a loss that did not matter. Left out: the
// group-of-frames structure of VP9 (losses in it count as they would without).

import RTCBase
import RTCWire

/// What has been handed to the decoder, as far as later frames may refer to it.
package struct DecodeChain: Sendable {
    /// Nothing is decodable but a key frame.
    package private(set) var needsKeyFrame = true
    /// Frames with a temporal id below this one can be decoded as they come.
    private var intactLayers: UInt8 = 0
    private var lastBaseLayerIndex: UInt8?
    /// The last delivered picture id, and which of the 128 up to it were delivered (bit 0 is the last).
    private var lastPicture: (id: UInt16, isLong: Bool)?
    private var history: UInt128 = 0
    /// Frames left out since the last delivered one.
    private var undecodable = 0

    package init() {}

    /// Can the frame be decoded now, `afterLoss` or with everything before it delivered?
    package func canDecode(_ info: PayloadInfo, afterLoss: Bool = false) -> Bool {
        if info.isKeyFrame { return true }
        guard !needsKeyFrame else { return false }
        if !afterLoss, info.temporalID < intactLayers { return true }
        // Without the layer below, which came just before it, it is of no use.
        guard !info.isUpperSpatialLayer else { return false }
        if let references = info.references { return delivered(references, before: info) }
        guard let index = info.baseLayerIndex, let last = lastBaseLayerIndex else { return false }
        return info.temporalID == 0 ? index == last &+ 1 : index == last && info.isLayerSync
    }

    /// The frame goes to the decoder. `canDecode` was true.
    package mutating func deliver(_ info: PayloadInfo, afterLoss: Bool = false) {
        if afterLoss { intactLayers = 0 }
        undecodable = 0
        if info.isKeyFrame {
            needsKeyFrame = false
            intactLayers = .max
            lastBaseLayerIndex = info.baseLayerIndex
            history = 0
        } else if info.temporalID >= intactLayers, info.references == nil {
            intactLayers = info.temporalID + 1
        }
        if let index = info.baseLayerIndex, info.temporalID == 0 { lastBaseLayerIndex = index }
        guard let id = info.pictureID else { return }
        if let distance = distance(to: info), distance < 128 { history <<= UInt128(distance) } else { history = 0 }
        history |= 1
        lastPicture = (id, info.hasLongPictureID)
    }

    /// Frames between the last delivered one and the next were lost or left out.
    package mutating func noteLoss() {
        intactLayers = 0
        // Without anything to tell which frames are independent of the loss, only a key frame helps.
        if lastBaseLayerIndex == nil, lastPicture == nil { needsKeyFrame = true }
    }

    /// A whole frame was left out because it cannot be decoded. Without references of its own every later base-layer frame
    /// builds on it; its index and picture id must not look like those of a continuation after they wrapped.
    package mutating func noteUndecodable(_ info: PayloadInfo) {
        undecodable += 1
        if !isOnlyUpperLayer(info), info.references == nil || undecodable >= Self.maxUndecodable { needsKeyFrame = true }
        noteLoss()
    }

    package mutating func reset() { self = DecodeChain() }

    /// Only `dropped`, which nobody refers to, lies between the last delivered frame and `next`.
    package func isOnlyDiscardable(_ dropped: PayloadInfo, before next: PayloadInfo) -> Bool {
        guard dropped.isDiscardable, !needsKeyFrame, let previous = lastPicture, let id = dropped.pictureID,
            let nextID = next.pictureID
        else { return false }
        let first = Self.difference(id, dropped.hasLongPictureID, previous.id, previous.isLong)
        return first == 1 && Self.difference(nextID, next.hasLongPictureID, id, dropped.hasLongPictureID) == 1
    }

    /// Leaving the frame out costs nothing but itself and its layer: the base layer goes on.
    package func isOnlyUpperLayer(_ info: PayloadInfo) -> Bool {
        !needsKeyFrame && info.temporalID > 0 && info.baseLayerIndex != nil && info.baseLayerIndex == lastBaseLayerIndex
    }

    private func distance(to info: PayloadInfo) -> Int? {
        guard let previous = lastPicture, let id = info.pictureID else { return nil }
        return Self.difference(id, info.hasLongPictureID, previous.id, previous.isLong)
    }

    private func delivered(_ references: VP9Descriptor.ReferenceDiffs, before info: PayloadInfo) -> Bool {
        guard let distance = distance(to: info), references.count > 0 else { return false }
        for index in 0..<references.count {
            let back = Int(references[index]) - distance
            guard back >= 0, back < 128, history >> UInt128(back) & 1 == 1 else { return false }
        }
        return true
    }

    /// Modulo the narrower of both widths: 127 in 7 bits may be followed by 128 in 15 (VID-01).
    private static func difference(_ a: UInt16, _ aIsLong: Bool, _ b: UInt16, _ bIsLong: Bool) -> Int {
        Int((a &- b) & (aIsLong && bIsLong ? 0x7FFF : 0x7F))
    }

    /// Half of what a picture id of 7 bits can tell apart.
    private static let maxUndecodable = 64
}
