#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where the library's log records go: a closure and a threshold.
///
/// The handler runs on whichever thread logs, media and network threads included: it must be quick and may not wait.
/// Records carry no token, key or credential.
public struct ReactorLogger: Sendable {
    /// How important a record is. In normal running nothing above `debug` is logged.
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        /// Every step, for work on the library itself.
        case trace
        /// What the library does, in normal running.
        case debug
        /// Rare and harmless.
        case info
        /// Rare, and perhaps of interest to whoever runs the app.
        case notice
        /// Something was lost or looks like a mistake of the app, and things go on.
        case warning
        /// Something failed.
        case error

        /// Less important.
        public static func < (lhs: Level, rhs: Level) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    /// One thing that happened.
    public struct Record: Sendable {
        /// How important it is.
        public let level: Level
        /// The part of the library, such as `session` or `http`.
        public let category: String
        /// A fixed sentence; what varies is in `metadata`.
        public let message: String
        /// Names and values that belong to the message.
        public let metadata: [String: String]
        /// When it happened, by the system clock.
        public let timestamp: Date
    }

    /// Records below this level are not made.
    public var minimumLevel: Level
    private let handler: @Sendable (Record) -> Void

    /// Makes a logger from a closure.
    ///
    /// - Parameters:
    ///   - minimumLevel: records below it are not made.
    ///   - handler: called for every record at or above the level, from any thread, possibly several at once.
    public init(minimumLevel: Level = .info, handler: @escaping @Sendable (Record) -> Void) {
        self.minimumLevel = minimumLevel
        self.handler = handler
    }

    /// Writes one line per record to the standard error of the process, from level `info` up.
    public static var standardError: ReactorLogger {
        ReactorLogger { record in
            let pairs = record.metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            let line = "\(record.timestamp.formatted(.iso8601)) \(record.level) \(record.category): \(record.message)\(pairs)\n"
            // One write per record keeps lines of several threads whole; a failing standard error is nobody's concern.
            Array(line.utf8).withUnsafeBytes { bytes in _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
        }
    }

    /// Hands a record over if its level is wanted; message and metadata are only made then.
    package func log(
        _ level: Level, _ category: String, _ message: @autoclosure () -> String, _ metadata: @autoclosure () -> [String: String] = [:]
    ) {
        guard level >= minimumLevel else { return }
        handler(Record(level: level, category: category, message: message(), metadata: metadata(), timestamp: Date()))
    }
}
