internal import Dispatch
internal import Foundation
internal import Synchronization

/// What goes to the user beside the result: status lines and messages on standard error.
enum Terminal {
    static var isInteractive: Bool { isatty(STDERR_FILENO) == 1 }

    static func error(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

    /// Replaces the present status line.
    static func status(_ text: String) { FileHandle.standardError.write(Data(("\r\u{1B}[2K" + text).utf8)) }

    static func clearStatus() { FileHandle.standardError.write(Data("\r\u{1B}[2K".utf8)) }

    /// Runs `bodies` one by one, each on a SIGINT or SIGTERM; the signal after the last one ends the process the usual way.
    static func onInterrupt(_ bodies: @Sendable () -> Void...) -> [any DispatchSourceSignal] {
        let next = Turn()
        return [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                let index = next.take()
                if index + 1 >= bodies.count { [SIGINT, SIGTERM].forEach(TerminalState.install) }
                if index < bodies.count { bodies[index]() }
            }
            source.resume()
            return source
        }
    }
}

extension Task where Success == Void, Failure == any Error {
    /// What the work ended with; nil also when it was interrupted: what there was until then is the result.
    var failureUnlessInterrupted: (any Error)? {
        get async {
            do {
                try await value
            } catch {
                return error is CancellationError ? nil : error
            }
            return nil
        }
    }
}

/// 0, 1, 2, …
private final class Turn: Sendable {
    private let value = Atomic(0)
    func take() -> Int { value.wrappingAdd(1, ordering: .relaxed).oldValue }
}

/// What this process has cost so far.
enum ProcessUsage {
    static var cpuSeconds: Double {
        let usage = current
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    static var maxResidentKB: Int {
        #if canImport(Darwin)
            return Int(current.ru_maxrss) / 1024
        #else
            return Int(current.ru_maxrss)
        #endif
    }

    private static var current: rusage {
        var usage = rusage()
        #if canImport(Darwin)
            getrusage(RUSAGE_SELF, &usage)
        #else
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #endif
        return usage
    }
}
