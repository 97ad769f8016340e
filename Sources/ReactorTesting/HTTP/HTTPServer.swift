// The embedded HTTP server: libmicrohttpd behind CMicroHTTPD, one thread for all servers. In come requests whose header and
// body keep the limits, each handled by a task of its own; out go answers from memory or as a stream. What breaks HTTP itself (a
// request line that is none, a header beyond all bounds) is refused by the library in its own words. Not here: routes, CORS.

private import CMicroHTTPD
import RTCPeer
import Reactor
import Synchronization

/// Runs from `init` until ``stop()``; a server that is not stopped runs on without anybody holding it.
final class HTTPServer: Sendable {
    typealias Handler = @Sendable (HTTPServerRequest) async -> HTTPServerResponse

    let host: String
    /// The real one, also when 0 was asked for.
    let port: Int
    let limits: HTTPServerLimits
    /// Added to every answer.
    let commonHeaders: [HTTPHeader]
    private let state: Mutex<State>

    /// The library's server; freed by the one who takes it out of the state.
    private struct Daemon: @unchecked Sendable { let pointer: OpaquePointer }

    /// What the server works for; let go of when it has stopped.
    private struct Work {
        var plan: @Sendable (HTTPServerRequest) -> HTTPBodyPlan
        var handler: Handler
    }

    private struct State {
        var work: Work?
        var daemon: Daemon?
        var isStopping = false
        var isStopped = false
        var stopWaiters: [CheckedContinuation<Void, Never>] = []
        var connections: [ObjectIdentifier: HTTPServerConnection] = [:]
        var isSweeping = false
        var counters = HTTPServerCounters()
    }

    /// - Parameters:
    ///   - host: a numeric address, or `localhost` for 127.0.0.1.
    ///   - port: 0 for any free one.
    ///   - plan: decides on the server's thread what becomes of a body; it must not wait.
    ///   - handler: one task per request, cancelled when the server stops.
    init(
        host: String = "127.0.0.1", port: Int = 0, limits: HTTPServerLimits = HTTPServerLimits(), commonHeaders: [HTTPHeader] = [],
        plan: @escaping @Sendable (HTTPServerRequest) -> HTTPBodyPlan = { _ in .collect }, handler: @escaping Handler
    ) throws(HTTPServerError) {
        guard let wanted = UInt16(exactly: port) else { throw .badPort(port) }
        var bound: UInt16 = 0
        let address = host == "localhost" ? "127.0.0.1" : host
        let listener = chttpd_listen(address, wanted, 512, &bound)
        guard listener >= 0 else { throw listener == CHTTPD_NOT_AN_ADDRESS ? .notAnAddress(host) : .cannotListen(code: -listener) }
        self.host = address
        self.port = Int(bound)
        self.limits = limits
        self.commonHeaders = commonHeaders
        state = Mutex(State(work: Work(plan: plan, handler: handler)))

        // Released when the library has stopped.
        let context = Unmanaged.passRetained(self).toOpaque()
        var callbacks = chttpd_callbacks(
            context: context, accepts: { theServer($0)?.accepts() ?? false },
            opened: { context, handle, descriptor in
                guard let server = theServer(context), let handle else { return nil }
                return server.opened(handle, descriptor)
            },
            closed: { context, user in
                if let server = theServer(context), let user { server.closed(user) }
            },
            began: { user, target in
                if let target { theConnection(user)?.began(target: String(cString: target)) }
            },
            header: { user, method in method.map { theConnection(user)?.header(method: String(cString: $0)) ?? false } ?? false },
            body: { user, bytes, count in
                theConnection(user)?.body(UnsafeRawBufferPointer(start: bytes, count: count)) ?? false
            },
            received: { theConnection($0)?.received() ?? false },
            ended: { user, outcome in theConnection(user)?.ended(well: outcome == Int32(CHTTPD_ENDED_WELL)) })
        // The library's own count is only a second wall behind `accepts`.
        var walls = chttpd_limits(
            connections: UInt32(clamping: limits.connections + 2 * HTTPServerLimits.spareConnections),
            memory_per_connection: limits.headerBytes + (16 << 10), idle_seconds: UInt32(clamping: limits.idle.components.seconds + 1))
        guard let daemon = chttpd_start(listener, &callbacks, &walls) else {
            Unmanaged<HTTPServer>.fromOpaque(context).release()
            chttpd_close(listener)
            throw .cannotStart
        }
        state.withLock { $0.daemon = Daemon(pointer: daemon) }
    }

    /// `http://127.0.0.1:8080`, without a slash at the end.
    var url: String { "http://\(Self.authority(host)):\(port)" }

    /// What a client writes into a URL to reach a listening address.
    private static func authority(_ host: String) -> String {
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "[::1]"
        default: host.contains(":") ? "[\(host)]" : host
        }
    }

    var counters: HTTPServerCounters { state.withLock { $0.counters } }
    var connectionCount: Int { state.withLock { $0.connections.count } }

    /// Refuses what is new, cancels the handlers, closes every connection, and returns when the sockets are gone. Not
    /// affected by cancellation. May be called again and at once from several places; all wait for the same end.
    func stop() async {
        await withCheckedContinuation { continuation in
            let (isOver, begins) = state.withLock { state in
                if state.isStopped { return (true, false) }
                state.stopWaiters.append(continuation)
                defer { state.isStopping = true }
                return (false, !state.isStopping)
            }
            if isOver { continuation.resume() }
            if begins { shutDown() }
        }
    }

    /// Begins to stop without waiting.
    func beginStop() {
        let begins = state.withLock { state in
            defer { state.isStopping = true }
            return !state.isStopping
        }
        if begins { shutDown() }
    }

    private func shutDown() {
        // Waits for the library's thread, so it needs one of its own.
        let work: @Sendable () -> Void = { [self] in
            let (daemon, connections) = state.withLock { state in
                defer { state.daemon = nil }
                return (state.daemon, Array(state.connections.values))
            }
            for connection in connections { connection.stop() }
            if let daemon {
                chttpd_stop(daemon.pointer)
                Unmanaged.passUnretained(self).release()
            }
            let waiters = state.withLock { state in
                state.isStopped = true
                state.work = nil
                defer { state.stopWaiters = [] }
                return state.stopWaiters
            }
            for waiter in waiters { waiter.resume() }
        }
        // Without a thread to spare the caller's has to do.
        if !WorkerThread.start(name: "http stop", work) { work() }
    }

    // MARK: - From the connections

    func plan(_ request: HTTPServerRequest) -> HTTPBodyPlan {
        let plan = state.withLock { state in
            state.counters.requests += 1
            return state.work?.plan
        }
        return plan?(request) ?? .refuse(refusal(503, "Server is stopping"))
    }

    var handler: Handler? { state.withLock { $0.work?.handler } }

    func count(_ discard: HTTPServerCounters.Discard) { state.withLock { $0.counters.discards[discard, default: 0] += 1 } }

    /// The shape of all our errors.
    func refusal(_ status: Int, _ detail: String) -> HTTPServerResponse {
        .error(status, detail, headers: status == 503 ? [HTTPHeader("Retry-After", "1")] : [])
    }

    // MARK: - From the library, on its thread

    private func accepts() -> Bool {
        let isWelcome = state.withLock { state in
            !state.isStopping && state.connections.count < limits.connections + HTTPServerLimits.spareConnections
        }
        if !isWelcome { count(.connectionRefused) }
        return isWelcome
    }

    private func opened(_ handle: OpaquePointer, _ descriptor: Int32) -> UnsafeMutableRawPointer? {
        let (connection, sweeps, isStopping) = state.withLock { state in
            let connection = HTTPServerConnection(
                server: self, handle: handle, descriptor: descriptor, isOverLimit: state.connections.count >= limits.connections)
            state.connections[ObjectIdentifier(connection)] = connection
            defer { state.isSweeping = true }
            return (connection, !state.isSweeping, state.isStopping)
        }
        if isStopping { connection.stop() }
        if sweeps { startSweeping() }
        // The table keeps it until `closed`.
        return Unmanaged.passUnretained(connection).toOpaque()
    }

    private func closed(_ user: UnsafeMutableRawPointer) {
        let connection = Unmanaged<HTTPServerConnection>.fromOpaque(user).takeUnretainedValue()
        connection.closed()
        _ = state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    /// Looks at the clock while there are connections.
    private func startSweeping() {
        let interval = limits.sweepInterval
        Task { [weak self] in
            while true {
                try? await Task.sleep(for: interval)
                guard let self else { return }
                let connections = self.state.withLock { state -> [HTTPServerConnection]? in
                    if state.connections.isEmpty || state.isStopping {
                        state.isSweeping = false
                        return nil
                    }
                    return Array(state.connections.values)
                }
                guard let connections else { return }
                let now = ContinuousClock.now
                for connection in connections { connection.sweep(now: now) }
            }
        }
    }
}

private func theServer(_ context: UnsafeMutableRawPointer?) -> HTTPServer? {
    context.map { Unmanaged<HTTPServer>.fromOpaque($0).takeUnretainedValue() }
}

private func theConnection(_ user: UnsafeMutableRawPointer?) -> HTTPServerConnection? {
    user.map { Unmanaged<HTTPServerConnection>.fromOpaque($0).takeUnretainedValue() }
}
