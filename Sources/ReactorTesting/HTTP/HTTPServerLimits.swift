/// What one client, or all of them, may cost a server.
struct HTTPServerLimits: Sendable {
    /// Connections served at once. The next few are answered with 503, those after them are closed without a word.
    var connections = 512
    /// The request line and the fields; 431 beyond.
    var headerBytes = 16 << 10
    /// A body that is kept for the handler; 413 beyond.
    var bodyBytes = 1 << 20
    /// A connection between two requests, or before the first; closed then.
    var idle: Duration = .seconds(60)
    /// From the request line to the end of the header; 408 then.
    var header: Duration = .seconds(10)
    /// The body, and as much again for every MiB of it that is announced or has come; 408 then.
    var body: Duration = .seconds(20)
    /// Sending an answer, and as much again for every MiB of it.
    var answer: Duration = .seconds(30)
    /// Between two signs of life on a stream.
    var keepAlive: Duration = .seconds(15)

    /// How often the clock is looked at.
    var sweepInterval: Duration {
        min(.milliseconds(500), [idle, header, body, answer, keepAlive].min().map { max($0 / 4, .milliseconds(10)) } ?? .milliseconds(500))
    }

    /// Connections that are taken only to say 503.
    static let spareConnections = 32
    /// A refused body up to this size is still read, so that the client reads the refusal before its connection breaks.
    static let drainedBodyBytes = 4 << 20
}

/// What the server did and threw away, for the metrics.
struct HTTPServerCounters: Hashable, Sendable {
    enum Discard: String, CaseIterable, Sendable {
        /// Closed at the door.
        case connectionRefused = "connection_refused"
        /// Answered 503.
        case connectionOverLimit = "connection_over_limit"
        case badRequest = "bad_request"
        case headerTooLarge = "header_too_large"
        case bodyTooLarge = "body_too_large"
        case idleConnection = "idle_connection"
        case slowHeader = "slow_header"
        case slowBody = "slow_body"
        case slowReader = "slow_reader"
        /// The client left before its answer was sent.
        case brokenRequest = "broken_request"
    }

    var requests = 0
    var discards: [Discard: Int] = [:]
}

/// Why a server did not start.
enum HTTPServerError: Error, Hashable, CustomStringConvertible {
    case notAnAddress(String)
    case badPort(Int)
    /// The errno of the system call that failed.
    case cannotListen(code: Int32)
    case cannotStart

    var description: String {
        switch self {
        case .notAnAddress(let host): "'\(host)' is not a numeric address or localhost"
        case .badPort(let port): "\(port) is not a port number"
        case .cannotListen(let code): "cannot listen there, error \(code)"
        case .cannotStart: "the HTTP library could not start"
        }
    }
}
