/// A colour of the scene, red, green and blue from 0 to 1.
struct Colour: Hashable, Sendable {
    var red: Double
    var green: Double
    var blue: Double

    init(red: Double, green: Double, blue: Double) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// As in `0x2F6FC4`.
    init(_ hex: UInt32) {
        self.init(red: Double(hex >> 16 & 0xFF) / 255, green: Double(hex >> 8 & 0xFF) / 255, blue: Double(hex & 0xFF) / 255)
    }

    /// Hue in turns, the others from 0 to 1.
    init(hue: Double, saturation: Double, value: Double) {
        func channel(_ shift: Double) -> Double {
            let place = (hue + shift / 6 - ((hue + shift / 6).rounded(.down))) * 6
            return value - value * saturation * max(0, min(min(place, 4 - place), 1))
        }
        self.init(red: channel(5), green: channel(3), blue: channel(1))
    }

    func mixed(with other: Colour, _ share: Double) -> Colour {
        Colour(
            red: red + (other.red - red) * share, green: green + (other.green - green) * share,
            blue: blue + (other.blue - blue) * share)
    }

    func scaled(_ factor: Double) -> Colour { Colour(red: red * factor, green: green * factor, blue: blue * factor) }

    var pixel: UInt32 {
        func byte(_ value: Double) -> UInt32 { UInt32(max(0, min(255, (value * 255).rounded()))) }
        return 0xFF00_0000 | byte(red) << 16 | byte(green) << 8 | byte(blue)
    }

    /// `#rrggbb`.
    var hexText: String {
        let digits = Array("0123456789abcdef")
        return "#" + stride(from: 20, through: 0, by: -4).map { String(digits[Int(pixel >> UInt32($0) & 0xF)]) }.joined()
    }
}
