@testable import ReactorTesting

/// A drawn picture, for looking at.
struct Picture: Equatable {
    let width: Int
    let height: Int
    var pixels: [UInt32]

    init(width: Int, height: Int, _ paint: (Canvas) -> Void) {
        self.width = width
        self.height = height
        pixels = [UInt32](repeating: 0xFF12_3456, count: width * height)
        pixels.withUnsafeMutableBytes { paint(Canvas($0, width: width, height: height)) }
    }

    init(_ prompt: String, time: Double = 0, travelled: Double? = nil, width: Int = 160, height: Int = 90, backdrop: PixelImage? = nil) {
        let art = SceneArt(plan: ScenePlan(prompt: prompt), width: width, height: height, backdrop: backdrop)
        self.init(width: width, height: height) { canvas in
            var painter = ScenePainter()
            painter.paint(art, at: SceneMoment(time: time, travelled: travelled ?? time), on: canvas)
        }
    }

    /// Mean red, green and blue of some rows, given as shares of the height.
    func mean(_ rows: ClosedRange<Double>) -> (red: Double, green: Double, blue: Double) {
        let part = pixels[Int(rows.lowerBound * Double(height)) * width..<Int(rows.upperBound * Double(height)) * width]
        func mean(_ shift: UInt32) -> Double { part.reduce(0) { $0 + Double($1 >> shift & 0xFF) } / Double(max(1, part.count)) }
        return (mean(16), mean(8), mean(0))
    }

    func isSame(_ other: Picture, rows: ClosedRange<Double>) -> Bool {
        let range = Int(rows.lowerBound * Double(height)) * width..<Int(rows.upperBound * Double(height)) * width
        return pixels[range] == other.pixels[range]
    }

    /// The mean difference of a colour channel.
    func distance(to other: Picture) -> Double {
        var sum = 0
        for (mine, theirs) in zip(pixels, other.pixels) {
            for shift: UInt32 in [0, 8, 16] { sum += abs(Int(mine >> shift & 0xFF) - Int(theirs >> shift & 0xFF)) }
        }
        return Double(sum) / Double(pixels.count * 3)
    }
}
