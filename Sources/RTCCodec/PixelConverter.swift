// Pixels between the codec's I420 and what apps draw and produce: 32-bit BGRA or RGBA in memory order, BT.601 limited
// range, which is what WebRTC senders use. All of it is libyuv; this file checks sizes and strides so that a wrong
// buffer is refused instead of overrun. Runs on the consumer's side, once per frame that somebody takes.

internal import CYUV
package import RTCBase

/// Colour conversion, copies and scaling of pictures. Nothing here allocates, except for results in pool memory.
package enum PixelConverter {
    /// Converts to B, G, R, A bytes (A is 255). `bytesPerRow` nil means rows without padding.
    ///
    /// False, and nothing is written, when the buffer is too small for `height` rows or a row for `width` pixels.
    package static func i420ToBGRA(
        _ frame: PlanarFrame, into pixels: UnsafeMutableRawBufferPointer, bytesPerRow: Int? = nil
    ) -> Bool {
        convert(frame, into: pixels, bytesPerRow: bytesPerRow, with: I420ToARGB)
    }

    /// Converts to R, G, B, A bytes; otherwise like `i420ToBGRA`.
    package static func i420ToRGBA(
        _ frame: PlanarFrame, into pixels: UnsafeMutableRawBufferPointer, bytesPerRow: Int? = nil
    ) -> Bool {
        convert(frame, into: pixels, bytesPerRow: bytesPerRow, with: I420ToABGR)
    }

    /// A picture from B, G, R, A bytes (A is ignored), in memory from `pool`; nil when the buffer is too small for the size,
    /// or the size is not allowed.
    package static func bgraToI420(
        _ pixels: UnsafeRawBufferPointer, width: Int, height: Int, bytesPerRow: Int? = nil, pool: FrameBufferPool
    ) -> PlanarFrame? {
        convert(pixels, width: width, height: height, bytesPerRow: bytesPerRow, pool: pool, with: ARGBToI420)
    }

    /// A picture from R, G, B, A bytes; otherwise like `bgraToI420`.
    package static func rgbaToI420(
        _ pixels: UnsafeRawBufferPointer, width: Int, height: Int, bytesPerRow: Int? = nil, pool: FrameBufferPool
    ) -> PlanarFrame? {
        convert(pixels, width: width, height: height, bytesPerRow: bytesPerRow, pool: pool, with: ABGRToI420)
    }

    /// A picture from bytes of any layout, rows without padding; nil when there are too few, or the size is not allowed.
    package static func toI420(
        _ pixels: UnsafeRawBufferPointer, layout: PixelLayout, width: Int, height: Int, pool: FrameBufferPool
    ) -> PlanarFrame? {
        switch layout {
        case .bgra: bgraToI420(pixels, width: width, height: height, pool: pool)
        case .rgba: rgbaToI420(pixels, width: width, height: height, pool: pool)
        case .i420, .nv12: planesToI420(pixels, layout: layout, width: width, height: height, pool: pool)
        }
    }

    private static func planesToI420(
        _ bytes: UnsafeRawBufferPointer, layout: PixelLayout, width: Int, height: Int, pool: FrameBufferPool
    ) -> PlanarFrame? {
        guard VPXFrameHeader.isAllowed(width: width, height: height),
            bytes.count >= tightByteCount(width: width, height: height),
            let luma = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        else { return nil }
        let output = PlanarFrame(width: width, height: height, pool: pool)
        let chroma = luma + width * height
        let chromaWidth = Int32(output.chromaWidth)
        let code =
            if layout == .nv12 {
                NV12ToI420(
                    luma, Int32(width), chroma, 2 * chromaWidth,
                    output.planeY, Int32(output.strideY), output.planeU, Int32(output.strideU), output.planeV, Int32(output.strideV),
                    Int32(width), Int32(height))
            } else {
                I420Copy(
                    luma, Int32(width), chroma, chromaWidth, chroma + output.chromaWidth * output.chromaHeight, chromaWidth,
                    output.planeY, Int32(output.strideY), output.planeU, Int32(output.strideU), output.planeV, Int32(output.strideV),
                    Int32(width), Int32(height))
            }
        return code == 0 ? output : nil
    }

    /// Bytes of a picture as I420 without padding: Y, then U, then V.
    package static func tightByteCount(width: Int, height: Int) -> Int {
        width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
    }

    /// Writes the planes without padding: Y, then U, then V. False, and nothing is written, when they do not fit.
    package static func copyTight(_ frame: PlanarFrame, into bytes: UnsafeMutableRawBufferPointer) -> Bool {
        guard isSound(frame), let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
        guard bytes.count >= tightByteCount(width: frame.width, height: frame.height) else { return false }
        let planeU = base + frame.width * frame.height
        let planeV = planeU + frame.chromaWidth * frame.chromaHeight
        return I420Copy(
            frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideU), frame.planeV, Int32(frame.strideV),
            base, Int32(frame.width), planeU, Int32(frame.chromaWidth), planeV, Int32(frame.chromaWidth),
            Int32(frame.width), Int32(frame.height)) == 0
    }

    /// The picture in another size (box filter), with the timestamps and metadata of `frame`; nil when the size is not
    /// allowed. The aspect ratio is whatever the caller asks for.
    package static func scale(_ frame: PlanarFrame, width: Int, height: Int, pool: FrameBufferPool) -> PlanarFrame? {
        guard isSound(frame), VPXFrameHeader.isAllowed(width: width, height: height) else { return nil }
        var output = PlanarFrame(width: width, height: height, pool: pool)
        let code = I420Scale(
            frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideU), frame.planeV, Int32(frame.strideV),
            Int32(frame.width), Int32(frame.height),
            output.planeY, Int32(output.strideY), output.planeU, Int32(output.strideU), output.planeV, Int32(output.strideV),
            Int32(width), Int32(height), kFilterBox)
        guard code == 0 else { return nil }
        output.copyStamps(of: frame)
        return output
    }

    /// The whole picture in the middle of one of another size, as large as its shape allows, on black; with the timestamps and
    /// metadata of `frame`. Nil when the size is not allowed.
    package static func fit(_ frame: PlanarFrame, width: Int, height: Int, pool: FrameBufferPool) -> PlanarFrame? {
        guard isSound(frame), VPXFrameHeader.isAllowed(width: width, height: height) else { return nil }
        let scale = min(Double(width) / Double(frame.width), Double(height) / Double(frame.height))
        let innerWidth = min(width, max(1, Int((Double(frame.width) * scale).rounded())))
        let innerHeight = min(height, max(1, Int((Double(frame.height) * scale).rounded())))
        // Even, so that chroma lies under luma.
        let left = (width - innerWidth) / 2 & ~1
        let top = (height - innerHeight) / 2 & ~1

        var output = PlanarFrame(width: width, height: height, pool: pool)
        let black = I420Rect(
            output.planeY, Int32(output.strideY), output.planeU, Int32(output.strideU), output.planeV, Int32(output.strideV),
            0, 0, Int32(width), Int32(height), 16, 128, 128)
        let code = I420Scale(
            frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideU), frame.planeV, Int32(frame.strideV),
            Int32(frame.width), Int32(frame.height),
            output.planeY + top * output.strideY + left, Int32(output.strideY),
            output.planeU + top / 2 * output.strideU + left / 2, Int32(output.strideU),
            output.planeV + top / 2 * output.strideV + left / 2, Int32(output.strideV),
            Int32(innerWidth), Int32(innerHeight), kFilterBox)
        guard black == 0, code == 0 else { return nil }
        output.copyStamps(of: frame)
        return output
    }

    private typealias ToPixels = (
        UnsafePointer<UInt8>?, Int32, UnsafePointer<UInt8>?, Int32, UnsafePointer<UInt8>?, Int32,
        UnsafeMutablePointer<UInt8>?, Int32, Int32, Int32
    ) -> Int32

    private static func convert(
        _ frame: PlanarFrame, into pixels: UnsafeMutableRawBufferPointer, bytesPerRow: Int?, with function: ToPixels
    ) -> Bool {
        guard isSound(frame), let base = pixels.baseAddress else { return false }
        guard let stride = checkedStride(bytesPerRow, width: frame.width, height: frame.height, count: pixels.count) else {
            return false
        }
        return function(
            frame.planeY, Int32(frame.strideY), frame.planeU, Int32(frame.strideU), frame.planeV, Int32(frame.strideV),
            base.assumingMemoryBound(to: UInt8.self), stride, Int32(frame.width), Int32(frame.height)) == 0
    }

    private typealias FromPixels = (
        UnsafePointer<UInt8>?, Int32, UnsafeMutablePointer<UInt8>?, Int32, UnsafeMutablePointer<UInt8>?, Int32,
        UnsafeMutablePointer<UInt8>?, Int32, Int32, Int32
    ) -> Int32

    private static func convert(
        _ pixels: UnsafeRawBufferPointer, width: Int, height: Int, bytesPerRow: Int?, pool: FrameBufferPool,
        with function: FromPixels
    ) -> PlanarFrame? {
        guard VPXFrameHeader.isAllowed(width: width, height: height), let base = pixels.baseAddress else { return nil }
        guard let stride = checkedStride(bytesPerRow, width: width, height: height, count: pixels.count) else { return nil }
        let output = PlanarFrame(width: width, height: height, pool: pool)
        let code = function(
            base.assumingMemoryBound(to: UInt8.self), stride,
            output.planeY, Int32(output.strideY), output.planeU, Int32(output.strideU), output.planeV, Int32(output.strideV),
            Int32(width), Int32(height))
        return code == 0 ? output : nil
    }

    /// The row length when `height` rows of it, the last without padding, lie within `count` bytes.
    private static func checkedStride(_ bytesPerRow: Int?, width: Int, height: Int, count: Int) -> Int32? {
        let tight = width * 4
        let stride = bytesPerRow ?? tight
        guard stride >= tight, stride <= Int(Int32.max) else { return nil }
        return stride * (height - 1) + tight <= count ? Int32(stride) : nil
    }

    /// True when the size is allowed and every row of every plane lies within the frame's memory.
    static func isSound(_ frame: PlanarFrame) -> Bool {
        guard VPXFrameHeader.isAllowed(width: frame.width, height: frame.height) else { return false }
        let rows = frame.chromaHeight
        let width = frame.chromaWidth
        return isPlane(frame.offsetY, frame.strideY, frame.width, frame.height, within: frame.memory.count)
            && isPlane(frame.offsetU, frame.strideU, width, rows, within: frame.memory.count)
            && isPlane(frame.offsetV, frame.strideV, width, rows, within: frame.memory.count)
    }

    private static func isPlane(_ offset: Int, _ stride: Int, _ width: Int, _ height: Int, within count: Int) -> Bool {
        guard offset >= 0, offset <= count, stride >= width, stride <= count else { return false }
        return stride * (height - 1) + width <= count - offset
    }
}

extension PlanarFrame {
    fileprivate mutating func copyStamps(of frame: PlanarFrame) {
        rtpTimestamp = frame.rtpTimestamp
        metadata = frame.metadata
        firstPacketTime = frame.firstPacketTime
        completeTime = frame.completeTime
        decodedTime = frame.decodedTime
    }
}
