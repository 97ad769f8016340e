// Encoding of video in real time: an I420 picture comes in, one compressed frame in pooled memory goes out, with no
// look-ahead and at a constant bitrate (RFC 6386; the VP9 bitstream specification, profile 0, one layer). Choosing the
// bitrate and answering key frame requests is the caller's business; layers and simulcast are left out.

internal import CVPX
package import RTCBase

/// A VP8 or VP9 encoder. Used by one thread at a time.
///
/// The size of the pictures may change. A new size begins with a key frame, except where VP9 becomes smaller in the shape of
/// its first picture, by `side(_:eighths:)`, or larger again: there the frames before are scaled and built upon.
package final class VPXEncoder {
    package struct Settings: Hashable, Sendable {
        package var codec: VideoCodec
        package var bitsPerSecond: Int
        /// The rate that is expected; the real spacing comes from the pictures' timestamps.
        package var framesPerSecond: Int
        /// Nil takes what real time needs at the size. VP8 with more than one stalls on a busy machine.
        package var threads: Int?
        /// libvpx's `cpu-used`: VP8 -16...16, VP9 0...9. Nil takes what real time needs at the size.
        package var speed: Int?
        /// Frames from one key frame to the next at most; nil means the first frame and requested ones only.
        package var keyFrameInterval: Int?
        /// Lets the rate control skip pictures instead of going over the bitrate.
        package var dropsFrames: Bool

        package init(
            codec: VideoCodec, bitsPerSecond: Int = 2_000_000, framesPerSecond: Int = 30, threads: Int? = nil, speed: Int? = nil,
            keyFrameInterval: Int? = nil, dropsFrames: Bool = false
        ) {
            self.codec = codec
            self.bitsPerSecond = bitsPerSecond
            self.framesPerSecond = framesPerSecond
            self.threads = threads
            self.speed = speed
            self.keyFrameInterval = keyFrameInterval
            self.dropsFrames = dropsFrames
        }
    }

    package private(set) var settings: Settings
    private var handle: OpaquePointer?
    private var width = 0
    private var height = 0
    private var hasReducedEffort = false
    private var loopFilter = LoopFilterChoice()
    /// What libvpx was told last.
    package private(set) var isLoopFilterOn = true
    /// What libvpx was set up with; it allows no larger picture.
    private var largestWidth = 0
    private var largestHeight = 0
    /// 90 kHz, strictly growing; starts again with each libvpx encoder.
    private var presentationTime: Int64 = 0
    private var lastRTPTimestamp: UInt32?

    /// - Throws: `.invalidArgument` for settings out of range. libvpx is only set up by the first picture.
    package init(settings: Settings) throws(CodecError) {
        guard
            Self.isAllowed(bitsPerSecond: settings.bitsPerSecond), (1...240).contains(settings.framesPerSecond),
            (1...16).contains(settings.threads ?? 1), (-16...16).contains(settings.speed ?? 0),
            (0...100_000).contains(settings.keyFrameInterval ?? 0)
        else {
            throw CodecError(.invalidArgument, function: "VPXEncoder")
        }
        self.settings = settings
    }

    deinit { stop() }

    /// Takes effect with the next picture.
    package func setBitrate(_ bitsPerSecond: Int) throws(CodecError) {
        guard Self.isAllowed(bitsPerSecond: bitsPerSecond) else {
            throw CodecError(.invalidArgument, function: "VPXEncoder.setBitrate")
        }
        settings.bitsPerSecond = bitsPerSecond
        guard let handle else { return }
        let code = cvpx_encoder_set_bitrate(handle, Int32(bitsPerSecond / 1000))
        guard code == 0 else { throw .vpx(code, "vpx_codec_enc_config_set") }
    }

    /// Takes effect with the next picture, without a key frame: the encoder saves time at the price of quality, or no longer.
    /// Without effect when the settings name a speed.
    package func setReducedEffort(_ isReduced: Bool) throws(CodecError) {
        guard isReduced != hasReducedEffort else { return }
        hasReducedEffort = isReduced
        guard let handle, settings.speed == nil else { return }
        let code = cvpx_encoder_set_speed(handle, Int32(speed(pixels: width * height)))
        guard code == 0 else { throw .vpx(code, "VP8E_SET_CPUUSED") }
    }

    /// The quantizer of the last frame, from 0 (best) to 63; nil before the first.
    package var lastQuantizer: Int? {
        guard let handle else { return nil }
        let quantizer = cvpx_encoder_last_quantizer(handle)
        return quantizer >= 0 ? Int(quantizer) : nil
    }

    /// Encodes a picture and returns the frame with its timestamps and metadata, in memory from `pool`; nil when the rate
    /// control skipped it.
    ///
    /// Spacing is taken from `rtpTimestamp`; pictures whose timestamp does not grow are one frame interval apart.
    ///
    /// - Throws: `.invalidArgument` for a size over the limits of `VPXFrameHeader` or planes that are not within their memory,
    ///   `.tooLarge` for a side that the codec cannot write, or what libvpx reports.
    package func encode(
        _ picture: PlanarFrame, forceKeyFrame: Bool = false, pool: FrameBufferPool
    ) throws(CodecError) -> EncodedFrame? {
        guard PixelConverter.isSound(picture) else { throw CodecError(.invalidArgument, function: "VPXEncoder.encode") }
        let handle = try started(width: picture.width, height: picture.height)
        advanceTime(to: picture.rtpTimestamp)
        try chooseLoopFilter(handle, forKeyFrame: forceKeyFrame)
        var source = cvpx_picture(
            y: picture.planeY, u: picture.planeU, v: picture.planeV, stride_y: Int32(picture.strideY),
            stride_u: Int32(picture.strideU), stride_v: Int32(picture.strideV), width: Int32(picture.width),
            height: Int32(picture.height), is_i420: 1)
        let code = cvpx_encoder_encode(
            handle, &source, presentationTime, UInt(frameInterval90kHz), forceKeyFrame ? 1 : 0)
        guard code == 0 else { throw .vpx(code, "vpx_codec_encode") }
        var packet = cvpx_packet()
        guard cvpx_encoder_packet(handle, &packet) == 1, let bytes = packet.bytes else { return nil }
        let memory = pool.take(capacity: packet.count)
        guard memory.append(UnsafeRawBufferPointer(start: bytes, count: packet.count).bytes) else {
            throw CodecError(.tooLarge, function: "vpx_codec_get_cx_data")
        }
        return EncodedFrame(
            codec: settings.codec, bytes: memory, isKeyFrame: packet.is_key_frame == 1, rtpTimestamp: picture.rtpTimestamp,
            ssrc: 0, metadata: picture.metadata, firstPacketTime: picture.firstPacketTime, completeTime: picture.completeTime)
    }

    /// Key frames are filtered: their quantizer may be far above that of the frame before.
    private func chooseLoopFilter(_ handle: OpaquePointer, forKeyFrame: Bool) throws(CodecError) {
        guard settings.codec == .vp9, settings.speed == nil, width * height >= Self.leastLargePixels else { return }
        // The first picture, a key frame, has none before it.
        if presentationTime > 0, let lastQuantizer { loopFilter.onEncoded(quantizer: lastQuantizer) }
        let isOn = forKeyFrame || loopFilter.isOn
        guard isOn != isLoopFilterOn else { return }
        let code = cvpx_encoder_set_loop_filter(handle, isOn ? 1 : 0)
        guard code == 0 else { throw .vpx(code, "VP9E_SET_DISABLE_LOOPFILTER") }
        isLoopFilterOn = isOn
    }

    /// From here up encoding a picture takes a notable part of the time there is.
    private static let leastLargePixels = 640 * 360

    private var frameInterval90kHz: Int64 { Int64(90_000 / settings.framesPerSecond) }

    private func advanceTime(to rtpTimestamp: UInt32) {
        defer { lastRTPTimestamp = rtpTimestamp }
        guard let last = lastRTPTimestamp else { return }
        let step = Int64(Int32(bitPattern: rtpTimestamp &- last))
        presentationTime += step > 0 ? step : frameInterval90kHz
    }

    private func started(width newWidth: Int, height newHeight: Int) throws(CodecError) -> OpaquePointer {
        if let handle, newWidth == width, newHeight == height { return handle }
        guard VPXFrameHeader.isAllowed(width: newWidth, height: newHeight), max(newWidth, newHeight) < VPXFrameHeader.maxSide else {
            throw CodecError(.tooLarge, function: "VPXEncoder.encode")
        }
        if let handle, canScale(toWidth: newWidth, height: newHeight),
            cvpx_encoder_set_size(handle, Int32(newWidth), Int32(newHeight)) == 0
        {
            width = newWidth
            height = newHeight
            return handle
        }
        stop()
        var raw = cvpx_encoder_settings(
            codec: Int32(settings.codec == .vp9 ? CVPX_CODEC_VP9 : CVPX_CODEC_VP8), width: Int32(newWidth),
            height: Int32(newHeight), kilobits_per_second: Int32(settings.bitsPerSecond / 1000),
            threads: Int32(settings.threads ?? Self.threads(settings.codec, pixels: newWidth * newHeight)),
            speed: Int32(speed(pixels: newWidth * newHeight)),
            key_frame_interval: Int32(settings.keyFrameInterval ?? 0), drop_frames: settings.dropsFrames ? 1 : 0)
        var code: Int32 = 0
        guard let new = cvpx_encoder_create(&raw, &code) else { throw .vpx(code, "vpx_codec_enc_init") }
        handle = new
        width = newWidth
        height = newHeight
        largestWidth = newWidth
        largestHeight = newHeight
        presentationTime = 0
        lastRTPTimestamp = nil
        loopFilter = LoopFilterChoice()
        isLoopFilterOn = true
        return new
    }

    /// VP9 predicts from references of other sizes (bitstream specification §8.5.2.3), and libvpx scales them. Only steps of an
    /// eighth of the first size from a quarter up: with any size, or one over the first, libvpx 1.12 has had defects.
    private func canScale(toWidth newWidth: Int, height newHeight: Int) -> Bool {
        guard settings.codec == .vp9, min(newWidth, newHeight) >= Self.smallestScaledSide else { return false }
        return (2...8).contains { eighths in
            newWidth == Self.side(largestWidth, eighths: eighths) && newHeight == Self.side(largestHeight, eighths: eighths)
        }
    }

    /// A side of a smaller picture of the same shape: eighths of it, made even below the full size.
    package static func side(_ full: Int, eighths: Int) -> Int {
        eighths >= 8 ? full : max(2, full * eighths / 8 & ~1)
    }

    private static let smallestScaledSide = 48

    private func stop() {
        cvpx_encoder_destroy(handle)
        handle = nil
    }

    /// Measured: the slowest that leaves a core room at 30 frames per second; with reduced effort the quickest that is not ugly.
    /// A 720p picture takes VP9 18.8 ms at speed 8 and 11.7 ms at 9, which serves a scrolling picture better even (37.5 against
    /// 34.7 dB at 3.9 Mbit/s).
    private func speed(pixels: Int) -> Int {
        if let speed = settings.speed { return speed }
        return switch settings.codec {
        case .vp8: hasReducedEffort ? (pixels > 1280 * 720 ? -16 : -12) : (pixels > 1280 * 720 ? -12 : -6)
        case .vp9: pixels >= Self.leastLargePixels || hasReducedEffort ? 9 : 8
        }
    }

    /// VP9 above 720p takes more than a core at times. VP8's row threads wait in a spin and are left alone.
    private static func threads(_ codec: VideoCodec, pixels: Int) -> Int { codec == .vp9 && pixels > 1280 * 720 ? 2 : 1 }

    private static func isAllowed(bitsPerSecond: Int) -> Bool { (1_000...1_000_000_000).contains(bitsPerSecond) }
}
