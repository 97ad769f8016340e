import Foundation
import Reactor
import ReactorTesting

/// One thing that an app does. `run` is what it would write; `model` is the server it talks to here.
protocol Example: Sendable {
    static var name: String { get }
    static var summary: String { get }
    static var model: any LocalModel { get }
    /// - Parameter configuration: leads to the server.
    /// - Throws: what went wrong; ``NotSeen`` when the server did not do what the example shows.
    static func run(_ configuration: ReactorConfiguration) async throws
}

/// What an example was to see and did not.
struct NotSeen: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Runs an example by its name, against a server in this process or, with `--url`, another.
@main struct Examples {
    static let all: [any Example.Type] = [
        ReceiveVideo.self, CommandsAndMessages.self, PublishCamera.self, SoundBothWays.self, UploadFile.self, ClipToFile.self,
        ReconnectByHand.self, ReconnectByPolicy.self, FrameLoopOnMainActor.self, SessionInScope.self, UnitTest.self, CameraPipe.self,
        FrameMetadata.self,
    ]

    static var names: [String] { all.map { $0.name } }

    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.first, let example = all.first(where: { $0.name == name }) else {
            print("Examples NAME [--url URL]: what an app writes, run against a server in this process or at a URL\n")
            for example in all { print("  " + example.name.padding(to: 22) + example.summary) }
            exit(arguments.isEmpty || ["--help", "-h"].contains(arguments.first) ? 0 : 2)
        }
        do {
            if let flag = arguments.firstIndex(of: "--url"), flag + 1 < arguments.endIndex {
                var configuration = ReactorConfiguration()
                configuration.apiURL = arguments[flag + 1]
                configuration.local = true
                try await example.run(configuration)
            } else {
                try await runEmbedded(example)
            }
        } catch {
            print("failed: \(error)")
            exit(1)
        }
    }

    /// Starts the example's model in this process, and runs the example against it.
    static func runEmbedded(_ example: any Example.Type) async throws {
        try await runEmbedded(example, serving: example.model)
    }

    private static func runEmbedded(_ example: any Example.Type, serving model: some LocalModel) async throws {
        let runtime = try await LocalRuntime(model: model)
        do {
            try await example.run(runtime.clientConfiguration)
        } catch {
            await runtime.stop()
            throw error
        }
        await runtime.stop()
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}
