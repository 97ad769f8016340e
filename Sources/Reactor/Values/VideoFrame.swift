#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One picture received from a track, as a value the app may keep.
///
/// `pixels` is tightly packed BGRA: 4 bytes per pixel in the order blue, green, red, alpha (255), rows from top to
/// bottom without padding, so `pixels.count == width * height * 4`. The size may change from one frame to the next.
public struct VideoFrame: Sendable {
    /// Name of the track this frame came from.
    public let trackName: String
    /// BGRA bytes, `width * height * 4` of them, row stride `width * 4`.
    public let pixels: Data
    /// Width in pixels.
    public let width: UInt32
    /// Height in pixels.
    public let height: UInt32
    /// The sender's frame number; 0 when the sender gave none.
    public let frameID: UInt64
    /// When the sender captured the picture, in microseconds of the sender's clock; 0 when it gave none. Only
    /// differences between frames of one sender mean anything, unless both ends share a clock.
    public let captureTimeUs: UInt64
    /// Bytes the sender attached to this frame, or nil.
    public let userData: Data?
    /// When the frame was complete here, in microseconds of `Reactor.timeMicros()`.
    public let receivedTimeUs: Int64

    /// Makes a frame from its parts, for tests and for passing on. Sizes are taken as given, not checked.
    public init(
        trackName: String, pixels: Data, width: UInt32, height: UInt32, frameID: UInt64 = 0, captureTimeUs: UInt64 = 0,
        userData: Data? = nil, receivedTimeUs: Int64 = 0
    ) {
        self.trackName = trackName
        self.pixels = pixels
        self.width = width
        self.height = height
        self.frameID = frameID
        self.captureTimeUs = captureTimeUs
        self.userData = userData
        self.receivedTimeUs = receivedTimeUs
    }
}
