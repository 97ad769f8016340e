import Foundation
import Glibc
import Reactor

/// What this process holds now.
struct ProcessUsage: Sendable, CustomStringConvertible {
    /// Where each descriptor leads.
    var descriptors: [String]
    /// Names of the threads.
    var threads: [String]
    var residentKB: Int

    static var now: ProcessUsage {
        let files = FileManager.default
        // The listing itself holds a descriptor for a moment; its link is gone when it is read.
        let descriptors = ((try? files.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [])
            .compactMap { try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        let threads = ((try? files.contentsOfDirectory(atPath: "/proc/self/task")) ?? []).compactMap { id in
            (try? String(contentsOfFile: "/proc/self/task/\(id)/comm", encoding: .utf8))?.trimmingCharacters(in: .newlines)
        }
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst().first.flatMap {
            Int($0)
        }
        return ProcessUsage(
            descriptors: descriptors.sorted(), threads: threads.sorted(), residentKB: (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1024)
    }

    var description: String { "\(descriptors.count) descriptors \(descriptors), \(threads.count) threads \(threads), \(residentKB) kB" }

    /// Nothing more is held than at `start`.
    ///
    /// - Parameter poolThreads: how many threads the system's pools may have started since; they are not the library's, come
    ///   with load and go after some idle seconds, which a test that looks every 10 ms does not give them.
    func isWithin(_ start: ProcessUsage, poolThreads: Int = ProcessInfo.processInfo.activeProcessorCount) -> Bool {
        descriptors.count <= start.descriptors.count && threads.count <= start.threads.count + poolThreads
    }

    /// Waits until no more is held than at `start`; the last look. A kept-alive HTTP connection takes some seconds to go.
    static func settled(to start: ProcessUsage, within seconds: Double = 15) async -> ProcessUsage {
        var usage = ProcessUsage.now
        _ = await Interop.eventually(within: seconds) {
            usage = .now
            return usage.isWithin(start)
        }
        return usage
    }

    /// Starts what the library has once per process (the network and the HTTP thread), so that it is in every later count.
    static func warmUp() async {
        guard let server = try? FaultServer(CannedRuntime.answer),
            let reactor = try? Interop.client(server.url, connectTimeout: .milliseconds(200))
        else { return }
        try? await reactor.connect()
        reactor.close()
        server.stop()
        _ = await Interop.eventually(within: 10) { ProcessUsage.now.descriptors.allSatisfy { !$0.hasPrefix("socket:") } }
    }

    /// CPU seconds of all threads so far.
    static var cpuSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
