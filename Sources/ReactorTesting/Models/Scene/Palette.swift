/// The colours of a scene.
struct Palette: Hashable, Sendable {
    var skyTop: Colour
    var skyMiddle: Colour
    var horizon: Colour
    /// Sun or moon.
    var light: Colour
    var cloud: Colour
    var water: Colour
    var far: Colour
    var near: Colour

    init(_ plan: ScenePlan) {
        let noise = plan.noise
        let ground: (brightness: Double, haze: Double)
        switch plan.daylight {
        case .day:
            (skyTop, skyMiddle, horizon) = (Colour(0x2565BE), Colour(0x66AAE8), Colour(0xD3EAF4))
            (light, cloud, water) = (Colour(0xFFF7DC), Colour(0xFFFFFF), Colour(0x1F668F))
            ground = (0.95, 0.72)
        case .sunset:
            (skyTop, skyMiddle, horizon) = (Colour(0x2A2A66), Colour(0xB0527F), Colour(0xFFB663))
            (light, cloud, water) = (Colour(0xFFF2C0), Colour(0xFFB49A), Colour(0x3A3370))
            ground = (0.42, 0.62)
        case .night:
            (skyTop, skyMiddle, horizon) = (Colour(0x050818), Colour(0x0E1B42), Colour(0x2B4478))
            (light, cloud, water) = (Colour(0xF4F1DE), Colour(0x3C5486), Colour(0x0A1838))
            ground = (0.2, 0.6)
        case .overcast:
            (skyTop, skyMiddle, horizon) = (Colour(0x4E5A66), Colour(0x77848F), Colour(0xB7C0C4))
            (light, cloud, water) = (Colour(0xE4E6E2), Colour(0xC9CFD2), Colour(0x4A5B66))
            ground = (0.6, 0.7)
        case .dream:
            let hue = noise.unit(3)
            skyTop = Colour(hue: hue, saturation: 0.75, value: 0.32)
            skyMiddle = Colour(hue: hue + 0.08, saturation: 0.55, value: 0.72)
            horizon = Colour(hue: hue + 0.18, saturation: 0.42, value: 0.98)
            light = Colour(hue: hue + 0.22, saturation: 0.15, value: 1)
            cloud = Colour(hue: hue + 0.14, saturation: 0.25, value: 0.97)
            water = Colour(hue: hue + 0.04, saturation: 0.7, value: 0.4)
            ground = (0.6, 0.6)
        }
        if let tint = plan.skyTint {
            skyTop = skyTop.mixed(with: Colour(hue: tint, saturation: 0.8, value: 0.35), 0.6)
            skyMiddle = skyMiddle.mixed(with: Colour(hue: tint, saturation: 0.7, value: 0.75), 0.6)
            horizon = horizon.mixed(with: Colour(hue: tint, saturation: 0.4, value: 0.95), 0.5)
        }
        var soil: Colour
        switch plan.land {
        case .hills, .none: soil = Colour(0x4F8F43)
        case .mountains: soil = Colour(0x4A5A68)
        case .forest: soil = Colour(0x1F5A34)
        case .desert: soil = Colour(0xE0A050)
        case .city: soil = Colour(0x39435A)
        }
        if plan.daylight == .dream { soil = Colour(hue: noise.unit(3) + 0.5, saturation: 0.55, value: 0.6) }
        if let tint = plan.landTint { soil = soil.mixed(with: Colour(hue: tint, saturation: 0.65, value: 0.7), 0.7) }
        if plan.weather == .snow { soil = soil.mixed(with: Colour(0xEEF4FA), 0.75) }
        // The light of the hour falls on the ground as well.
        near = soil.scaled(ground.brightness).mixed(with: skyTop, 0.18)
        far = near.mixed(with: horizon, plan.land == .desert ? ground.haze * 0.55 : ground.haze)
    }

    /// The most telling ones, for messages.
    var hexTexts: [String] { [skyTop, skyMiddle, horizon, light, near, water].map(\.hexText) }
}
