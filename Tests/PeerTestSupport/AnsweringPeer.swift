#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif
import Dispatch
import RTCTransport

/// How tests reach an `AnsweringCore` from their own threads.
package final class AnsweringPeer: Sendable {
    package let answer: String
    /// Touched on the network thread only, as the class demands.
    private nonisolated(unsafe) let core: AnsweringCore

    /// Answers `offer`. Blocks the calling thread for as long as the network thread takes to do it.
    package init(offer: String, options: AnsweringCore.Options = AnsweringCore.Options()) throws {
        let made = Made()
        onNetworkThread { made.core = Result { try AnsweringCore(offer: offer, options: options) } }
        guard let result = made.core else { throw CancellationError() }
        core = try result.get()
        answer = core.answer
    }

    deinit {
        nonisolated(unsafe) let core = core
        NetworkExecutor.shared.execute { core.close() }
    }

    /// Runs `body` on the network thread.
    package func run<Value: Sendable>(_ body: @escaping @Sendable (AnsweringCore) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            NetworkExecutor.shared.execute { [self] in continuation.resume(returning: body(core)) }
        }
    }

    /// The same for code that cannot wait.
    package func post(_ body: @escaping @Sendable (AnsweringCore) -> Void) {
        NetworkExecutor.shared.execute { [self] in body(core) }
    }

    /// Closes and waits for the sockets to be gone.
    package func close() async {
        await withCheckedContinuation { continuation in
            NetworkExecutor.shared.execute { [self] in core.close { continuation.resume() } }
        }
    }
}

/// Carries the core from the thread that makes it; the semaphore of `onNetworkThread` orders the two.
private final class Made: @unchecked Sendable {  // protected by that semaphore
    var core: Result<AnsweringCore, any Error>?
}

private func onNetworkThread(_ body: @escaping @Sendable () -> Void) {
    if NetworkExecutor.shared.isOnThread { return body() }
    let done = DispatchSemaphore(value: 0)
    NetworkExecutor.shared.execute {
        body()
        done.signal()
    }
    done.wait()
}

/// What this process holds open, for tests of leaks.
package enum ProcessResources {
    /// Address or thread sanitizer: memory is theirs then, and its size says nothing.
    package static let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

    package static var descriptorCount: Int { entries("/proc/self/fd") }
    package static var threadCount: Int { entries("/proc/self/task") }

    /// Threads of this process with that name.
    package static func threads(named name: String) -> Int {
        names("/proc/self/task").filter { id in
            guard let file = fopen("/proc/self/task/\(id)/comm", "r") else { return false }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 32)
            guard fgets(&line, Int32(line.count), file) != nil else { return false }
            return line.prefix { $0 != 0 && $0 != 10 }.elementsEqual(name.utf8.map { CChar(bitPattern: $0) })
        }.count
    }

    private static func names(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var result: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { result.append(name) }
        }
        return result
    }

    private static func entries(_ path: String) -> Int {
        guard let directory = opendir(path) else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
}

/// Asks again and again until it is so, for some seconds at most; false when it never was.
package func eventually(within seconds: Double = 5, _ condition: () async -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(2))
    }
    return await condition()
}
