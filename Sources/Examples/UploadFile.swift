import Foundation
import Reactor
import ReactorTesting

/// Uploads a file from the disk, and names it in a command.
enum UploadFile: Example {
    static let name = "upload"
    static let summary = "upload a file with progress, and use it in a command"
    static var model: any LocalModel { Weigher() }

    /// A model that says how many bytes a file has.
    struct Weigher: LocalModel {
        let tracks = [LocalTrack("main_video", kind: .video, direction: .recvonly)]
        let commands: [LocalCommand]? = [LocalCommand("weigh", "Counts bytes.", parameters: [LocalParameter("file", .upload)])]

        func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
            let upload = try await session.upload(arguments["file"])
            return CommandReply(type: "weight", data: ["name": .string(upload.name), "bytes": .number(Double(upload.data.count))])
        }
    }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "reactor-example.bin")
        try Data(count: 5_000_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }

        let reactor = try Reactor(model: "weigher", configuration: configuration)
        try await reactor.connect()
        // It is read from the disk as it goes; it is never in memory as a whole.
        let reference = try await reactor.uploadFile(at: file, name: "holiday.bin") { progress in
            if progress.sent == progress.total { print("uploaded \(progress.total) bytes") }
        }
        let reply = try await reactor.sendCommand("weigh", uploads: ["file": reference])
        print("the model says: \(reply?.data?.jsonText ?? "nothing")")
        try await reactor.disconnect()
        guard reply?.data?["bytes"] == 5_000_000 else { throw NotSeen("the file did not arrive whole") }
    }
}
