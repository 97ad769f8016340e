// Which size a picture is encoded in: the pushed one, or a smaller one while bits are short, so that the frame rate holds
// and the size gives way. In: the rate the encoder may use, the pictures' size and times, and what each frame came out
// as. Out: a size. Pure: no clock, no codec. The measure is bits per pixel of a frame; the quantizer says whether few bits
// hurt at all, because an easy picture looks well with a fraction of what a hard one needs. The way back up takes more
// bits than the way down left, and longer each time that it did not last.

internal import RTCBase
internal import RTCCodec

/// Chooses among steps of 1, 3/4, 1/2, 3/8 and 1/4 of each side.
struct ResolutionAdapter: Sendable {
    struct Size: Hashable, Sendable {
        var width: Int
        var height: Int
        var pixels: Int { width * height }
    }

    /// Index into `steps`; 0 is the full size.
    private(set) var step = 0
    /// Frames per second of the pictures given, smoothed.
    private(set) var framesPerSecond = 30.0

    private let thresholds: Thresholds
    private var bitsPerSecond: Int
    private var source = Size(width: 0, height: 0)
    private var lastPicture: MonotonicTime?
    /// Of the frames at the present size, smoothed, 0...63; nil until there is one.
    private var quantizer: Double?
    /// Nothing is judged by frames before this: the first frames of a size say little.
    private var judgesFrom: MonotonicTime?
    /// Since when the present size has had too few bits, and a larger one enough.
    private var starvedSince: MonotonicTime?
    private var roomySince: MonotonicTime?
    private var lastUp: MonotonicTime?
    private var lastChange: MonotonicTime?
    private var upDelayMilliseconds = Self.firstUpDelayMilliseconds
    /// Bits made in the present second.
    private var window: (milliseconds: Double, bits: Int)?
    /// From the picture before, pushed or skipped, to the last one.
    private var intervalMilliseconds = 0.0
    private var overshoots = false

    init(codec: VideoCodec, bitsPerSecond: Int) {
        thresholds = Thresholds(codec)
        self.bitsPerSecond = bitsPerSecond
    }

    mutating func setRate(bitsPerSecond newRate: Int) { bitsPerSecond = max(1, newRate) }

    /// The size to encode the next picture in, which has come at `now` and measures `width` x `height`. `skipped` pictures came
    /// before it and were left out because the network is behind: the frame rate that is to hold counts them.
    mutating func size(forWidth width: Int, height: Int, skipped: Int = 0, now: MonotonicTime) -> Size {
        measureFrameRate(skipped: skipped, now: now)
        let pushed = Size(width: width, height: height)
        if pushed != source {
            let isFirst = source.pixels == 0
            source = pushed
            start(isFirst: isFirst, now: now)
        } else {
            decide(now: now)
        }
        return size(of: step)
    }

    /// What the encoder made of the last picture.
    mutating func onEncoded(byteCount: Int, quantizer value: Int?, isKeyFrame: Bool) {
        if let value, !isKeyFrame { quantizer = quantizer.map { $0 + (Double(value) - $0) / 8 } ?? Double(value) }
        guard let current = window else { return window = (0, byteCount * 8) }
        let elapsed = current.milliseconds + intervalMilliseconds
        guard elapsed >= 1000 else { return window = (elapsed, current.bits + byteCount * 8) }
        overshoots = Double(current.bits) > Double(bitsPerSecond) * elapsed / 1000 * Self.overshootLimit
        window = (0, byteCount * 8)
    }

    /// What an encoder makes good use of at a size, in bits per second: the default of the upper bound. At 720p more than this
    /// costs processor time and shows little.
    static func ceiling(width: Int, height: Int, framesPerSecond: Double = 30) -> Int {
        let share = Double(max(1, width * height)) / Double(1280 * 720) * max(framesPerSecond, 30) / 30
        return Int(min(max(4_000_000 * share.squareRoot(), 1_000_000), 15_000_000))
    }

    // MARK: Rules

    private mutating func start(isFirst: Bool, now: MonotonicTime) {
        forget(now: now)
        judgesFrom = now.adding(milliseconds: isFirst ? Self.firstSettleMilliseconds : Self.settleMilliseconds)
        // The first estimate of a connection is a guess and grows within a second or two: only where there is next to nothing
        // does it begin small.
        let needed = isFirst ? 0.25 : 1.0
        step = lastStep
        for candidate in 0...lastStep where bitsPerPixel(at: candidate) >= thresholds.low(pixels: size(of: candidate).pixels) * needed {
            step = candidate
            break
        }
    }

    private mutating func decide(now: MonotonicTime) {
        guard let judgesFrom, now >= judgesFrom else { return }
        if step < lastStep, isStarved {
            roomySince = nil
            let since = starvedSince ?? now
            starvedSince = since
            let isSevere = bitsPerPixel(at: step) < thresholds.low(pixels: size(of: step).pixels) / 2
            if now.milliseconds(since: since) >= (isSevere ? Self.severeDelayMilliseconds : Self.downDelayMilliseconds) {
                goDown(isSevere: isSevere, now: now)
            }
            return
        }
        starvedSince = nil
        guard step > 0, bitsPerPixel(at: step - 1) >= thresholds.high(pixels: size(of: step - 1).pixels), !overshoots else {
            return roomySince = nil
        }
        let since = roomySince ?? now
        roomySince = since
        if now.milliseconds(since: since) >= upDelayMilliseconds { goUp(now: now) }
    }

    /// Too few bits by the measure and it shows; or the quantizer is at its end, and there are fewer bits than a way up takes or
    /// more are made than allowed.
    private var isStarved: Bool {
        guard let quantizer, quantizer >= Self.poorQuantizer else { return false }
        let (bits, pixels) = (bitsPerPixel(at: step), size(of: step).pixels)
        if bits < thresholds.low(pixels: pixels) { return true }
        return quantizer >= Self.worstQuantizer && (overshoots || bits < thresholds.high(pixels: pixels))
    }

    private mutating func goDown(isSevere: Bool, now: MonotonicTime) {
        if let lastUp, now.milliseconds(since: lastUp) < Self.relapseMilliseconds {
            upDelayMilliseconds = min(upDelayMilliseconds * 2, Self.longestUpDelayMilliseconds)
        }
        step += 1
        if isSevere {
            while step < lastStep, bitsPerPixel(at: step) < thresholds.low(pixels: size(of: step).pixels) { step += 1 }
        }
        forget(now: now)
    }

    private mutating func goUp(now: MonotonicTime) {
        if let lastChange, now.milliseconds(since: lastChange) > Self.calmMilliseconds {
            upDelayMilliseconds = Self.firstUpDelayMilliseconds
        }
        step -= 1
        lastUp = now
        forget(now: now)
    }

    /// What was learned at one size says nothing about the next.
    private mutating func forget(now: MonotonicTime) {
        lastChange = now
        judgesFrom = now.adding(milliseconds: Self.settleMilliseconds)
        quantizer = nil
        starvedSince = nil
        roomySince = nil
        overshoots = false
        window = nil
    }

    private mutating func measureFrameRate(skipped: Int, now: MonotonicTime) {
        defer { lastPicture = now }
        guard let lastPicture else { return }
        intervalMilliseconds = now.milliseconds(since: lastPicture) / Double(1 + skipped)
        let interval = min(max(intervalMilliseconds / 1000, 1.0 / 240), 1)
        // Over intervals, not their inverses: a burst must not look like a high rate.
        let smoothed = 1 / framesPerSecond + (interval - 1 / framesPerSecond) / 16
        framesPerSecond = 1 / smoothed
    }

    private func bitsPerPixel(at step: Int) -> Double {
        Double(bitsPerSecond) / (max(framesPerSecond, 5) * Double(max(1, size(of: step).pixels)))
    }

    private func size(of step: Int) -> Size {
        guard step > 0 else { return source }
        return Size(
            width: VPXEncoder.side(source.width, eighths: Self.steps[step]),
            height: VPXEncoder.side(source.height, eighths: Self.steps[step]))
    }

    /// The smallest step with a picture that is still worth sending.
    private var lastStep: Int { Self.steps.indices.last { $0 == 0 || size(of: $0).pixels >= Self.fewestPixels } ?? 0 }

    /// Bits per pixel of a frame, for pictures of 1280x720. Smaller pictures have more detail in a pixel and need more.
    private struct Thresholds: Sendable {
        private let low720: Double
        private let high720: Double

        /// Near what libwebrtc asks of one stream before it sends 720p at 30 per second: 1 Mbit/s of VP8 (0.036) and
        /// 480 kbit/s of VP9 (0.017); the low end is where quantizers of moving pictures reach their limit.
        init(_ codec: VideoCodec) {
            switch codec {
            case .vp8: (low720, high720) = (0.022, 0.034)
            case .vp9: (low720, high720) = (0.014, 0.021)
            }
        }

        func low(pixels: Int) -> Double { low720 * Self.scale(pixels) }
        func high(pixels: Int) -> Double { high720 * Self.scale(pixels) }

        private static func scale(_ pixels: Int) -> Double {
            (Double(1280 * 720) / Double(max(1, pixels))).squareRoot().squareRoot()
        }
    }

    /// Eighths of each side.
    private static let steps = [8, 6, 4, 3, 2]
    private static let fewestPixels = 160 * 90
    private static let settleMilliseconds: Int64 = 500
    private static let firstSettleMilliseconds: Int64 = 2_000
    private static let downDelayMilliseconds = 1_000.0
    private static let severeDelayMilliseconds = 300.0
    private static let firstUpDelayMilliseconds = 2_000.0
    private static let longestUpDelayMilliseconds = 32_000.0
    /// A step down so soon after one up means that the step up was a mistake.
    private static let relapseMilliseconds = 10_000.0
    private static let calmMilliseconds = 60_000.0
    /// Of 63; the encoder's own limit is 56.
    private static let poorQuantizer = 44.0
    private static let worstQuantizer = 50.0
    private static let overshootLimit = 1.25
}
