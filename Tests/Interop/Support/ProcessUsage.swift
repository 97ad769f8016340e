import Foundation
import Glibc

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
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return ProcessUsage(descriptors: descriptors.sorted(), threads: threads.sorted(), residentKB: (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1024)
    }

    var description: String { "\(descriptors.count) descriptors \(descriptors), \(threads.count) threads \(threads), \(residentKB) kB" }

    /// Waits until descriptors and threads are back at or below `start`; the last look at them. Idle worker threads of the
    /// system's pools take some seconds to go, kept-alive HTTP connections too.
    static func settled(to start: ProcessUsage, within seconds: Double = 15) async -> ProcessUsage {
        var usage = ProcessUsage.now
        _ = await Interop.eventually(within: seconds) {
            usage = .now
            return usage.descriptors.count <= start.descriptors.count && usage.threads.count <= start.threads.count
        }
        return usage
    }

    /// CPU seconds of all threads so far.
    static var cpuSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
