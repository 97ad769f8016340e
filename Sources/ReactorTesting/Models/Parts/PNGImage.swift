#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
internal import CPNG

/// Reads PNG files that clients upload, with libpng; a file is refused before memory is taken for it.
enum PNGImage {
    /// Of one picture.
    static let pixelLimit = 16_000_000

    /// - Throws: ``LocalCommandError`` with code `unsupported_image`.
    @concurrent
    static func decode(_ file: Data) async throws -> PixelImage { try decode(bytes: file) }

    static func decode(bytes file: Data) throws -> PixelImage {
        var message = [CChar](repeating: 0, count: 128)
        var (width, height) = (UInt32(0), UInt32(0))
        var isSound = file.withUnsafeBytes { file in
            cpng_read_size(file.baseAddress, file.count, &width, &height, &message, UInt32(message.count)) == 0
        }
        guard isSound else { throw refusal(text(message)) }
        let (count, isTooLarge) = Int(width).multipliedReportingOverflow(by: Int(height))
        guard !isTooLarge, count <= pixelLimit else { throw refusal("\(width) x \(height) pixels are too many") }
        let pixels = [UInt32](unsafeUninitializedCapacity: count) { buffer, filled in
            isSound = file.withUnsafeBytes { file in
                cpng_read_bgra(file.baseAddress, file.count, buffer.baseAddress, width, height, &message, UInt32(message.count)) == 0
            }
            filled = isSound ? count : 0
        }
        guard isSound, let image = PixelImage(width: Int(width), height: Int(height), pixels: pixels) else {
            throw refusal(text(message))
        }
        return image.onBlack
    }

    private static func refusal(_ reason: String) -> LocalCommandError {
        LocalCommandError(code: "unsupported_image", message: "the picture is not a PNG file that can be shown: \(reason)")
    }

    private static func text(_ message: [CChar]) -> String {
        String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
