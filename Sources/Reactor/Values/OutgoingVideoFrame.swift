package import RTCBase

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How the bytes of a picture are laid out, rows from top to bottom without padding.
public enum PixelFormat: String, Sendable, CaseIterable {
    /// Blue, green, red, alpha: 4 bytes per pixel. Alpha is not sent.
    case bgra
    /// Red, green, blue, alpha: 4 bytes per pixel.
    case rgba
    /// A plane of luma, then Cb and Cr planes of half the width and height, rounded up (BT.601, video range).
    case i420
    /// A plane of luma, then one of interleaved Cb and Cr.
    case nv12

    /// Bytes of a picture of this size; `nil` for a side of 0 or a size that no `Int` holds.
    package func byteCount(width: UInt32, height: UInt32) -> Int? {
        guard width > 0, height > 0 else { return nil }
        let (pixels, tooLarge) = Int(width).multipliedReportingOverflow(by: Int(height))
        guard !tooLarge, pixels <= Int.max / 8 else { return nil }
        switch self {
        case .bgra, .rgba: return pixels * 4
        case .i420, .nv12: return pixels + 2 * ((Int(width) + 1) / 2) * ((Int(height) + 1) / 2)
        }
    }
}

/// One picture on its way to be sent.
public struct OutgoingVideoFrame: Sendable {
    /// Exactly as many bytes as the format has for this size.
    public var pixels: Data
    /// In pixels.
    public var width: UInt32
    /// In pixels.
    public var height: UInt32
    /// How `pixels` is laid out.
    public var format: PixelFormat
    /// Bytes that travel with this frame unchanged, or `nil`.
    public var userData: Data?
    /// When the picture was taken, in microseconds on the clock of ``Reactor/timeMicros()``; `nil` means when it is pushed.
    public var captureTimeUs: Int64?

    /// Makes a picture from its parts. They are checked when it is pushed.
    ///
    /// - Parameters:
    ///   - pixels: rows from top to bottom without padding: `width * height * 4` bytes for `.bgra` and `.rgba`; for `.i420` and `.nv12`
    ///     `width * height` bytes of luma and twice `((width + 1) / 2) * ((height + 1) / 2)` of chroma.
    ///   - width: in pixels.
    ///   - height: in pixels.
    ///   - format: the layout of `pixels`.
    ///   - userData: bytes that travel with this frame unchanged.
    ///   - captureTimeUs: on the clock of ``Reactor/timeMicros()``; `nil` means when it is pushed.
    public init(
        pixels: Data, width: UInt32, height: UInt32, format: PixelFormat = .bgra, userData: Data? = nil, captureTimeUs: Int64? = nil
    ) {
        self.pixels = pixels
        self.width = width
        self.height = height
        self.format = format
        self.userData = userData
        self.captureTimeUs = captureTimeUs
    }
}

extension PixelFormat {
    package var layout: PixelLayout {
        switch self {
        case .bgra: .bgra
        case .rgba: .rgba
        case .i420: .i420
        case .nv12: .nv12
        }
    }
}
