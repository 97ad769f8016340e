import Foundation
import Testing

@testable import Reactor

@Suite("Local files") struct LocalFileTests {
    @Test("A file that was written is removed; a link to one stays and leads to nothing, and a file that took its name stays")
    func removal() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "reactor-file-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }
        func write(_ name: String) throws -> LocalFile {
            let file = try LocalFile(writing: path(name), operation: "test")
            try file.write([1, 2, 3], operation: "test")
            return file
        }

        try write("plain").remove()
        #expect(!FileManager.default.fileExists(atPath: path("plain")))

        try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("target"))
        try write("link").remove()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path("link")) == path("target"))
        #expect(try Data(contentsOf: folder.appending(path: "target")).isEmpty)

        let file = try write("name")
        try FileManager.default.removeItem(atPath: path("name"))
        try Data([9]).write(to: folder.appending(path: "name"))
        file.remove()
        #expect(try Data(contentsOf: folder.appending(path: "name")) == Data([9]))
    }
}
