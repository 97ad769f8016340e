import Foundation
import Glibc
import RTCTransport
import Synchronization

/// A coturn process on 127.0.0.1 with one user.
struct TURNServer {
    static let path = "/usr/bin/turnserver"
    static let user = "tester"
    static let password = "pass-word"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    let port: UInt16
    private let process: ChildProcess
    private let folder: URL

    /// Returns when the server answers.
    init() throws {
        port = TestSocket().port
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("turn-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process = try ChildProcess(
            Self.path,
            "-n", "--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", "--listening-port=\(port)", "--user=\(Self.user):\(Self.password)",
            "--realm=test", "--lt-cred-mech", "--allow-loopback-peers", "--no-tls", "--no-dtls", "--no-cli", "--no-rfc5780",
            "--db=\(folder.path)/db", "--pidfile=\(folder.path)/pid", "--log-file=\(folder.path)/log", "--simple-log", "--relay-threads=1")
        // A binding request is answered as soon as the listener is up.
        let probe = TestSocket()
        let request: [UInt8] = [0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42] + Array(1...12)
        for _ in 0..<100 {
            probe.send(request, to: port)
            if probe.receive(milliseconds: 50) != nil { return }
        }
        stop()
        throw TransportError(.timeout, "turnserver does not answer")
    }

    func stop() {
        process.kill()
        try? FileManager.default.removeItem(at: folder)
    }
}

/// A process without standard streams. (Foundation's `Process` was seen to miss the end of its child.)
final class ChildProcess: Sendable {
    private let id: pid_t
    private let isOver = Mutex(false)

    init(_ path: String, _ arguments: String...) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in 0...2 as ClosedRange<Int32> {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        var argv = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in argv { free(pointer) } }
        var id = pid_t()
        let result = posix_spawn(&id, path, &actions, nil, &argv, environ)
        guard result == 0 else { throw TransportError(.iceFailed, "posix_spawn of \(path): \(result)") }
        self.id = id
    }

    /// Waits for the end; the exit status.
    @discardableResult
    func wait() -> Int32 {
        isOver.withLock { isOver in
            guard !isOver else { return 0 }
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            isOver = true
            return status
        }
    }

    /// SIGKILL, and waits.
    func kill() {
        _ = isOver.withLock { isOver in isOver ? 0 : Glibc.kill(id, SIGKILL) }
        wait()
    }

    deinit { kill() }
}
