#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Where the sun or the moon stands.
struct SceneLight {
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
