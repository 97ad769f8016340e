// Draws one picture of a scene: sky, stars, light, clouds, far land, water, near land, weather, from back to front. The same
// moment gives the same picture. Each part is one pass over its rows; nothing is allocated per picture.

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// When a picture is, and how far the scene has travelled until then.
struct SceneMoment: Hashable, Sendable {
    /// Seconds since the scene began.
    var time: Double
    /// Seconds at speed 1.
    var travelled: Double
}

struct ScenePainter: Sendable {
    /// Scratch: the skyline of the layer being drawn, in 1/256 of a row by column.
    private var tops: [Int32] = []
    private var caps: [Int32] = []
    /// Scratch: one row of weights.
    private var weights: [UInt32] = []
    /// One turn of a sine, 0...255.
    private let wave: [UInt32] = (0..<256).map { UInt32((127.5 + 127.5 * sin(Double($0) * .pi / 128)).rounded()) }
    /// By the square of the distance, how bright the sky is around the light.
    private let glow: [UInt32] = (0..<256).map { place in
        let near = 1 - (Double(place) / 255).squareRoot()
        return UInt32(near * near * 200)
    }

    /// - Precondition: the canvas has the size of the art.
    mutating func paint(_ art: SceneArt, at moment: SceneMoment, on canvas: Canvas) {
        precondition(canvas.width == art.width && canvas.height == art.height)
        if tops.count != art.width {
            tops = [Int32](repeating: 0, count: art.width)
            caps = tops
            weights = [UInt32](repeating: 0, count: art.width)
        }
        let light = Light(art, moment)
        paintSky(art, canvas)
        paintStars(art, moment, canvas)
        if !art.hasBackdrop { paintLight(light, art, canvas) }
        paintClouds(art, moment, canvas)
        for (index, layer) in art.farLayers.enumerated() {
            let covered = art.farLayers.dropFirst(index + 1).map(\.lowest).min() ?? canvas.height
            paint(layer, until: covered, travelled: moment.travelled, on: canvas)
        }
        if art.plan.hasWater { paintWater(art, light, moment, canvas) } else { fillGround(art, canvas) }
        for (index, layer) in art.nearLayers.enumerated() {
            let covered = art.nearLayers.dropFirst(index + 1).map(\.lowest).min() ?? canvas.height
            paint(layer, until: covered, travelled: moment.travelled, on: canvas)
        }
        switch art.plan.weather {
        case .clear: break
        case .rain: paintRain(art, moment, canvas)
        case .snow: paintSnow(art, moment, canvas)
        }
    }

    private func paintSky(_ art: SceneArt, _ canvas: Canvas) {
        art.sky.withUnsafeBufferPointer { sky in
            for y in 0..<art.horizon {
                canvas.row(y).update(from: sky.baseAddress! + y * art.width, count: art.width)
            }
        }
    }

    private func fillGround(_ art: SceneArt, _ canvas: Canvas) {
        let pixel = art.palette.far.pixel
        // What the layers in front do not cover.
        let end = min(canvas.height, art.nearLayers.map(\.lowest).min() ?? canvas.height)
        for y in art.horizon..<max(art.horizon, end) where y * 256 >= Int(art.farLayers.first?.skyline.max() ?? 0) {
            canvas.fillRow(y, pixel)
        }
    }

    private func paintStars(_ art: SceneArt, _ moment: SceneMoment, _ canvas: Canvas) {
        for star in art.stars {
            let twinkle = wave[Int((moment.time * 0.4 + star.phase) * 256) & 255]
            let height = UInt32(256 - 200 * star.y / max(1, art.horizon))
            canvas.blend(x: star.x, y: star.y, 0xFFFF_FFFF, weight: (90 + twinkle / 2) * height >> 8)
            if star.isLarge {
                canvas.fill(x: star.x, y: star.y, width: 2, height: 2, 0xFFFF_FFFF, weight: (60 + twinkle / 2) * height >> 8)
            }
        }
    }

    private func paintLight(_ light: Light, _ art: SceneArt, _ canvas: Canvas) {
        guard light.strength > 0 else { return }
        let pixel = art.palette.light.pixel
        let scale = 255 * 256 / (light.reach * light.reach)
        let columns = max(0, Int(light.x - light.reach))..<max(0, min(canvas.width, Int(light.x + light.reach)))
        let strength = UInt32(light.strength * 256)
        glow.withUnsafeBufferPointer { glow in
            for y in max(0, Int(light.y - light.reach))..<max(0, min(art.horizon, Int(light.y + light.reach))) {
                let row = canvas.row(y)
                let down = (Double(y) - light.y) * (Double(y) - light.y)
                for x in columns {
                    let across = Double(x) - light.x
                    let place = Int((across * across + down) * scale) >> 8
                    if place < 256 { row[x] = Canvas.mix(row[x], pixel, glow[place] &* strength >> 8) }
                }
            }
        }
        let disc = Int(light.radius) + 2
        for y in Int(light.y) - disc...Int(light.y) + disc where y < art.horizon {
            for x in Int(light.x) - disc...Int(light.x) + disc {
                let distance = ((Double(x) - light.x) * (Double(x) - light.x) + (Double(y) - light.y) * (Double(y) - light.y)).squareRoot()
                let cover = max(0, min(1, light.radius + 0.5 - distance)) * light.strength
                if cover > 0 { canvas.blend(x: x, y: y, pixel, weight: UInt32(cover * 256)) }
            }
        }
    }

    private mutating func paintClouds(_ art: SceneArt, _ moment: SceneMoment, _ canvas: Canvas) {
        guard !art.clouds.isEmpty else { return }
        let pixel = art.palette.cloud.pixel
        let width = art.width
        func offset(_ speed: Double) -> Int {
            let turns = (moment.time * 0.004 + moment.travelled * 0.01) * speed
            return min(width - 1, Int((turns - turns.rounded(.down)) * Double(width)))
        }
        let (first, second) = (offset(1), offset(1.7))
        let share: UInt32 = art.hasBackdrop ? 80 : 256
        art.clouds.withUnsafeBufferPointer { clouds in
            for y in 0..<art.horizon {
                let row = canvas.row(y)
                let upper = clouds.baseAddress! + y * 2 * width + first
                let lower = clouds.baseAddress! + y * 2 * width + (second + width / 3) % width
                for x in 0..<width {
                    let weight = (UInt32(upper[x]) &* (160 &+ UInt32(lower[x]) / 3)) >> 8
                    row[x] = Canvas.mix(row[x], pixel, weight &* share >> 8)
                }
            }
        }
    }

    private mutating func paint(_ layer: LandLayer, until covered: Int, travelled: Double, on canvas: Canvas) {
        let width = canvas.width
        let shift = layer.shift(travelled: travelled, width: width)
        place(layer.skyline, shift: shift, period: layer.period, into: &tops)
        let end = min(layer.settings.end, covered, canvas.height)
        let lowest = Int(tops.max() ?? 0)
        let (top, bottom) = (layer.settings.top.pixel, layer.settings.bottom.pixel)
        let span = max(1, layer.settings.end - layer.highest)
        tops.withUnsafeBufferPointer { tops in
            for y in layer.highest..<max(layer.highest, end) {
                let pixel = Canvas.mix(top, bottom, UInt32(256 * (y - layer.highest) / span))
                if y * 256 >= lowest {
                    canvas.fillRow(y, pixel)
                    continue
                }
                let row = canvas.row(y)
                let line = Int32(y + 1) * 256
                for x in 0..<width { row[x] = Canvas.mix(row[x], pixel, UInt32(max(0, min(256, line &- tops[x])))) }
            }
        }
        if let cap = layer.settings.cap { paintCap(layer, cap.pixel, shift: shift, end: end, on: canvas) }
        if let window = layer.settings.window {
            let pixel = window.pixel
            for window in layer.windows where window.y < end {
                var x = window.x - (shift >> 8)
                if x <= -window.width { x += layer.period }
                canvas.fill(x: x, y: window.y, width: window.width, height: window.height, pixel, weight: window.weight)
            }
        }
    }

    private mutating func paintCap(_ layer: LandLayer, _ pixel: UInt32, shift: Int, end: Int, on canvas: Canvas) {
        place(layer.capEnd, shift: shift, period: layer.period, into: &caps)
        let lowest = min(end, Int(caps.max() ?? 0) / 256 + 1)
        for y in layer.highest..<max(layer.highest, lowest) {
            let row = canvas.row(y)
            let line = Int32(y + 1) * 256
            for x in 0..<canvas.width {
                let inside = max(0, min(256, line &- tops[x]))
                let above = max(0, min(256, caps[x] &- line &+ 256))
                row[x] = Canvas.mix(row[x], pixel, UInt32(inside &* above >> 8))
            }
        }
    }

    /// A piece of a line that repeats, from `shift` (1/256 pixels) on.
    private func place(_ line: [Int32], shift: Int, period: Int, into target: inout [Int32]) {
        let share = Int32(shift & 255)
        var source = shift >> 8
        line.withUnsafeBufferPointer { line in
            for x in target.indices {
                target[x] = (line[source] &* (256 &- share) &+ line[source + 1] &* share) >> 8
                source += 1
                if source == period { source = 0 }
            }
        }
    }
}

extension ScenePainter {
    private mutating func paintWater(_ art: SceneArt, _ light: Light, _ moment: SceneMoment, _ canvas: Canvas) {
        let depth = canvas.height - art.horizon
        let (water, crest, shine) = (art.palette.water.pixel, art.palette.horizon.pixel, art.palette.light.pixel)
        let time = moment.time * 0.6 + moment.travelled * 0.5
        let width = canvas.width
        let scale = Double(canvas.height) / 360
        for y in art.horizon..<canvas.height {
            let distance = y - art.horizon
            let share = Double(distance) / Double(depth)
            // The sky upside down, torn sideways by the waves.
            let source = max(0, art.horizon - 1 - distance * (art.horizon - 1) / depth)
            let crowding = 90 / (Double(distance) / scale + 8)
            let sway = Int(scale * (1 + 9 * share) * sin(crowding * 9 + time * 2.2))
            let (row, sky) = (canvas.row(y), canvas.row(source))
            let weight = UInt32(70 + 130 * share)
            let (left, right) = (max(0, -sway), width - max(0, sway))
            for x in 0..<left { row[x] = Canvas.mix(sky[0], water, weight) }
            for x in left..<max(left, right) { row[x] = Canvas.mix(sky[x + sway], water, weight) }
            for x in max(left, right)..<width { row[x] = Canvas.mix(sky[width - 1], water, weight) }
            // Crests, long and thin far out, longer and slower near.
            let step = 256 * 256 / (1 + Int(Double(width) * (0.05 + 0.22 * share)))
            let waves = SceneNoise(seed: UInt64(distance * 3 / (3 + 9 * distance / depth)))
            var first = Int(waves.unit(0) * 65_536 + time * 52 * 256) & 0xFFFF
            var second = Int(waves.unit(1) * 65_536 - time * 37 * 256) & 0xFFFF
            wave.withUnsafeBufferPointer { wave in
                for x in 0..<width {
                    let height = wave[first >> 8] &+ wave[second >> 8]
                    first = (first &+ step) & 0xFFFF
                    second = (second &+ step &+ step >> 2 &+ step >> 3) & 0xFFFF
                    row[x] = Canvas.mix(row[x], crest, height > 400 ? (height &- 400) >> 1 : 0)
                }
            }
            glitter(y, share, light, moment, shine, art, canvas)
        }
    }

    private func glitter(
        _ y: Int, _ share: Double, _ light: Light, _ moment: SceneMoment, _ pixel: UInt32, _ art: SceneArt, _ canvas: Canvas
    ) {
        guard light.strength > 0.3, !art.hasBackdrop else { return }
        let reach = light.radius * (0.5 + 1.8 * share)
        let noise = SceneNoise(seed: UInt64(bitPattern: Int64(moment.time * 7)) &* 0x1000 &+ UInt64(y))
        for dash in 0..<3 {
            let place = light.x + (noise.unit(dash * 2) + noise.unit(dash * 2 + 1) - 1) * reach * 1.6
            let length = max(1, Int(light.radius * (0.15 + 0.55 * share * noise.unit(dash + 10))))
            let weight = UInt32(light.strength * (170 - 90 * share) * (0.4 + 0.6 * noise.unit(dash + 20)))
            canvas.fill(x: Int(place) - length / 2, y: y, width: length, height: 1, pixel, weight: weight)
        }
    }

    private func paintRain(_ art: SceneArt, _ moment: SceneMoment, _ canvas: Canvas) {
        let tall = Double(canvas.height)
        let pixel = art.palette.horizon.mixed(with: Colour(0xFFFFFF), 0.5).pixel
        for drop in art.drops {
            let length = tall * (0.02 + 0.04 * drop.size)
            let fallen = drop.y + moment.time * (1.1 + 0.8 * drop.size)
            let y = (fallen - fallen.rounded(.down)) * (tall + length) - length
            let turns = drop.x + fallen.rounded(.down) * 0.37
            let x = (turns - turns.rounded(.down)) * Double(canvas.width) * 1.1 - y * 0.12
            for step in 0..<Int(length) {
                canvas.blend(x: Int(x - Double(step) * 0.12), y: Int(y) + step, pixel, weight: UInt32(30 + 70 * drop.size))
            }
        }
    }

    private func paintSnow(_ art: SceneArt, _ moment: SceneMoment, _ canvas: Canvas) {
        for drop in art.drops {
            let fallen = drop.y + moment.time * (0.07 + 0.12 * drop.size)
            let drift = drop.x + 0.012 * sin(moment.time * 1.3 + drop.x * 40) - moment.travelled * (0.02 + 0.06 * drop.size)
            let size = 1 + Int(drop.size * Double(canvas.height) / 150)
            canvas.fill(
                x: Int((drift - drift.rounded(.down)) * Double(canvas.width)),
                y: Int((fallen - fallen.rounded(.down)) * Double(canvas.height)),
                width: size, height: size, 0xFFFF_FFFF, weight: UInt32(110 + 110 * drop.size))
        }
    }
}

/// Where the sun or the moon stands.
private struct Light {
    let x: Double
    let y: Double
    let radius: Double
    /// How far its glow reaches.
    let reach: Double
    let strength: Double

    init(_ art: SceneArt, _ moment: SceneMoment) {
        let (height, size, glow, strength): (Double, Double, Double, Double)
        switch art.plan.daylight {
        case .day: (height, size, glow, strength) = (0.42, 0.05, 0.5, 1)
        case .sunset: (height, size, glow, strength) = (0.8, 0.085, 0.75, 1)
        case .night: (height, size, glow, strength) = (0.5, 0.055, 0.35, 0.9)
        case .overcast: (height, size, glow, strength) = (0.45, 0.05, 0.5, 0.25)
        case .dream: (height, size, glow, strength) = (0.6, 0.1, 0.6, 0.9)
        }
        let tall = Double(art.height)
        // A slow arc, once in four minutes.
        let turn = moment.time * 2 * .pi / 240
        x = Double(art.width) * (0.66 + 0.08 * sin(turn))
        y = Double(art.horizon) * (height + 0.05 * cos(turn))
        radius = tall * size
        reach = tall * glow
        self.strength = strength
    }
}
