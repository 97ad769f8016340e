// Decoding of received video: a whole compressed frame comes in, an I420 picture in pooled memory goes out (RFC 6386
// for VP8; the VP9 bitstream specification, profile 0). The picture is copied once, out of libvpx's reference memory,
// which the decoder goes on predicting from. When to ask for a key frame, and which thread this runs on, is the
// caller's business; so are frame order and completeness.

internal import CVPX
internal import CYUV
package import RTCBase

/// A VP8 or VP9 decoder. Used by one thread at a time.
///
/// The size of the picture may change on any frame. After an error the decoder refuses inter frames with
/// `.needsKeyFrame`, and goes on with the next key frame.
package final class VPXDecoder {
    private let codec: VideoCodec
    private let maxThreads: Int
    /// Nil until a key frame starts it: a stream's state begins there, and so does a new one after an error.
    private var handle: OpaquePointer?
    private var handleThreads = 0
    /// The largest picture, in pixels, since `handle` was made.
    private var handlePixels = 0

    /// True when only a key frame can be decoded: at the start, and after an error.
    package var needsKeyFrame: Bool { handle == nil }

    /// - Parameter threads: The most decoding threads for pictures of 720p and more, 1 to 16. VP8 always uses one: its row
    ///   threads wait by spinning and stall for hundreds of milliseconds on a busy machine.
    package init(codec: VideoCodec, threads: Int = 1) throws(CodecError) {
        guard (1...16).contains(threads) else { throw CodecError(.invalidArgument, function: "VPXDecoder") }
        self.codec = codec
        maxThreads = codec == .vp9 ? threads : 1
    }

    deinit { stop() }

    /// The picture of `frame` with its timestamps and metadata, in memory from `pool`; nil when the frame shows nothing.
    ///
    /// `decodedTime` is left at the frame's `completeTime`: the caller has the clock.
    ///
    /// - Throws: `.corrupt`, `.unsupportedFormat`, `.tooLarge`, `.needsKeyFrame`, `.outOfMemory`.
    package func decode(_ frame: EncodedFrame, pool: FrameBufferPool) throws(CodecError) -> PlanarFrame? {
        guard frame.codec == codec else { throw CodecError(.unsupportedFormat, function: "VPXDecoder.decode") }
        do {
            return try decodeOrFail(frame, pool: pool)
        } catch {
            // What is left of the references is unknown; a fresh start at the next key frame costs little.
            stop()
            throw error
        }
    }

    private func decodeOrFail(_ frame: EncodedFrame, pool: FrameBufferPool) throws(CodecError) -> PlanarFrame? {
        let codec = codec
        let header = try frame.bytes.withBytes { (bytes) throws(CodecError) in
            try VPXFrameHeader(parsing: bytes, codec: codec)
        }
        if header.isKeyFrame, let width = header.width, let height = header.height {
            try start(pixels: width * height)
        }
        guard let handle else { throw CodecError(.needsKeyFrame, function: "VPXDecoder.decode") }

        let buffer = frame.bytes.buffer
        let code = cvpx_decoder_decode(handle, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), buffer.count)
        guard code == 0 else { throw .vpxDecoding(code, "vpx_codec_decode") }
        var picture = cvpx_picture()
        guard cvpx_decoder_picture(handle, &picture) == 1 else { return nil }
        guard cvpx_decoder_is_corrupted(handle) == 0 else { throw CodecError(.corrupt, function: "vpx_codec_decode") }
        guard picture.is_i420 == 1 else { throw CodecError(.unsupportedFormat, function: "vpx_codec_get_frame") }
        var output = try Self.copy(picture, pool: pool)
        output.rtpTimestamp = frame.rtpTimestamp
        output.metadata = frame.metadata
        output.firstPacketTime = frame.firstPacketTime
        output.completeTime = frame.completeTime
        output.decodedTime = frame.completeTime
        return output
    }

    private static func copy(_ picture: cvpx_picture, pool: FrameBufferPool) throws(CodecError) -> PlanarFrame {
        let width = Int(picture.width)
        let height = Int(picture.height)
        guard VPXFrameHeader.isAllowed(width: width, height: height) else {
            throw CodecError(.tooLarge, function: "vpx_codec_get_frame")
        }
        let output = PlanarFrame(width: width, height: height, pool: pool)
        let code = I420Copy(
            picture.y, picture.stride_y, picture.u, picture.stride_u, picture.v, picture.stride_v,
            output.planeY, Int32(output.strideY), output.planeU, Int32(output.strideU), output.planeV, Int32(output.strideV),
            picture.width, picture.height)
        guard code == 0 else { throw CodecError(.library, function: "I420Copy", code: code) }
        return output
    }

    /// Makes the libvpx decoder; or anew, when a key frame's size wants other threads, or is so much smaller than what came
    /// before that the old memory should go.
    private func start(pixels: Int) throws(CodecError) {
        let threads = pixels >= Self.threadedPixels ? maxThreads : 1
        if handle != nil, handleThreads == threads, handlePixels / 4 <= pixels {
            handlePixels = max(handlePixels, pixels)
            return
        }
        stop()
        var code: Int32 = 0
        let id = Int32(codec == .vp9 ? CVPX_CODEC_VP9 : CVPX_CODEC_VP8)
        guard let new = cvpx_decoder_create(id, Int32(threads), Self.maxBufferBytes, &code) else {
            throw .vpx(code, "vpx_codec_dec_init")
        }
        handle = new
        handleThreads = threads
        handlePixels = pixels
    }

    private func stop() {
        cvpx_decoder_destroy(handle)
        handle = nil
    }

    /// Below 720p a second thread costs more than it saves (measured).
    private static let threadedPixels = 1280 * 720

    /// An I420 picture of the largest allowed area, with room for the borders that libvpx adds on each side (up to 160
    /// pixels; the worst case is a long and narrow picture).
    private static let maxBufferBytes = (VPXFrameHeader.maxPixels + 2 * 160 * 2 * (VPXFrameHeader.maxSide + 512)) * 3 / 2
}
