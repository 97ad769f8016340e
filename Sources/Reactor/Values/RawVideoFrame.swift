/// One received picture, borrowed for the length of an `onRawFrame` handler: nothing was copied for it.
///
/// `pixels` has the layout of ``VideoFrame/pixels`` (tightly packed BGRA, `width * height * 4` bytes). The memory is
/// reused when the handler returns; copy what is to be kept.
public struct RawVideoFrame: ~Copyable {
    /// Name of the track this frame came from.
    public let trackName: String
    /// BGRA bytes, valid during the handler only.
    public let pixels: UnsafeRawBufferPointer
    /// Width in pixels.
    public let width: UInt32
    /// Height in pixels.
    public let height: UInt32
    /// The sender's frame number; 0 when the sender gave none.
    public let frameID: UInt64
    /// When the sender captured the picture, in microseconds of the sender's clock; 0 when it gave none.
    public let captureTimeUs: UInt64
    /// Bytes the sender attached to this frame, valid during the handler only, or nil.
    public let userData: UnsafeRawBufferPointer?

    init(
        trackName: String, pixels: UnsafeRawBufferPointer, width: UInt32, height: UInt32, frameID: UInt64, captureTimeUs: UInt64,
        userData: UnsafeRawBufferPointer?
    ) {
        self.trackName = trackName
        self.pixels = pixels
        self.width = width
        self.height = height
        self.frameID = frameID
        self.captureTimeUs = captureTimeUs
        self.userData = userData
    }
}
