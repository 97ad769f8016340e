import Foundation
import Testing

/// The client must not need more than one thread of the shared pool: nothing of it may block there.
@Suite(.serialized, .networkTurn) struct ClientPoolTests {
    @Test(
        "SW: connect, commands, media, loss and cancellation work with a pool of one thread",
        .enabled(if: Launcher.isUsable, "needs a way to confine a process to one processor"), .timeLimit(.minutes(3)),
        arguments: [
            "ClientConnectTests/connects", "ClientConnectTests/loses", "ClientMediaTests/blockingHandler",
            "ClientCancellationTests/command",
        ])
    func oneThread(_ filter: String) throws {
        let (status, output) = try Launcher.run(filter: filter)
        #expect(status == 0, "\(output.suffix(4000))")
        #expect(output.contains("1 test in 1 suite passed"), "\(output.suffix(4000))")
    }
}

/// Runs tests of this very executable again, in a process with one processor: the pool has as many threads as processors.
private enum Launcher {
    #if os(Linux)
        private static let taskset = "/usr/bin/taskset"
        static var isUsable: Bool { FileManager.default.isExecutableFile(atPath: taskset) && processor != nil }

        /// The first processor this process may use.
        private static var processor: String? {
            let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = status?.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
            return line?.split(separator: "\t").last?.split { $0 == "-" || $0 == "," }.first.map(String.init)
        }
    #else
        static let isUsable = true
    #endif

    static func run(filter: String) throws -> (Int32, String) {
        let process = Process()
        let arguments = ["--filter", filter, "--testing-library", "swift-testing"]
        #if os(Linux)
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            process.executableURL = URL(fileURLWithPath: taskset)
            process.arguments = ["-c", processor ?? "0", program] + arguments
        #else
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            process.arguments = arguments
        #endif
        var environment = ProcessInfo.processInfo.environment
        environment["LIBDISPATCH_COOPERATIVE_POOL_STRICT"] = "1"
        process.environment = environment
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
