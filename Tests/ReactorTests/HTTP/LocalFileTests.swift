import Foundation
import Testing

@testable import Reactor

@Suite("Local files") struct LocalFileTests {
    @Test("What was written is removed, and a file of that name stays; a link to one stays and leads to nothing")
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

        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path("")).sorted() }

        let plain = try write("plain")
        #expect(try names().count == 1 && !FileManager.default.fileExists(atPath: path("plain")))
        plain.remove()
        #expect(try names().isEmpty)

        try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("target"))
        try write("link").remove()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path("link")) == path("target"))
        #expect(try Data(contentsOf: folder.appending(path: "target")).isEmpty)

        try Data([9]).write(to: folder.appending(path: "name"))
        try write("name").remove()
        #expect(try Data(contentsOf: folder.appending(path: "name")) == Data([9]))
        let file = try write("name")
        #expect(try Data(contentsOf: folder.appending(path: "name")) == Data([9]))
        try file.commit(operation: "test")
        file.remove()
        #expect(try Data(contentsOf: folder.appending(path: "name")) == Data([1, 2, 3]))

        // Of two names of one file both are written to.
        try FileManager.default.linkItem(atPath: path("name"), toPath: path("other"))
        let shared = try LocalFile(writing: path("name"), operation: "test")
        try shared.write([4], operation: "test")
        try shared.commit(operation: "test")
        #expect(try Data(contentsOf: folder.appending(path: "other")) == Data([4]))
        #expect(try names() == ["link", "name", "other", "target"])
    }

    @Test("A file that may not be written to, a folder, and a place that is not there are refused, and nothing is left")
    func refusals() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "reactor-file-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["", "nowhere/clip.mp4"] {
            let error = #expect(throws: ReactorError.self) {
                _ = try LocalFile(writing: folder.appending(path: name).path(percentEncoded: false), operation: "test")
            }
            #expect(error?.code == .badRequest && error?.operation == "test")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        // Few Characters, many bytes.
        let long = String(repeating: "👩‍👩‍👧‍👦", count: 10)
        let file = try LocalFile(writing: folder.appending(path: long).path(percentEncoded: false), operation: "test")
        try file.commit(operation: "test")
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: long).path(percentEncoded: false)))
    }
}
