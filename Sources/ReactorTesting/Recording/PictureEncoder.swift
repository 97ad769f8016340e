// The video track of a recording: pictures with their slot come in, VP9 frames go out. The first picture decides the size (bounded);
// others are fitted into it. Worker thread.

internal import RTCBase
internal import RTCCodec

final class PictureEncoder {
    let track: FragmentedMP4Writer.VideoTrack
    private let encoder: VPXEncoder
    private let scaledPool = FrameBufferPool(maxCached: 2)
    private let framePool = FrameBufferPool(maxCached: 2)
    private var lastPicture: PlanarFrame?
    /// Frames that are in no chunk yet.
    private var frames: [(slot: Int, byteCount: Int, isKey: Bool)] = []
    private var data: [UInt8] = []

    init(first picture: PlanarFrame, bitsPerSecond: Int?) throws(CodecError) {
        let size = Self.size(of: picture)
        let rate = bitsPerSecond ?? max(Self.lowestRate, size.width * size.height * Self.bitsPerPixelSecond)
        track = .init(width: size.width, height: size.height, bitsPerSecond: rate)
        encoder = try VPXEncoder(settings: .init(codec: .vp9, bitsPerSecond: rate, threads: 1, speed: 9))
    }

    /// Encodes the first picture of a chunk that begins at `start`. Up to it, or all along, the one before it is shown; where none
    /// is, it is shown from the start.
    func begin(_ picture: PlanarFrame?, slot: Int, chunkStart start: Int) throws(CodecError) {
        guard let lastPicture else {
            if let picture { try append(picture, slot: start) }
            return
        }
        if picture == nil || slot > start { try encode(lastPicture, slot: start, isKey: true) }
        if let picture { try append(picture, slot: slot) }
    }

    func append(_ picture: PlanarFrame, slot: Int) throws(CodecError) {
        guard let fitted = fit(picture) else { throw CodecError(.invalidArgument, function: "PictureEncoder.fit") }
        lastPicture = fitted
        try encode(fitted, slot: slot, isKey: frames.isEmpty)
    }

    var isEmpty: Bool { frames.isEmpty }

    /// All frames; the last one is shown up to `end`.
    func takeRun(upTo end: Int) -> FragmentedMP4Writer.Run {
        var run = FragmentedMP4Writer.Run(
            decodeTime: UInt64((frames.first?.slot ?? 0) * RecordingGrid.ticksPerSlot), samples: [], data: data)
        run.samples.reserveCapacity(frames.count)
        for (index, frame) in frames.enumerated() {
            let next = index + 1 < frames.count ? frames[index + 1].slot : end
            run.samples.append(
                .init(
                    byteCount: frame.byteCount, duration: UInt32((next - frame.slot) * RecordingGrid.ticksPerSlot),
                    isSync: frame.isKey))
        }
        frames.removeAll(keepingCapacity: true)
        data.removeAll(keepingCapacity: false)
        return run
    }

    private func encode(_ picture: PlanarFrame, slot: Int, isKey: Bool) throws(CodecError) {
        var picture = picture
        picture.rtpTimestamp = UInt32(truncatingIfNeeded: slot * 90_000 / RecordingGrid.slotsPerSecond)
        guard let frame = try encoder.encode(picture, forceKeyFrame: isKey, pool: framePool) else { return }
        frames.append((slot, frame.bytes.count, frame.isKeyFrame))
        data.append(contentsOf: frame.bytes.buffer)
    }

    private func fit(_ picture: PlanarFrame) -> PlanarFrame? {
        if picture.width == track.width, picture.height == track.height { return picture }
        return PixelConverter.fit(picture, width: track.width, height: track.height, pool: scaledPool)
    }

    /// Even sides, and within 1080p.
    private static func size(of picture: PlanarFrame) -> (width: Int, height: Int) {
        let longer = Double(max(picture.width, picture.height))
        let shorter = Double(min(picture.width, picture.height))
        let scale = min(1, longestSide / longer, longestShorterSide / shorter)
        func side(_ full: Int) -> Int { max(2, scale < 1 ? Int(Double(full) * scale) & ~1 : full) }
        return (side(picture.width), side(picture.height))
    }

    private static let longestSide = 1920.0
    private static let longestShorterSide = 1080.0
    /// A tenth of a bit for each pixel of 30 pictures a second.
    private static let bitsPerPixelSecond = 3
    private static let lowestRate = 150_000
}
