// The demo model's state: which scene is shown, how fast it passes, what it fades from. In: commands and times. Out: pictures
// and the sound that goes with them. It knows no clock; the same calls give the same pictures.

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

struct DemoStage: Sendable {
    /// What a change fades from.
    private enum Leaving: Sendable {
        case scene(SceneArt)
        /// A change came during a fade: from the picture of that moment.
        case still([UInt32])
    }

    let width: Int
    let height: Int
    let showsCounter: Bool
    private(set) var prompt: String
    private(set) var speed = 1.0
    private(set) var backdrop: PixelImage?
    private var art: SceneArt
    private var leaving: Leaving?
    private var fadeBegan = 0.0
    /// Seconds at speed 1 until the last change of speed, and when that was.
    private var travelledBefore = 0.0
    private var speedSince = 0.0
    private var painter = ScenePainter()
    /// The scene that fades out.
    private var scratch: [UInt32]

    init(prompt: String, width: Int, height: Int, showsCounter: Bool) {
        self.prompt = prompt
        self.width = width
        self.height = height
        self.showsCounter = showsCounter
        art = SceneArt(plan: ScenePlan(prompt: prompt), width: width, height: height)
        scratch = [UInt32](repeating: 0, count: width * height)
    }

    var plan: ScenePlan { art.plan }
    var palette: Palette { art.palette }

    func travelled(at time: Double) -> Double { travelledBefore + speed * max(0, time - speedSince) }

    mutating func setSpeed(_ value: Double, at time: Double) {
        travelledBefore = travelled(at: time)
        speedSince = max(time, speedSince)
        speed = max(0, min(Self.fastest, value))
    }

    /// Shows another scene, after a fade. `art` is made outside, because that takes longer than a picture.
    mutating func show(_ art: SceneArt, prompt: String, backdrop: PixelImage?, at time: Double) {
        guard art.width == width, art.height == height else { return }
        if leaving != nil, time - fadeBegan < Self.fadeSeconds {
            var still = [UInt32](repeating: 0, count: width * height)
            still.withUnsafeMutableBytes { paintScene(at: time, on: Canvas($0, width: width, height: height)) }
            leaving = .still(still)
        } else {
            leaving = .scene(self.art)
        }
        fadeBegan = time
        self.art = art
        self.prompt = prompt
        self.backdrop = backdrop
    }

    /// The picture of `time`, with its number.
    mutating func paint(number: Int, milliseconds: Int, at time: Double, on canvas: Canvas) {
        paintScene(at: time, on: canvas)
        paintCaption(on: canvas)
        if showsCounter { CounterBlocks.paint(number: number, milliseconds: milliseconds, on: canvas) }
    }

    /// The chord of the scene: its own root, higher when the scene is faster, quiet when it stands.
    var sound: ChordTone.Target {
        let steps = [0.0, 2, 4, 7, 9]
        let step = steps[plan.noise.under(steps.count, 40)] + (speed - 1) * 3
        return ChordTone.Target(
            root: 130.81 * exp2(step / 12), isMinor: plan.daylight == .night || plan.daylight == .overcast,
            loudness: 0.35 + 0.65 * min(1, speed))
    }

    private mutating func paintScene(at time: Double, on canvas: Canvas) {
        let moment = SceneMoment(time: time, travelled: travelled(at: time))
        painter.paint(art, at: moment, on: canvas)
        guard let leaving else { return }
        let share = (time - fadeBegan) / Self.fadeSeconds
        guard share < 1 else {
            self.leaving = nil
            return
        }
        let weight = UInt32(256 * (1 - share * share * (3 - 2 * share)))
        switch leaving {
        case .scene(let art):
            scratch.withUnsafeMutableBytes { bytes in
                let old = Canvas(bytes, width: width, height: height)
                painter.paint(art, at: moment, on: old)
                canvas.blend(old, weight: weight)
            }
        case .still(let pixels):
            canvas.blend(pixels, weight: weight)
        }
    }

    private func paintCaption(on canvas: Canvas) {
        let scale = max(1, height / 180)
        let margin = 8 * scale
        let space = max(1, (width - 2 * margin) / (BitmapFont.advance * scale))
        let line = prompt.split(whereSeparator: \.isNewline).joined(separator: " ")
        let text = line.count <= space ? line : line.prefix(max(0, space - 1)) + "…"
        let bottom = height - margin - BitmapFont.height * scale
        BitmapFont.draw(text, x: margin, y: bottom, scale: scale, on: canvas)
        if speed != 1 {
            let tenths = Int((speed * 10).rounded())
            let label = "×\(tenths / 10).\(tenths % 10)"
            BitmapFont.draw(
                label, x: width - margin - BitmapFont.width(of: label, scale: scale), y: bottom - 10 * scale, scale: scale, on: canvas)
        }
    }

    static let fadeSeconds = 1.2
    static let fastest = 4.0
}
