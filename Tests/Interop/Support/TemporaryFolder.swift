import Foundation

/// A folder for one test, removed with it.
final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "reactor-interop-\(UInt64.random(in: 0 ... .max))")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String) -> URL { url.appending(path: name) }
    func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name).path) }
}
