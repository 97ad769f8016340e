// What moves by itself: water with its reflections and waves, rain and snow.

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension ScenePainter {
    func paintWater(_ art: SceneArt, _ light: SceneLight, _ moment: SceneMoment, _ canvas: Canvas) {
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
        _ y: Int, _ share: Double, _ light: SceneLight, _ moment: SceneMoment, _ pixel: UInt32, _ art: SceneArt, _ canvas: Canvas
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

    func paintRain(_ art: SceneArt, _ moment: SceneMoment, _ canvas: Canvas) {
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

    func paintSnow(_ art: SceneArt, _ moment: SceneMoment, _ canvas: Canvas) {
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
