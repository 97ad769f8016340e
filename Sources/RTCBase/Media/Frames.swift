package enum MediaKind: String, Sendable, CaseIterable { case video, audio }
package enum MediaDirection: String, Sendable, CaseIterable { case sendonly, recvonly }
package enum VideoCodec: String, Sendable, CaseIterable {
    case vp8 = "VP8"
    case vp9 = "VP9"
}

/// How the bytes of a picture that an app hands in are laid out, rows from top to bottom without padding.
package enum PixelLayout: Sendable, CaseIterable {
    /// 4 bytes per pixel; alpha is ignored.
    case bgra, rgba
    /// A plane of luma, then Cb and Cr planes of half the width and height, rounded up.
    case i420
    /// A plane of luma, then one of interleaved Cb and Cr.
    case nv12
}

/// A media slot that the session declares; `direction` is from this end's point of view.
package struct TrackDeclaration: Hashable, Sendable {
    package var name: String
    package var kind: MediaKind
    package var direction: MediaDirection
    /// The section carries media both ways, under one name: a remote track comes and a local track goes. `direction` says
    /// nothing then. The vendor's protocol has no such tracks.
    package var isTwoWay: Bool
    /// Audio channels wanted, 1 or 2 (RFC 7587 §6.1).
    package var channels: Int
    package init(name: String, kind: MediaKind, direction: MediaDirection, isTwoWay: Bool = false, channels: Int = 1) {
        self.name = name
        self.kind = kind
        self.direction = direction
        self.isTwoWay = isTwoWay
        self.channels = channels
    }

    package var sends: Bool { isTwoWay || direction == .sendonly }
    package var receives: Bool { isTwoWay || direction == .recvonly }
}

/// What a frame trailer carries (wire protocol §7).
package struct FrameMetadata: Hashable, Sendable {
    package var frameID: UInt64
    /// Microseconds on the sender's clock.
    package var captureTimeMicros: UInt64
    package var userData: FrameUserData?
    package init(frameID: UInt64 = 0, captureTimeMicros: UInt64 = 0, userData: FrameUserData? = nil) {
        self.frameID = frameID
        self.captureTimeMicros = captureTimeMicros
        self.userData = userData
    }
}

/// One compressed video frame: the codec's bitstream without trailer.
package struct EncodedFrame: Sendable {
    package var codec: VideoCodec
    package var bytes: MediaBytes
    package var isKeyFrame: Bool
    /// 90 kHz, as on the wire.
    package var rtpTimestamp: UInt32
    package var ssrc: UInt32
    package var metadata: FrameMetadata?
    /// When its first packet arrived, and when it was complete.
    package var firstPacketTime: MonotonicTime
    package var completeTime: MonotonicTime

    package init(
        codec: VideoCodec, bytes: MediaBytes, isKeyFrame: Bool, rtpTimestamp: UInt32, ssrc: UInt32,
        metadata: FrameMetadata? = nil, firstPacketTime: MonotonicTime, completeTime: MonotonicTime
    ) {
        self.codec = codec
        self.bytes = bytes
        self.isKeyFrame = isKeyFrame
        self.rtpTimestamp = rtpTimestamp
        self.ssrc = ssrc
        self.metadata = metadata
        self.firstPacketTime = firstPacketTime
        self.completeTime = completeTime
    }
}

/// A decoded picture: I420 planes (Y, U, V; chroma is (width+1)/2 x (height+1)/2) in one block, with strides in bytes.
package struct PlanarFrame: Sendable {
    package var memory: MediaBytes
    package var width: Int
    package var height: Int
    package var strideY: Int
    package var strideU: Int
    package var strideV: Int
    /// Byte offsets of the planes within `memory`.
    package var offsetY: Int
    package var offsetU: Int
    package var offsetV: Int
    package var rtpTimestamp: UInt32
    package var metadata: FrameMetadata?
    package var firstPacketTime: MonotonicTime
    package var completeTime: MonotonicTime
    package var decodedTime: MonotonicTime

    package var chromaWidth: Int { (width + 1) / 2 }
    package var chromaHeight: Int { (height + 1) / 2 }

    /// An I420 frame with tight chroma and luma rows rounded up to 32 bytes, memory from `pool`.
    package init(width: Int, height: Int, pool: FrameBufferPool) {
        self.width = width
        self.height = height
        strideY = (width + 31) & ~31
        strideU = ((width + 1) / 2 + 31) & ~31
        strideV = strideU
        offsetY = 0
        offsetU = strideY * height
        let chroma = strideU * ((height + 1) / 2)
        offsetV = offsetU + chroma
        memory = pool.take(capacity: offsetV + chroma)
        memory.setCount(offsetV + chroma)
        rtpTimestamp = 0
        metadata = nil
        firstPacketTime = MonotonicTime(nanoseconds: 0)
        completeTime = MonotonicTime(nanoseconds: 0)
        decodedTime = MonotonicTime(nanoseconds: 0)
    }

    package var planeY: UnsafeMutablePointer<UInt8> { (memory.base + offsetY).assumingMemoryBound(to: UInt8.self) }
    package var planeU: UnsafeMutablePointer<UInt8> { (memory.base + offsetU).assumingMemoryBound(to: UInt8.self) }
    package var planeV: UnsafeMutablePointer<UInt8> { (memory.base + offsetV).assumingMemoryBound(to: UInt8.self) }
}

/// Interleaved signed 16-bit PCM.
package struct PCMBlock: Sendable {
    package var samples: [Int16]
    package var sampleRate: Int
    package var channels: Int
    package init(samples: [Int16], sampleRate: Int, channels: Int) {
        self.samples = samples
        self.sampleRate = sampleRate
        self.channels = channels
    }
}
