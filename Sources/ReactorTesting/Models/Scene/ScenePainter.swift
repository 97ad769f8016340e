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
    let wave: [UInt32] = (0..<256).map { UInt32((127.5 + 127.5 * sin(Double($0) * .pi / 128)).rounded()) }
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
        let light = SceneLight(art, moment)
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

    private func paintLight(_ light: SceneLight, _ art: SceneArt, _ canvas: Canvas) {
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
