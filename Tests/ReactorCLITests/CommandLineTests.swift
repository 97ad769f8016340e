import Foundation
import Testing

/// The program itself, as users start it: exit codes, output, files.
@Suite("Command line", .serialized, .timeLimit(.minutes(3)))
struct CommandLineTests {
    private struct Ending {
        var status: Int32
        var output: String
        var errors: String

        var object: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(output.utf8))) as? [String: Any] ?? [:]
        }
        func number(_ key: String) -> Double { (object[key] as? NSNumber)?.doubleValue ?? .nan }
    }

    /// Beside the test bundle.
    private static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("reactor")

    private static func process(_ arguments: [String]) -> (process: Process, output: Pipe, errors: Pipe) {
        let (process, output, errors) = (Process(), Pipe(), Pipe())
        process.executableURL = program
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        return (process, output, errors)
    }

    /// Runs it to its end. On a thread of its own: nothing here may hold the pool of tasks.
    private static func run(_ arguments: String...) async throws -> Ending { try await run(arguments) }

    private static func run(_ arguments: [String]) async throws -> Ending {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                let (process, output, errors) = process(arguments)
                do { try process.run() } catch { return continuation.resume(throwing: error) }
                // Little enough for a pipe: the one that is read second does not stop the program.
                let text = output.fileHandleForReading.readDataToEndOfFile()
                let complaints = errors.fileHandleForReading.readDataToEndOfFile()
                process.waitUntilExit()
                continuation.resume(
                    returning: Ending(
                        status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
                        errors: String(decoding: complaints, as: UTF8.self)))
            }
        }
    }

    private static func firstLine(of handle: FileHandle) async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var bytes: [UInt8] = []
                while !bytes.contains(UInt8(ascii: "\n")) {
                    let more = handle.availableData
                    if more.isEmpty { break }
                    bytes += more
                }
                continuation.resume(returning: String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
            }
        }
    }

    private static func withDirectory(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("reactor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory)
    }

    @Test("demo streams between a runtime and a client of its own, and leaves a picture and a recording")
    func demo() async throws {
        try await Self.withDirectory { directory in
            let ending = try await Self.run("demo", "--seconds", "2", "--size", "320x180", "--json", "--output", directory.path)
            #expect(ending.status == 0, "\(ending.errors)")
            #expect(ending.object["status"] as? String == "ok")
            #expect(ending.number("frames") > 20 && ending.number("width") == 320 && ending.number("height") == 180)
            #expect(ending.number("commands") > 0 && ending.number("audio_seconds") > 0.5)
            let picture = try Data(contentsOf: directory.appendingPathComponent("demo.png"))
            #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
            let recording = try Data(contentsOf: directory.appendingPathComponent("demo.mp4"))
            #expect(recording.dropFirst(4).starts(with: Array("ftyp".utf8)) && recording.count > 10_000)
        }
    }

    @Test("serve tells its URL; watch, send and schema work against it; an interrupt ends it with 0")
    func serve() async throws {
        let (server, output, _) = Self.process(["serve", "--port", "0", "--model", "probe", "--size", "320x180", "--no-recording"])
        try server.run()
        defer { if server.isRunning { server.terminate() } }
        let line = await Self.firstLine(of: output.fileHandleForReading)
        let url = line.split(separator: " ").last.map(String.init) ?? ""
        #expect(url.hasPrefix("http://127.0.0.1:"))
        try await Self.withDirectory { directory in
            let file = directory.appendingPathComponent("frame.png")
            let watched = try await Self.run("watch", "--url", url, "--seconds", "1", "--json", "--snapshot", file.path)
            #expect(watched.status == 0, "\(watched.errors)")
            #expect(watched.number("frames") > 10 && watched.number("width") == 320)
            #expect(try Data(contentsOf: file).starts(with: [0x89, 0x50, 0x4E, 0x47]))
        }
        let schema = try await Self.run("schema", "--url", url)
        #expect(schema.status == 0 && schema.output.contains("set_prompt"))
        let sent = try await Self.run("send", "set_prompt", #"{"prompt": "rain"}"#, "--url", url)
        #expect(sent.status == 0 && sent.output.contains("rain"))
        let refused = try await Self.run("send", "no_such_command", "--url", url)
        #expect(refused.status == 1 && refused.errors.contains("invalid_command"))
        server.interrupt()
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                server.waitUntilExit()
                continuation.resume()
            }
        }
        #expect(server.terminationReason == .exit && server.terminationStatus == 0)
    }

    @Test("a wrong command line is told on standard error with 2, a server that is not there with 1")
    func failures() async throws {
        for words in [["wach"], ["watch", "--seconds"], ["serve", "--model", "nope"], ["demo", "--frames", "3"]] {
            let ending = try await Self.run(words)
            #expect(ending.status == 2 && ending.output.isEmpty && ending.errors.hasPrefix("reactor: "), "\(words): \(ending.errors)")
        }
        let missing = try await Self.run("watch", "--url", "http://127.0.0.1:9", "--seconds", "1")
        #expect(missing.status == 1 && missing.errors.contains("127.0.0.1"), "\(missing.errors)")
    }
}
