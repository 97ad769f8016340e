internal import CPNG
internal import Foundation
internal import Reactor

/// Writes frames as PNG files with libpng.
enum PNGWriter {
    static func write(_ frame: VideoFrame, to path: String) throws {
        var message = [CChar](repeating: 0, count: 128)
        let status = frame.pixels.withUnsafeBytes { pixels in
            cpng_write_bgra(path, pixels.baseAddress, frame.width, frame.height, &message, UInt32(message.count))
        }
        guard status == 0 else {
            let text = String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw CommandFailure("cannot write \(path): \(text)")
        }
    }
}
