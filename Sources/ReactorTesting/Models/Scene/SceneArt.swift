// Everything of a scene that does not move, made once for a prompt and a size: the sky, the skylines, the clouds, the places of
// stars and drops. `ScenePainter` draws pictures from it.

struct SceneArt: Sendable {
    struct Star: Sendable {
        var x: Int
        var y: Int
        var phase: Double
        var isLarge: Bool
    }

    let plan: ScenePlan
    let palette: Palette
    let width: Int
    let height: Int
    /// The first row below the sky.
    let horizon: Int
    /// The sky's rows, from the top to the horizon.
    let sky: [UInt32]
    let hasBackdrop: Bool
    /// How opaque the clouds are, 0...255, a period of one picture, each row twice so that a scrolled one is a piece of it.
    let clouds: [UInt8]
    let stars: [Star]
    /// Behind the water, or all of them.
    let farLayers: [LandLayer]
    let nearLayers: [LandLayer]
    let drops: [(x: Double, y: Double, size: Double)]

    init(plan: ScenePlan, width: Int, height: Int, backdrop: PixelImage? = nil) {
        self.plan = plan
        self.width = width
        self.height = height
        let palette = plan.palette
        self.palette = palette
        let noise = plan.noise
        let horizon = max(1, height * 31 / 50)
        self.horizon = horizon
        hasBackdrop = backdrop != nil
        sky = Self.sky(palette, backdrop, width: width, rows: horizon)
        clouds = plan.cloudiness > 0 ? Self.clouds(plan.cloudiness, width: width, rows: horizon, noise: noise.branch(20)) : []
        let starNoise = noise.branch(21)
        let wantsStars = plan.daylight == .night || plan.daylight == .dream
        stars = (0..<(wantsStars ? min(400, 40 + width / 4) : 0)).map { index in
            Star(
                x: starNoise.under(width, index * 4), y: starNoise.under(horizon, index * 4 + 1), phase: starNoise.unit(index * 4 + 2),
                isLarge: starNoise.unit(index * 4 + 3) < 0.15 && width >= 320)
        }
        (farLayers, nearLayers) = Self.layers(plan, palette, width: width, height: height, horizon: horizon)
        let dropNoise = noise.branch(22)
        let dropCount = plan.weather == .clear ? 0 : (plan.weather == .rain ? 260 : 220)
        drops = (0..<dropCount).map { (dropNoise.unit($0 * 3), dropNoise.unit($0 * 3 + 1), dropNoise.unit($0 * 3 + 2)) }
    }

    private static func sky(_ palette: Palette, _ backdrop: PixelImage?, width: Int, rows: Int) -> [UInt32] {
        var pixels = [UInt32](repeating: 0, count: width * rows)
        let picture = backdrop?.covering(width: width, height: rows)
        for y in 0..<rows {
            let share = Double(y) / Double(max(1, rows - 1))
            let colour =
                share < 0.55
                ? palette.skyTop.mixed(with: palette.skyMiddle, share / 0.55)
                : palette.skyMiddle.mixed(with: palette.horizon, (share - 0.55) / 0.45)
            let pixel = colour.pixel
            // A backdrop melts into the horizon.
            let weight = UInt32(max(0, min(256, 256 - 512 * (share - 0.62))))
            for x in 0..<width {
                let place = y * width + x
                pixels[place] = if let picture { Canvas.mix(pixel, picture[place], weight) } else { pixel }
            }
        }
        return pixels
    }

    private static func clouds(_ amount: Double, width: Int, rows: Int, noise: SceneNoise) -> [UInt8] {
        var alpha = [UInt8](repeating: 0, count: width * 2 * rows)
        // Lattices of random heights, smoothed between: wide cells far up, flat ones at the horizon.
        let octaves: [(cells: Int, rows: Double, gain: Double)] = [(5, 3, 0.5), (11, 7, 0.28), (23, 15, 0.15), (47, 31, 0.07)]
        let lattices = octaves.map { octave in
            (0..<octave.cells * (Int(octave.rows) + 2)).map { noise.branch(octave.cells).unit($0) }
        }
        var line = [Double](repeating: 0, count: width)
        for y in 0..<rows {
            let height = Double(y) / Double(rows)
            let stretch = height * (1 + height) / 2
            for x in 0..<width { line[x] = 0 }
            for (octave, lattice) in zip(octaves, lattices) {
                let v = stretch * octave.rows
                let top = Int(v)
                let down = smooth(v - Double(top))
                let step = Double(octave.cells) / Double(width)
                for x in 0..<width {
                    let u = Double(x) * step
                    let left = min(octave.cells - 1, Int(u))
                    let right = left + 1 == octave.cells ? 0 : left + 1
                    let across = smooth(u - Double(left))
                    let (upper, lower) = (top * octave.cells, (top + 1) * octave.cells)
                    let above = lattice[upper + left] + (lattice[upper + right] - lattice[upper + left]) * across
                    let below = lattice[lower + left] + (lattice[lower + right] - lattice[lower + left]) * across
                    line[x] += octave.gain * (above + (below - above) * down)
                }
            }
            let threshold = 0.72 - 0.42 * amount
            let fade = min(1, (1 - height) * 5)
            for x in 0..<width {
                let value = UInt8(max(0, min(1, (line[x] - threshold) * 4)) * fade * (120 + 110 * amount))
                alpha[y * width * 2 + x] = value
                alpha[y * width * 2 + width + x] = value
            }
        }
        return alpha
    }

    private static func smooth(_ share: Double) -> Double { share * share * (3 - 2 * share) }

    private static func layers(
        _ plan: ScenePlan, _ palette: Palette, width: Int, height: Int, horizon: Int
    ) -> (far: [LandLayer], near: [LandLayer]) {
        let tall = Double(height)
        let line = Double(horizon)
        func layer(
            _ number: Int, _ shape: LandLayer.Shape, base: Double, rise: Double, speed: Double, haze: Double, end: Int? = nil,
            capped: Bool = false, lit: Bool = false
        ) -> LandLayer {
            let top = palette.near.mixed(with: palette.far, haze)
            let isDark = plan.daylight == .night || plan.daylight == .sunset || plan.daylight == .overcast
            return LandLayer(
                .init(
                    shape: shape, base: base, rise: rise * tall, speed: speed, top: top,
                    bottom: top.mixed(with: haze > 0.3 ? palette.horizon : palette.near.scaled(0.55), 0.4), end: end ?? height,
                    cap: capped ? Colour(0xF4F8FF).mixed(with: top, 0.2 + 0.3 * haze) : nil,
                    window: lit ? (isDark ? Colour(0xFFD98A) : palette.skyMiddle.mixed(with: Colour(0xFFFFFF), 0.4)) : nil),
                width: width, height: height, noise: plan.noise.branch(30 + number))
        }
        let style: (far: LandLayer.Shape, near: LandLayer.Shape)
        switch plan.land {
        case .hills: style = (.rolling, .rolling)
        case .mountains: style = (.ridges, .rolling)
        case .forest: style = (.ridges, .conifers)
        case .desert: style = (.dunes, .dunes)
        case .city: style = (.skyline, .skyline)
        case .none: style = (.islands, .rolling)
        }
        let isPeaked = plan.land == .mountains || plan.land == .forest
        let farRise = isPeaked ? 0.36 : plan.land == .city ? 0.3 : plan.land == .none ? 0.1 : 0.17
        if plan.hasWater {
            var far = [layer(0, style.far, base: line + 2, rise: farRise, speed: 0.012, haze: 0.85, end: horizon, capped: isPeaked)]
            if plan.land != .none {
                let rise = plan.land == .city ? 0.3 : 0.12
                far.append(
                    layer(1, style.near, base: line + 1, rise: rise, speed: 0.03, haze: 0.45, end: horizon, lit: plan.land == .city))
            }
            let shore =
                plan.land == .none
                ? [] : [layer(3, plan.land == .forest ? .conifers : .rolling, base: tall * 1.02, rise: 0.11, speed: 0.22, haze: 0)]
            return (far, shore)
        }
        let nearest: LandLayer.Shape = plan.land == .city ? .rolling : style.near
        return (
            [layer(0, style.far, base: line + 0.02 * tall, rise: farRise, speed: 0.012, haze: 0.9, capped: isPeaked)],
            [
                layer(
                    1, style.near, base: tall * 0.74, rise: plan.land == .city ? 0.42 : 0.2, speed: 0.035, haze: 0.55,
                    lit: plan.land == .city),
                layer(
                    2, style.near, base: tall * 0.88, rise: plan.land == .city ? 0.42 : 0.2, speed: 0.09, haze: 0.25,
                    lit: plan.land == .city),
                layer(3, nearest, base: tall * 1.02, rise: 0.17, speed: 0.24, haze: 0),
            ]
        )
    }
}
