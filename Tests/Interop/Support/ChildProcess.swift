import Foundation
import Glibc
import Synchronization

/// A program started with `posix_spawn`, in a process group of its own, with its output collected.
///
/// Foundation's `Process` keeps descriptors and threads of its own, which the tests here count.
final class ChildProcess: Sendable {
    let pid: pid_t
    private let output: Int32
    private let isReaped = Mutex(false)

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// Starts `path`; its standard output and error go to one pipe.
    init(_ path: String, _ arguments: [String], environment extra: [String: String] = [:]) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(description: "pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)

        let environment = Settings.environment.merging(extra) { $1 }
        var argv = ([path] + arguments).map { strdup($0) } + [nil]
        var envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let status = posix_spawn(&pid, path, &actions, &attributes, &argv, &envp)
        close(ends[1])
        guard status == 0 else {
            close(ends[0])
            throw Failure(description: "cannot start \(path): errno \(status)")
        }
        self.pid = pid
        output = ends[0]
    }

    deinit { close(output) }

    /// Reads until the output ends, and waits for the exit. The program's children that keep the pipe open are waited for too.
    func finish() async -> (status: Int32, output: String) {
        await Self.offPool { [self] in
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(output, &buffer, buffer.count)
                if count > 0 { bytes += buffer[..<count] } else if count == 0 || errno != EINTR { break }
            }
            return (reap(), String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Ends the program and everything in its process group.
    func terminate() async {
        kill(-pid, SIGTERM)
        _ = await Self.offPool { [self] in reap() }
    }

    private func reap() -> Int32 {
        isReaped.withLock { isReaped in
            guard !isReaped else { return 0 }
            isReaped = true
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
        }
    }

    /// Runs something that blocks on a thread of its own.
    static func offPool<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: body()) }
            thread.name = "it-block"
            thread.start()
        }
    }
}
