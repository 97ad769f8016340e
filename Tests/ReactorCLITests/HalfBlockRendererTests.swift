import Testing

@testable import ReactorCLI

@Suite struct HalfBlockRendererTests {
    typealias Size = HalfBlockRenderer.Size

    private func picture(_ width: Int, _ height: Int, _ colour: (Int, Int) -> (UInt8, UInt8, UInt8)) -> [UInt8] {
        var pixels: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                let (red, green, blue) = colour(x, y)
                pixels += [blue, green, red, 255]
            }
        }
        return pixels
    }

    private func draw(_ renderer: inout HalfBlockRenderer, _ pixels: [UInt8], _ width: Int, _ height: Int, _ available: Size) -> String {
        pixels.withUnsafeBytes { String(decoding: renderer.draw($0, width: width, height: height, in: available), as: UTF8.self) }
    }

    @Test("a picture is fitted into the terminal with its aspect ratio, a cell being two pixels high")
    func fit() {
        #expect(HalfBlockRenderer.fit(width: 640, height: 360, in: Size(columns: 80, rows: 50)) == Size(columns: 80, rows: 23))
        #expect(HalfBlockRenderer.fit(width: 640, height: 360, in: Size(columns: 200, rows: 18)) == Size(columns: 64, rows: 18))
        #expect(HalfBlockRenderer.fit(width: 1, height: 10_000, in: Size(columns: 80, rows: 24)) == Size(columns: 1, rows: 24))
        #expect(HalfBlockRenderer.fit(width: 640, height: 360, in: Size(columns: 0, rows: 24)) == nil)
        #expect(HalfBlockRenderer.fit(width: 640, height: 360, in: Size(columns: 80, rows: -1)) == nil)
        #expect(HalfBlockRenderer.fit(width: 0, height: 360, in: Size(columns: 80, rows: 24)) == nil)
    }

    @Test("each cell has the upper pixel as foreground and the lower one as background")
    func cells() {
        let pixels = picture(2, 2) { x, y in y == 0 ? (255, 0, 0) : (0, 0, UInt8(100 + 100 * x)) }
        var renderer = HalfBlockRenderer()
        let text = draw(&renderer, pixels, 2, 2, Size(columns: 2, rows: 1))
        #expect(
            text
                == "\u{1B}[0m\u{1B}[2J\u{1B}[1;1H\u{1B}[38;2;255;0;0m\u{1B}[48;2;0;0;100m▀\u{1B}[48;2;0;0;200m▀\u{1B}[0m")
    }

    @Test("shrinking averages, it does not pick")
    func averages() {
        let pixels = picture(8, 8) { x, y in (x + y) % 2 == 0 ? (200, 200, 200) : (0, 0, 0) }
        var renderer = HalfBlockRenderer()
        _ = draw(&renderer, pixels, 8, 8, Size(columns: 2, rows: 1))
        #expect(renderer.shown.allSatisfy { $0.top == 0x646464 && $0.bottom == 0x646464 })
    }

    @Test("the same picture costs nothing, and one changed pixel costs one cell")
    func differences() {
        var renderer = HalfBlockRenderer()
        let room = Size(columns: 4, rows: 2)
        let first = picture(4, 4) { _, _ in (10, 20, 30) }
        _ = draw(&renderer, first, 4, 4, room)
        #expect(draw(&renderer, first, 4, 4, room).isEmpty)
        #expect(draw(&renderer, picture(4, 4) { _, _ in (11, 19, 30) }, 4, 4, room).isEmpty, "nobody sees it")
        let changed = picture(4, 4) { x, y in x == 2 && y == 3 ? (250, 20, 30) : (10, 20, 30) }
        #expect(draw(&renderer, changed, 4, 4, room) == "\u{1B}[2;3H\u{1B}[38;2;10;20;30m\u{1B}[48;2;250;20;30m▀\u{1B}[0m")
        renderer.forget()
        #expect(draw(&renderer, changed, 4, 4, room).filter { $0 == "▀" }.count == 8)
    }

    @Test("a picture that is shorter than its size says is not drawn")
    func short() {
        var renderer = HalfBlockRenderer()
        #expect(draw(&renderer, Array(repeating: 0, count: 63), 4, 4, Size(columns: 4, rows: 2)).isEmpty)
        #expect(draw(&renderer, [], 0, 0, Size(columns: 4, rows: 2)).isEmpty)
    }
}
