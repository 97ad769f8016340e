internal import RTCBase
internal import RTCCodec

/// The encoder of one published track with what it remembers from picture to picture. Used by one encode thread.
struct VideoEncodeSession: ~Copyable {
    private let codec: VideoCodec
    private let scaledPool: FrameBufferPool
    private let framePool: FrameBufferPool
    private var encoder: VPXEncoder?
    private var adapter: ResolutionAdapter
    private var effort = EncodeEffort()
    private var overshoot = EncoderOvershoot()
    private var pushedSize = ResolutionAdapter.Size(width: 0, height: 0)
    private var pushedRate = 0.0
    /// Time of the last picture as the encoder's rate control sees it, at 90 kHz.
    private var encoderTime: Int64 = 0
    private var lastPushed: MonotonicTime?
    /// Of the last picture encoded.
    private(set) var width = 0
    private(set) var height = 0

    init(codec: VideoCodec, scaledPool: FrameBufferPool, framePool: FrameBufferPool) {
        self.codec = codec
        self.scaledPool = scaledPool
        self.framePool = framePool
        adapter = ResolutionAdapter(codec: codec, bitsPerSecond: 1)
    }

    var framesPerSecond: Double { adapter.framesPerSecond }

    /// The bits per second that pictures like this one can use, when that is new: at the first picture, when the size changes
    /// or the frame rate does by a quarter.
    mutating func newCeiling(for picture: PlanarFrame, now: MonotonicTime) -> Int? {
        let size = ResolutionAdapter.Size(width: picture.width, height: picture.height)
        let rate = adapter.framesPerSecond
        guard size != pushedSize || rate > pushedRate * 1.25 || rate < pushedRate * 0.75 else { return nil }
        pushedSize = size
        pushedRate = rate
        return ResolutionAdapter.ceiling(width: size.width, height: size.height, framesPerSecond: rate)
    }

    /// Scales if need be and encodes; nil when the encoder left the picture out.
    ///
    /// - Throws: what the encoder throws; the session is to be reset then.
    mutating func encode(
        _ input: VideoEncodeWorker.Input, bitsPerSecond: Int, forceKeyFrame: Bool
    ) throws(CodecError) -> EncodedFrame? {
        adapter.setRate(bitsPerSecond: bitsPerSecond)
        let size = adapter.size(
            forWidth: input.picture.width, height: input.picture.height, skipped: input.skippedBefore, now: input.pushed)
        var picture = input.picture
        if size.width != picture.width || size.height != picture.height {
            guard let scaled = PixelConverter.scale(picture, width: size.width, height: size.height, pool: scaledPool) else {
                throw CodecError(.invalidArgument, function: "PixelConverter.scale")
            }
            picture = scaled
        }
        // The rate control budgets by the pushes: capture times may stand still or jump. What was skipped while the network was
        // behind is to drain its queue, and no budget for larger frames.
        let interval = input.pushed.nanoseconds(since: lastPushed ?? input.pushed) / 1000 / Int64(1 + input.skippedBefore)
        lastPushed = input.pushed
        encoderTime += max(Self.shortestInterval, CaptureStamper.ticks(micros: interval))
        picture.rtpTimestamp = UInt32(truncatingIfNeeded: encoderTime)
        let encoder = try self.encoder(bitsPerSecond: overshoot.rate(for: bitsPerSecond))
        guard var frame = try encoder.encode(picture, forceKeyFrame: forceKeyFrame, pool: framePool) else { return nil }
        frame.rtpTimestamp = input.rtpTimestamp
        width = size.width
        height = size.height
        overshoot.onEncoded(byteCount: frame.bytes.count, meant: bitsPerSecond, seconds: Double(interval) / 1e6)
        adapter.onEncoded(
            byteCount: frame.bytes.count, quantizer: encoder.lastQuantizer, isKeyFrame: frame.isKeyFrame)
        return frame
    }

    /// What the last picture, pushed at `now`, took of wall-clock time.
    mutating func onEncoded(nanoseconds: Int64, now: MonotonicTime) {
        effort.onEncoded(nanoseconds: nanoseconds, available: Int64(1e9 / max(1, adapter.framesPerSecond)), now: now)
    }

    /// The next picture begins with a new encoder.
    mutating func reset() { encoder = nil }

    private mutating func encoder(bitsPerSecond: Int) throws(CodecError) -> VPXEncoder {
        if let encoder {
            if encoder.settings.bitsPerSecond != bitsPerSecond { try encoder.setBitrate(bitsPerSecond) }
            try encoder.setReducedEffort(effort.isReduced)
            return encoder
        }
        let new = try VPXEncoder(settings: .init(codec: codec, bitsPerSecond: bitsPerSecond))
        try new.setReducedEffort(effort.isReduced)
        encoder = new
        return new
    }

    /// 200 frames per second at 90 kHz: a burst of pictures after a stall does not make tiny frames of all of them.
    private static let shortestInterval: Int64 = 450
}
