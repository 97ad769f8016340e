// One silhouette of the landscape: a skyline that repeats after two pictures and moves with its own speed, so that what is
// near passes faster than what is far.

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

struct LandLayer: Sendable {
    enum Shape: Sendable { case rolling, ridges, dunes, conifers, skyline, islands }

    struct Settings: Sendable {
        var shape: Shape
        /// Where its lowest point is and how far it rises above, in pixels.
        var base: Double
        var rise: Double
        /// Picture widths per second at speed 1.
        var speed: Double
        var top: Colour
        var bottom: Colour
        /// Rows from here on are not this layer's.
        var end: Int
        /// Snow on what is high.
        var cap: Colour?
        /// Lit windows of a skyline.
        var window: Colour?
    }

    struct Window: Sendable {
        var x: Int
        var y: Int
        var width: Int
        var height: Int
        var weight: UInt32
    }

    let settings: Settings
    let period: Int
    /// The skyline in 1/256 of a row, for one period, the first value again at the end.
    let skyline: [Int32]
    /// Where the snow ends, in the same places.
    let capEnd: [Int32]
    let highest: Int
    /// The first row that the layer covers from side to side.
    let lowest: Int
    let windows: [Window]

    init(_ settings: Settings, width: Int, height: Int, noise: SceneNoise) {
        self.settings = settings
        period = width * 2
        var tops = (0..<period).map { x in
            settings.base - settings.rise * Self.rise(settings.shape, Double(x) / Double(width * 2), noise)
        }
        var windows: [Window] = []
        switch settings.shape {
        case .conifers: Self.plant(&tops, rise: settings.rise, noise: noise.branch(9))
        case .skyline: windows = Self.build(&tops, settings, height: height, noise: noise.branch(8))
        default: break
        }
        self.windows = windows
        highest = max(0, Int(tops.min()!))
        lowest = Int(tops.max()!.rounded(.up)) + 1
        let line = tops + [tops[0]]
        skyline = line.map { Int32(max(-1, min(Double(height), $0)) * 256) }
        if settings.cap != nil {
            let ragged = noise.branch(7)
            capEnd = line.indices.map { index in
                let limit =
                    settings.base - settings.rise
                    * (0.52 + 0.2 * ragged.line(Double(index) / Double(width * 2), cells: 61, isSmooth: false))
                return Int32(max(-1, min(Double(height), limit)) * 256)
            }
        } else {
            capEnd = []
        }
    }

    /// From 0 to 1.
    private static func rise(_ shape: Shape, _ turn: Double, _ noise: SceneNoise) -> Double {
        func octave(_ cells: Int, _ smooth: Bool) -> Double { noise.branch(cells).line(turn, cells: cells, isSmooth: smooth) }
        switch shape {
        case .rolling, .conifers: return 0.62 * octave(7, true) + 0.28 * octave(15, true) + 0.1 * octave(34, true)
        case .ridges: return 0.5 * octave(9, false) + 0.27 * octave(21, false) + 0.15 * octave(47, false) + 0.08 * octave(113, false)
        case .dunes: return 0.7 * octave(5, true) + 0.3 * octave(11, false)
        case .skyline: return 0
        case .islands: return max(0, 1.8 * (0.7 * octave(6, true) + 0.3 * octave(29, false)) - 0.8)
        }
    }

    private static func plant(_ tops: inout [Double], rise: Double, noise: SceneNoise) {
        let ground = tops
        let size = max(4, rise * 0.75)
        var x = 0.0
        var tree = 0
        while Int(x) < tops.count {
            let tall = size * (0.55 + 0.75 * noise.unit(tree * 2))
            let half = max(1.5, tall * 0.24)
            for place in Int((x - half).rounded(.up))...Int(x + half) {
                let index = (place + tops.count) % tops.count
                let share = 1 - abs(Double(place) - x) / half
                // Branches in steps.
                let steps = (share * 5).rounded(.up) / 5 * 0.55 + share * 0.45
                tops[index] = min(tops[index], ground[Int(x)] - tall * max(0, steps))
            }
            x += half * (0.7 + 1.1 * noise.unit(tree * 2 + 1))
            tree += 1
        }
    }

    private static func build(_ tops: inout [Double], _ settings: Settings, height: Int, noise: SceneNoise) -> [Window] {
        var windows: [Window] = []
        let unit = max(1, Int((settings.rise / 40).rounded()))
        var x = 0
        var house = 0
        while x < tops.count {
            let source = noise.branch(house)
            let wide = min(tops.count - x, Int(settings.rise * (0.18 + 0.28 * source.unit(0))) + 3 * unit)
            let tall = settings.rise * (0.3 + 0.7 * source.unit(1) * source.unit(2))
            let top = (settings.base - tall).rounded()
            for place in x..<x + wide { tops[place] = top }
            if settings.window != nil {
                for (row, y) in stride(from: Int(top) + 3 * unit, to: settings.end - 2 * unit, by: 4 * unit).enumerated() where y < height {
                    for (column, left) in stride(from: x + 2 * unit, to: x + wide - 3 * unit, by: 4 * unit).enumerated() {
                        let chance = source.unit(100 + row * 64 + column)
                        guard chance < 0.5 else { continue }
                        windows.append(
                            Window(x: left, y: y, width: 2 * unit, height: 2 * unit, weight: UInt32(100 + chance * 300)))
                    }
                }
            }
            // An alley.
            x += wide + (source.unit(3) < 0.3 ? unit : 0)
            house += 1
        }
        return windows
    }

    /// Pixels by which the layer has moved, in 1/256, within one period.
    func shift(travelled: Double, width: Int) -> Int {
        let pixels = travelled * settings.speed * Double(width)
        let period = Double(period)
        let wrapped = pixels - (pixels / period).rounded(.down) * period
        return max(0, min(self.period * 256 - 1, Int(wrapped * 256)))
    }
}
