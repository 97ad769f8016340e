import Foundation
import PeerTestSupport
import Reactor
import Synchronization
import Testing

@testable import ReactorTesting

/// Rules of api.md that need a model at the other end.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ClientModelRuleTests {
    /// A model that knows one command of its own and tells everybody when it was given.
    private struct OneCommand: LocalModel {
        let tracks: [LocalTrack]
        let command: String
        var commands: [LocalCommand]? {
            [
                LocalCommand(
                    command, parameters: [LocalParameter("deep", .object), LocalParameter("name", .string(maxLength: nil, oneOf: []))])
            ]
        }

        func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
            try await session.send(["type": .string("\(command) heard"), "data": arguments])
            return CommandReply(type: "\(command) done", data: arguments)
        }
    }

    @Test("R-1 one client type works with any model: commands by name with JSON, events back as JSON")
    func anyModel() async throws {
        let models = [
            OneCommand(tracks: [LocalTrack("sky", kind: .video, direction: .recvonly)], command: "set_weather"),
            OneCommand(tracks: [LocalTrack("voice", kind: .audio, direction: .sendonly)], command: "transcribe"),
            OneCommand(tracks: [], command: "noop"),
        ]
        for model in models {
            try await withRuntime(model, { $0.recordsSessions = false }) { runtime in
                let client = try await runtime.connectedClient()
                let heard = SharedList<JSONValue>()
                let subscription = client.onMessage { heard.append($0) }
                let payload: JSONValue = ["deep": ["list": [1, "two", true, nil]], "name": .string(model.command)]
                let reply = try await client.sendCommand(model.command, payload)
                #expect(reply == CommandReply(type: "\(model.command) done", data: payload))
                // What the model said by itself, and its reply, which is a message as well.
                let events: [JSONValue] = ["heard", "done"].map { ["type": .string("\(model.command) \($0)"), "data": payload] }
                #expect(await eventually { heard.all == events }, "\(heard.all)")
                #expect(client.tracks.map(\.name) == model.tracks.map(\.name))
                let schema = try await client.requestSchema()
                #expect(schema["paths"]?["/events/\(model.command)"] != nil)
                try await client.disconnect()
                subscription.cancel()
            }
        }
    }

    /// A model that tells what a file holds.
    private struct FileReader: LocalModel {
        let tracks: [LocalTrack] = []
        let commands: [LocalCommand]? = [LocalCommand("read", parameters: [LocalParameter("file", .upload)])]

        func handle(_ command: String, _ arguments: JSONValue, in session: LocalSession) async throws -> CommandReply? {
            let file = try await session.upload(arguments["file"])
            return CommandReply(
                type: file.mimeType, data: ["name": .string(file.name), "text": .string(String(decoding: file.data, as: UTF8.self))])
        }
    }

    @Test("R-43, R-45 what was uploaded, from a file or as bytes, is a FileRef that a command takes, with the same result")
    func uploads() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "reactor-rule-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "note.txt")
        try Data("hello".utf8).write(to: file)
        try await withRuntime(FileReader(), { $0.recordsSessions = false }) { runtime in
            let client = try await runtime.connectedClient()
            let one = try await client.uploadFile(at: file)
            let other = try await client.uploadData(Data("hello".utf8), name: "note.txt", mimeType: "text/plain")
            #expect(one.uploadID != other.uploadID)
            #expect([one.name, one.mimeType, "\(one.size)"] == [other.name, other.mimeType, "\(other.size)"])
            for reference in [one, other] {
                let reply = try await client.sendCommand("read", uploads: ["file": reference])
                #expect(reply == CommandReply(type: "text/plain", data: ["name": "note.txt", "text": "hello"]))
            }
            try await client.disconnect()
        }
    }

    @Test("T-35, T-36, T-37 without a trailer the number and the time are 0 and there is no user data; with one they are the sender's")
    func trailers() async throws {
        let model = TestModel { session in
            var isTagged = false
            while true {
                try await session.pushVideo(
                    greyFrame(
                        isTagged ? 200 : 50, userData: isTagged ? Data("tag".utf8) : nil, captureTimeUs: isTagged ? 77_000_000 : nil),
                    to: "main_video")
                isTagged.toggle()
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        try await withRuntime(model, { $0.recordsSessions = false }) { runtime in
            let client = try await runtime.connectedClient()
            let track = try client.track("main_video")
            let plain = try await track.videoFrames.first(within: .seconds(10)) { abs($0.grey - 50) < 8 }
            #expect(plain?.frameID == 0 && plain?.captureTimeUs == 0)
            #expect(plain != nil && plain?.userData == nil)
            let first = try #require(try await track.videoFrames.first(within: .seconds(10)) { $0.userData != nil })
            let second = try #require(
                try await track.videoFrames.first(within: .seconds(10)) { $0.userData != nil && $0.frameID != first.frameID })
            #expect(first.captureTimeUs == 77_000_000 && second.captureTimeUs == 77_000_000)
            #expect(first.frameID > 0 && second.frameID > first.frameID)
            #expect(first.userData == Data("tag".utf8))
            try await client.disconnect()
        }
    }
}

/// A model without a single track.
private struct Mute: LocalModel {
    let tracks: [LocalTrack] = []
}

@Suite struct TracklessSessionTests {
    @Test("R-60, R-61 a session that declares no tracks has none: a name is refused when it is ready, and waiting for one ends")
    func none() async throws {
        let runtime = try await LocalRuntime(model: Mute())
        let client = try Reactor(model: "mute", runtime: runtime)
        #expect(throws: Never.self) { try client.track("main_video") }
        let waiting = Task { try await client.waitForTrack("main_video", timeout: .seconds(60)) }
        try await client.connect()
        let error = #expect(throws: ReactorError.self) { try client.track("main_video") }
        #expect(error?.code == .notFound && error?.message.contains("declares none") == true)
        await #expect(throws: ReactorError.self) { try await waiting.value }
        try await client.disconnect()
        await runtime.stop()
    }
}
