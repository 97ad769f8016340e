import Foundation
import Glibc
import Synchronization

/// The vendor's runtime with the `probe` model, started and stopped by the scripts in `Peers`.
final class RuntimeProcess: Sendable {
    let pid: pid_t
    let port: UInt16
    let host: String
    var url: String { "http://\(host):\(port)" }

    /// The session id that the local runtime always uses.
    static let sessionID = "00000000-0000-0000-0000-000000000000"
    static let peers = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Peers").path

    private init(pid: pid_t, host: String, port: UInt16) {
        self.pid = pid
        self.host = host
        self.port = port
    }

    /// Starts a runtime and returns when it is ready.
    ///
    /// - Parameter environment: what the scripts and the model read: `PROBE_SIZE`, `PROBE_DETAIL`, `WEBRTC_VIDEO_CODECS`,
    ///   `STUN_SERVERS`, … `ADDR` is where it is reached, `NETNS` the network namespace it runs in.
    static func start(model: String = "probe", environment: [String: String] = [:]) async throws -> RuntimeProcess {
        var settings = ["PROBE_DETAIL": Settings.detail]
        settings.merge(environment) { $1 }
        var complaint = ""
        // A port that somebody else holds is not a failed test.
        for _ in 0..<5 {
            let port = TestPorts.next()
            let script = try ChildProcess("\(peers)/start-runtime", ["\(port)", model], environment: settings)
            let (status, output) = await script.finish()
            let pid = output.split(separator: "\n").last { $0.hasPrefix("pid=") }
                .flatMap { $0.split(separator: " ").first }.flatMap { pid_t($0.dropFirst(4)) }
            if status == 0, let pid { return RuntimeProcess(pid: pid, host: settings["ADDR"] ?? PlainHTTP.loopback, port: port) }
            complaint = output
            guard status == 3 else { break }
        }
        throw ChildProcess.Failure(description: "start-runtime failed: \(complaint)")
    }

    /// Ends it in an orderly way, by force after 5 s.
    func stop() async {
        guard let script = try? ChildProcess("\(Self.peers)/stop-runtime", ["\(pid)"]) else { return signal(SIGKILL) }
        _ = await script.finish()
    }

    /// SIGKILL: it says nothing to anybody any more, but its host refuses packets for it.
    func kill() { signal(SIGKILL) }
    /// SIGSTOP: it is there and says nothing.
    func freeze() { signal(SIGSTOP) }
    func thaw() { signal(SIGCONT) }

    private func signal(_ number: Int32) { _ = Glibc.kill(pid, number) }

    /// `state` of `GET /session`: `ready` without a session; `waiting`, `streaming`, `orphaned`, `closing`.
    func sessionState() async -> String? {
        guard let reply = try? await PlainHTTP.send("GET", url + "/session"), reply.status == 200,
            let object = try? JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any]
        else { return nil }
        return object["state"] as? String
    }

    /// Ends the session from outside, as another program would.
    func stopSession() async throws { _ = try await PlainHTTP.send("POST", url + "/stop_session") }
}

/// Ports for this run, each once: a hundred from `REACTOR_INTEROP_PORT` (8200) on.
enum TestPorts {
    private static let first = Settings.environment["REACTOR_INTEROP_PORT"].flatMap(UInt16.init) ?? 8200
    private static let count = Mutex<UInt16>(0)
    static func next() -> UInt16 {
        count.withLock { count in
            defer { count = (count + 1) % 100 }
            return first + count
        }
    }
}
