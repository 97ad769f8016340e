import Foundation

/// `Peers/net-relay` in front of a runtime: a network that loses, delays, or breaks off for a while.
final class RelayProcess: Sendable {
    private let process: ChildProcess
    let url: String

    private init(process: ChildProcess, url: String) {
        self.process = process
        self.url = url
    }

    /// Runs `body` behind a relay with the given options.
    static func with<R>(_ runtime: RuntimeProcess, _ options: [String], _ body: (RelayProcess) async throws -> R) async throws -> R {
        try await with(url: runtime.url, options, body)
    }

    static func with<R>(url: String, _ options: [String], _ body: (RelayProcess) async throws -> R) async throws -> R {
        let port = TestPorts.next()
        let process = try ChildProcess("\(RuntimeProcess.peers)/net-relay", ["\(port)", url] + options)
        let relay = RelayProcess(process: process, url: "http://127.0.0.1:\(port)")
        let isUp = await Interop.eventually(within: 10) { (try? await PlainHTTP.send("GET", relay.url + "/session"))?.status == 200 }
        do {
            guard isUp else { throw ChildProcess.Failure(description: "net-relay does not answer") }
            let result = try await body(relay)
            await process.terminate()
            return result
        } catch {
            await process.terminate()
            throw error
        }
    }
}
