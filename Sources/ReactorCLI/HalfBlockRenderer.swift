// Pictures for a terminal: every character cell is an upper half block, whose foreground is one pixel and whose background
// the pixel below. In: BGRA pixels and the size of the terminal. Out: bytes to write. No IO here.

/// Turns pictures into terminal output, writing only the cells that changed since the picture before.
struct HalfBlockRenderer {
    /// One character: the colours of its upper and lower half as 0xRRGGBB.
    struct Cell: Equatable {
        var top: UInt32
        var bottom: UInt32
    }

    /// How many cells a picture takes.
    struct Size: Equatable {
        var columns: Int
        var rows: Int
    }

    private(set) var size = Size(columns: 0, rows: 0)
    /// What the terminal shows, row by row.
    private(set) var shown: [Cell] = []

    /// The largest size within `available` that keeps the aspect ratio; a cell is twice as high as it is wide. Nil when there
    /// is no room or no picture.
    static func fit(width: Int, height: Int, in available: Size) -> Size? {
        guard width > 0, height > 0, available.columns > 0, available.rows > 0 else { return nil }
        let columns = min(available.columns, maxSide)
        let pixelRows = min(available.rows, maxSide) * 2
        let fitted =
            columns * height <= pixelRows * width
            ? (columns, columns * height / width) : (pixelRows * width / height, pixelRows)
        return Size(columns: max(1, fitted.0), rows: max(1, (fitted.1 + 1) / 2))
    }

    /// What to write so that the terminal shows the picture, from its upper left corner.
    ///
    /// - Parameter pixels: B, G, R, A bytes without padding; nothing is drawn when they are fewer than the size says.
    mutating func draw(_ pixels: UnsafeRawBufferPointer, width: Int, height: Int, in available: Size) -> [UInt8] {
        guard let fitted = Self.fit(width: width, height: height, in: available), pixels.count / 4 / width >= height else { return [] }
        var out: [UInt8] = []
        if fitted != size {
            size = fitted
            // No colour has the upper bits, so every cell differs.
            shown = Array(repeating: Cell(top: .max, bottom: .max), count: fitted.columns * fitted.rows)
            out += Self.clear
        }
        var pen = Pen()
        for row in 0..<fitted.rows {
            for column in 0..<fitted.columns {
                let cell = Cell(
                    top: Self.average(pixels, width, height, column: column, row: row * 2, of: fitted),
                    bottom: Self.average(pixels, width, height, column: column, row: row * 2 + 1, of: fitted))
                let index = row * fitted.columns + column
                if Self.looksSame(cell, shown[index]) { continue }
                shown[index] = cell
                pen.put(cell, column: column, row: row, into: &out)
            }
        }
        if !out.isEmpty { out += Self.plain }
        return out
    }

    /// The next picture is drawn whole, as after somebody else wrote to the terminal.
    mutating func forget() { size = Size(columns: 0, rows: 0) }

    // MARK: - Cells

    /// The mean of at most 4 by 4 pixels spread over the part of the picture that this half of a cell covers.
    private static func average(
        _ pixels: UnsafeRawBufferPointer, _ width: Int, _ height: Int, column: Int, row: Int, of size: Size
    ) -> UInt32 {
        let lines = size.rows * 2
        let (left, right) = (column * width / size.columns, max(column * width / size.columns + 1, (column + 1) * width / size.columns))
        let (top, bottom) = (row * height / lines, max(row * height / lines + 1, (row + 1) * height / lines))
        let stepX = max(1, (right - left) / 4)
        let stepY = max(1, (bottom - top) / 4)
        var (red, green, blue, count) = (0, 0, 0, 0)
        var y = top
        while y < bottom {
            var x = left
            while x < right {
                let offset = (y * width + x) * 4
                blue += Int(pixels[offset])
                green += Int(pixels[offset + 1])
                red += Int(pixels[offset + 2])
                count += 1
                x += stepX
            }
            y += stepY
        }
        return UInt32(red / count) << 16 | UInt32(green / count) << 8 | UInt32(blue / count)
    }

    /// Differences that nobody sees are not worth thirty bytes a cell.
    private static func looksSame(_ one: Cell, _ other: Cell) -> Bool {
        looksSame(one.top, other.top) && looksSame(one.bottom, other.bottom)
    }

    private static func looksSame(_ one: UInt32, _ other: UInt32) -> Bool {
        for shift: UInt32 in [0, 8, 16, 24] where abs(Int(one >> shift & 0xFF) - Int(other >> shift & 0xFF)) > 2 { return false }
        return true
    }

    /// Where the terminal's cursor is and which colours it has.
    private struct Pen {
        private var position: (column: Int, row: Int)?
        private var foreground: UInt32?
        private var background: UInt32?

        mutating func put(_ cell: Cell, column: Int, row: Int, into out: inout [UInt8]) {
            if position?.column != column || position?.row != row { out += "\u{1B}[\(row + 1);\(column + 1)H".utf8 }
            if foreground != cell.top { out += Self.colour(38, cell.top).utf8 }
            if background != cell.bottom { out += Self.colour(48, cell.bottom).utf8 }
            (foreground, background) = (cell.top, cell.bottom)
            out += "▀".utf8
            position = (column + 1, row)
        }

        private static func colour(_ layer: Int, _ value: UInt32) -> String {
            "\u{1B}[\(layer);2;\(value >> 16 & 0xFF);\(value >> 8 & 0xFF);\(value & 0xFF)m"
        }
    }

    private static let clear = Array("\u{1B}[0m\u{1B}[2J".utf8)
    private static let plain = Array("\u{1B}[0m".utf8)
    /// No terminal is larger; bounds what a wrong answer about its size can cost.
    private static let maxSide = 1000
}
