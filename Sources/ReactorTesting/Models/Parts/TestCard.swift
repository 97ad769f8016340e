/// A still picture that says what is missing: bars in the usual colours, and a line of text.
enum TestCard {
    static func paint(_ text: String, on canvas: Canvas) {
        let bars: [UInt32] = [0xFFBF_BFBF, 0xFFBF_BF00, 0xFF00_BFBF, 0xFF00_BF00, 0xFFBF_00BF, 0xFFBF_0000, 0xFF00_00BF]
        let wide = canvas.width / bars.count + 1
        for (index, pixel) in bars.enumerated() {
            canvas.fill(x: index * wide, y: 0, width: wide, height: canvas.height, pixel)
        }
        let scale = max(1, canvas.height / 120)
        let tall = BitmapFont.height * scale
        canvas.fill(x: 0, y: canvas.height / 2 - tall, width: canvas.width, height: tall * 3, 0xFF10_1010)
        let left = max(0, (canvas.width - BitmapFont.width(of: text, scale: scale)) / 2)
        BitmapFont.draw(text, x: left, y: canvas.height / 2, scale: scale, on: canvas)
    }
}
