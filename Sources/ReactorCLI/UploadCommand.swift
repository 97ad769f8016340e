internal import Foundation
internal import Reactor

/// `reactor upload`: one file into the session, and a command with it.
struct UploadCommand {
    private let connection: Connection
    private let file: String
    private let name: String?
    private let type: String?
    private let command: String?
    private let argument: String
    private let arguments: JSONValue?
    private let isJSON: Bool

    init(_ words: inout Arguments) throws {
        connection = try Connection(&words)
        name = try words.takeOption("--name")
        type = try words.takeOption("--type")
        command = try words.takeOption("--command")
        let argument = try words.takeOption("--argument")
        let text = try words.takeOption("--data")
        isJSON = words.takeFlag("--json")
        guard let file = words.nextPositional() else { throw UsageError("say which file: reactor upload FILE") }
        self.file = file
        try words.requireEmpty()
        if command == nil, argument != nil || text != nil { throw UsageError("--argument and --data belong to a --command") }
        if command != nil, argument == nil { throw UsageError("--command needs --argument NAME: the parameter that takes the file") }
        self.argument = argument ?? ""
        arguments = try text.map(SendCommand.parseObject)
    }

    func run() async throws -> Int32 {
        let line = ProgressLine(isQuiet: isJSON)
        do {
            let (ref, reply, seconds) = try await Session.run(connection) { reactor in
                let start = Reactor.timeMicros()
                let ref = try await reactor.uploadFile(at: URL(filePath: file), name: name, mimeType: type) { progress in
                    let share = Double(progress.sent) / Double(max(1, progress.total))
                    let seconds = max(0.001, Double(Reactor.timeMicros() - start) / 1e6)
                    let rate = ProgressLine.size(Int(Double(progress.sent) / seconds))
                    line.show(
                        "\(ProgressLine.size(progress.sent)) of \(ProgressLine.size(progress.total))  \(rate)/s", fraction: share)
                }
                let seconds = Double(Reactor.timeMicros() - start) / 1e6
                guard let command else { return (ref, CommandReply?.none, seconds) }
                let reply = try await reactor.sendCommand(command, arguments, uploads: [argument: ref])
                return (ref, reply, seconds)
            }
            line.clear()
            var result: [String: JSONValue] = [
                "upload_id": .string(ref.uploadID), "name": .string(ref.name), "mime_type": .string(ref.mimeType),
                "size": .number(Double(ref.size)),
            ]
            if isJSON {
                result["status"] = "ok"
                result["upload_ms"] = .number((seconds * 10_000).rounded() / 10)
            }
            if command != nil { result["reply"] = reply.map(SendCommand.json) ?? .null }
            Output.json(result)
            return 0
        } catch {
            line.clear()
            if isJSON { Output.json(Output.failed(error)) }
            throw error
        }
    }
}
