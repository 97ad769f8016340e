internal import Foundation
internal import Reactor

/// The command line, written on the public API alone.
@main
struct ReactorCLI {
    static func main() async {
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        exit(status)
    }

    /// Off the main actor: a hop per frame to the main thread would be measured as latency.
    @concurrent
    static func run(_ arguments: [String]) async -> Int32 {
        do {
            var arguments = Arguments(arguments)
            guard let name = try arguments.takeCommand() else {
                if arguments.takeFlag("--version") {
                    print(ReactorSDK.version)
                    return 0
                }
                print(Help.overview)
                return arguments.takeFlag("--help") || arguments.takeFlag("-h") ? 0 : 2
            }
            let wantsHelp = arguments.takeFlag("--help") || arguments.takeFlag("-h")
            switch name {
            case "watch":
                if wantsHelp { return show(Help.watch) }
                return try await WatchCommand(&arguments).run()
            case "send":
                if wantsHelp { return show(Help.send) }
                return try await SendCommand(&arguments).run()
            case "push":
                if wantsHelp { return show(Help.push) }
                return try await PushCommand(&arguments).run()
            case "upload":
                if wantsHelp { return show(Help.upload) }
                return try await UploadCommand(&arguments).run()
            case "clip":
                if wantsHelp { return show(Help.clip) }
                return try await ClipCommand(&arguments).run()
            case "record":
                if wantsHelp { return show(Help.record) }
                return try await RecordCommand(&arguments).run()
            case "demo":
                if wantsHelp { return show(Help.demo) }
                return try await DemoCommand(&arguments).run()
            case "serve":
                if wantsHelp { return show(Help.serve) }
                return try await ServeCommand(&arguments).run()
            case "schema":
                if wantsHelp { return show(Help.schema) }
                return try await SchemaCommand(&arguments).run()
            case "help":
                return show(Help.page(arguments.nextPositional()))
            default:
                throw UsageError("there is no command '\(name)'")
            }
        } catch let error as UsageError {
            Terminal.error("reactor: \(error.message)\n'reactor --help' lists the commands and options.")
            return 2
        } catch let error as ReactorError {
            Terminal.error("reactor: \(error.code.rawValue): \(error.message)")
            return 1
        } catch let error as CommandFailure {
            Terminal.error("reactor: \(error.message)")
            return 1
        } catch is CancellationError {
            Terminal.error("reactor: interrupted")
            return 1
        } catch {
            Terminal.error("reactor: \(error)")
            return 1
        }
    }

    private static func show(_ text: String) -> Int32 {
        print(text)
        return 0
    }
}

/// A command line that cannot be understood: exit code 2.
struct UsageError: Error {
    let message: String
    init(_ message: String) { self.message = message }
}

/// A failure of the command itself, outside the library: exit code 1.
struct CommandFailure: Error {
    let message: String
    init(_ message: String) { self.message = message }
}
