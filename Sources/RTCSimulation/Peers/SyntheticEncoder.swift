// A video encoder without pictures: frames whose sizes behave as those of a real-time encoder do. It follows the rate it is
// told, on average, with noise from frame to frame; key frames and changes of scene are bigger and the frames after them
// smaller; it makes a key frame when asked, skips frames while the sender is congested, and gives up picture size when bits
// get short. In: rate, requests, time by calling. Out: `EncodedFrame`s with a number inside, for the other end to check.

package import RTCBase

package struct SyntheticEncoder: Sendable {
    package struct Settings: Sendable {
        package var codec: VideoCodec = .vp9
        package var framesPerSecond = 30
        package var width = 1_280
        package var height = 720
        /// The most it makes at first, whatever it is told.
        package var maxBitsPerSecond: Int64 = 40_000_000
        /// Of a frame's size, at most this share up or down.
        package var noise = 0.35
        /// A key frame against a mean frame.
        package var keyFrameFactor = 4.0
        /// Chance that a frame begins another scene, which costs as much as a key frame.
        package var sceneChange = 1.0 / 450

        package init() {}
    }

    package let settings: Settings
    package private(set) var bitsPerSecond: Int64 = 0
    package var maxBitsPerSecond: Int64
    package private(set) var isCongested = false
    /// Index into `steps`.
    package private(set) var step = 0
    package private(set) var framesMade = 0
    package private(set) var framesSkipped = 0
    package private(set) var keyFramesMade = 0
    package private(set) var stepChanges = 0

    private var wantsKeyFrame = true
    /// Bytes made beyond what the rate allowed; the next frames pay for them.
    private var debtBytes = 0.0
    /// Frames since the step changed.
    private var framesAtStep = 0
    private var generator: SplitMix64
    private let pool: FrameBufferPool

    package init(_ settings: Settings, seed: UInt64, pool: FrameBufferPool) {
        self.settings = settings
        self.pool = pool
        maxBitsPerSecond = settings.maxBitsPerSecond
        generator = SplitMix64(seed: seed)
    }

    package mutating func setRate(bitsPerSecond rate: Int64) { bitsPerSecond = rate }
    package mutating func requestKeyFrame() { wantsKeyFrame = true }
    package mutating func setCongested(_ on: Bool) { isCongested = on }

    /// The share of width and of height that is encoded.
    package var scale: Double { Self.steps[step] }

    /// The next picture, encoded; nil when it is skipped.
    package mutating func makeFrame(rtpTimestamp: UInt32, now: MonotonicTime) -> EncodedFrame? {
        guard !isCongested, bitsPerSecond > 0 else {
            framesSkipped += 1
            // A skipped frame costs nothing: its share pays the debt.
            debtBytes = max(0, debtBytes - meanBytes)
            return nil
        }
        chooseStep()
        let isKeyFrame = wantsKeyFrame
        wantsKeyFrame = false
        let count = frameBytes(isKeyFrame: isKeyFrame)
        let bytes = pool.take(capacity: max(count, Self.headCount))
        let number = UInt64(framesMade)
        let head = SyntheticFrame.bytes(number: number, codec: settings.codec, isKeyFrame: isKeyFrame, count: 0)
        _ = bytes.append(head.span.bytes)
        if count > head.count {
            let rest = UnsafeMutableRawBufferPointer(start: bytes.base + head.count, count: count - head.count)
            rest.initializeMemory(as: UInt8.self, repeating: Self.filler(number))
            bytes.setCount(count)
        }
        framesMade += 1
        if isKeyFrame { keyFramesMade += 1 }
        return EncodedFrame(
            codec: settings.codec, bytes: bytes, isKeyFrame: isKeyFrame, rtpTimestamp: rtpTimestamp, ssrc: 0,
            metadata: FrameMetadata(frameID: number + 1, captureTimeMicros: UInt64(clamping: now.nanoseconds / 1_000)),
            firstPacketTime: now, completeTime: now)
    }

    /// The number inside a frame made here; nil when its head or any byte looked at is wrong.
    package static func number(of frame: MediaBytes) -> Int? {
        frame.withBytes { bytes in
            guard bytes.byteCount >= headCount else { return nil }
            let number = UInt64(bytes.uint32(at: headCount - 8)) << 32 | UInt64(bytes.uint32(at: headCount - 4))
            // Every hundredth byte and the last one: at least one of each packet.
            for offset in stride(from: headCount, to: bytes.byteCount, by: 100) where bytes.uint8(at: offset) != filler(number) {
                return nil
            }
            guard bytes.byteCount == headCount || bytes.uint8(at: bytes.byteCount - 1) == filler(number) else { return nil }
            return Int(exactly: number)
        }
    }

    private var meanBytes: Double {
        Double(min(bitsPerSecond, maxBitsPerSecond)) / 8 / Double(settings.framesPerSecond)
    }

    private func pixels(at step: Int) -> Double {
        Double(settings.width * settings.height) * Self.steps[step] * Self.steps[step]
    }

    private mutating func frameBytes(isKeyFrame: Bool) -> Int {
        let mean = meanBytes
        let pixels = pixels(at: step)
        // Half of one second's debt is paid back per second, as a leaky bucket of an encoder's rate control does.
        let wanted = max(mean * 0.4, mean - debtBytes / Double(settings.framesPerSecond) * 2)
        let noise = 1 + settings.noise * (generator.nextUnit() + generator.nextUnit() - 1)
        let isLarge = isKeyFrame || generator.chance(settings.sceneChange)
        let size = isLarge ? max(mean * settings.keyFrameFactor, pixels * Self.keyBytesPerPixel) : wanted
        let count = max(size * noise, pixels * Self.leastBytesPerPixel, Double(Self.headCount))
        debtBytes = min(max(debtBytes + count - mean, -mean * 2), mean * Double(settings.framesPerSecond) * 2)
        return Int(count)
    }

    /// Smaller when a pixel gets too few bits, larger when it would have enough there as well.
    private mutating func chooseStep() {
        framesAtStep += 1
        func bitsPerPixel(_ step: Int) -> Double { meanBytes * 8 / pixels(at: step) }
        let old = step
        while step + 1 < Self.steps.count, bitsPerPixel(step) < Self.fewBitsPerPixel { step += 1 }
        if step == old, step > 0, framesAtStep > settings.framesPerSecond * 2, bitsPerPixel(step - 1) > Self.enoughBitsPerPixel {
            step -= 1
        }
        guard step != old else { return }
        framesAtStep = 0
        stepChanges += 1
        // VP8 begins anew with each size; VP9 scales its references.
        if settings.codec == .vp8 { wantsKeyFrame = true }
    }

    private static func filler(_ number: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: number &* 0x9E37_79B9 >> 8) }

    package static let steps = [1, 0.75, 0.5, 0.375, 0.25]
    private static let fewBitsPerPixel = 0.025
    private static let enoughBitsPerPixel = 0.04
    /// What the coarsest quantizer leaves of a key frame and of a frame in which little moves.
    private static let keyBytesPerPixel = 0.015
    private static let leastBytesPerPixel = 0.0006
    private static let headCount = 18
}
