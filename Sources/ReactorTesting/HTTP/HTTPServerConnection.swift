// One TCP connection of the server and the request on it. The library calls from its thread; handlers finish on tasks; the
// sweep comes from a timer. Everything they share is behind one lock, and suspending and resuming happen under it: a
// connection is resumed exactly once per suspension, and never after the library has let go of it.

private import CMicroHTTPD
import Reactor
import Synchronization

final class HTTPServerConnection: Sendable {
    /// Beyond the limit: only told so.
    let isOverLimit: Bool
    let server: HTTPServer
    let descriptor: Int32
    let state: Mutex<State>

    /// The library's connection. Used on the server's thread, and by `chttpd_resume`, which may come from any, under the lock
    /// and only while the connection is suspended, when the library keeps it.
    struct Handle: @unchecked Sendable { let pointer: OpaquePointer }

    struct State {
        let handle: Handle
        var isSuspended = false
        var isStopping = false
        var isClosed = false
        /// Shut down by us; the library has yet to notice.
        var isBroken = false
        var phase = Phase.idle
        var since = ContinuousClock.now
        var target = ""
        var request: HTTPServerRequest?
        /// Bytes of the body so far, kept or not.
        var bodyBytes = 0
        /// Answered instead of what the handler would say; the body is thrown away.
        var refusal: HTTPServerResponse?
        var isSinkFull = false
        var response: HTTPServerResponse?
        var task: Task<Void, Never>?
        var stream: HTTPByteStream?
        var lastSignOfLife = ContinuousClock.now
        /// The last sweep found that the client sends nothing any more, in this phase.
        var sawEnd = false
    }

    enum Phase: Hashable { case idle, header, body(expected: Int), handling, sending(bytes: Int), streaming }

    init(server: HTTPServer, handle: OpaquePointer, descriptor: Int32, isOverLimit: Bool) {
        self.server = server
        self.descriptor = descriptor
        self.isOverLimit = isOverLimit
        state = Mutex(State(handle: Handle(pointer: handle)))
    }

    // MARK: - From the library, on its thread

    func began(target: String) {
        state.withLock { state in
            state.target = target
            state.enter(.header)
        }
    }

    /// False breaks the connection.
    func header(method: String) -> Bool {
        let (handle, target) = state.withLock { ($0.handle, $0.target) }
        let fields = HTTPHeaderFields(of: handle.pointer)
        var plan: HTTPBodyPlan
        var request: HTTPServerRequest?
        if isOverLimit {
            server.count(.connectionOverLimit)
            plan = .refuse(server.refusal(503, "Too many connections"))
        } else if chttpd_header_size(handle.pointer) > server.limits.headerBytes {
            server.count(.headerTooLarge)
            plan = .refuse(server.refusal(431, "Request header too large"))
        } else if let parsed = HTTPTarget(parsing: target), fields.areWellFormed {
            let complete = HTTPServerRequest(method: method, target: parsed, headers: fields.list)
            request = complete
            plan = fields.hasUnknownCoding ? .refuse(server.refusal(501, "Transfer coding not implemented")) : server.plan(complete)
        } else {
            server.count(.badRequest)
            plan = .refuse(server.refusal(400, "Bad request"))
        }
        let expected = request?.contentLength
        if case .collect = plan, let expected, expected > server.limits.bodyBytes {
            server.count(.bodyTooLarge)
            plan = .refuse(server.refusal(413, "Request body larger than \(server.limits.bodyBytes) bytes"))
        }
        let refusedNow: HTTPServerResponse? = state.withLock { state in
            state.request = request
            state.enter(.body(expected: expected ?? 0))
            switch plan {
            case .collect: return nil
            case .stream(let sink):
                state.request?.sink = sink
                return nil
            case .refuse(let response):
                state.refusal = response
                let drains =
                    !isOverLimit && request != nil && !fields.hasUnknownCoding && (expected ?? 0) <= HTTPServerLimits.drainedBodyBytes
                return drains ? nil : response
            }
        }
        return refusedNow.map { queue($0) } ?? true
    }

    /// False breaks the connection.
    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        enum Next { case goOn, tooMuch, sink(any HTTPBodySink) }
        let next: Next = state.withLock { state in
            state.bodyBytes += bytes.count
            if state.refusal == nil, let sink = state.request?.sink { return state.isSinkFull ? .goOn : .sink(sink) }
            if state.refusal == nil {
                if state.bodyBytes <= server.limits.bodyBytes {
                    state.request?.body.append(contentsOf: bytes)
                    return .goOn
                }
                state.request?.body = []
                server.count(.bodyTooLarge)
                state.refusal = server.refusal(413, "Request body larger than \(server.limits.bodyBytes) bytes")
            }
            return state.bodyBytes <= HTTPServerLimits.drainedBodyBytes ? .goOn : .tooMuch
        }
        switch next {
        case .goOn: return true
        case .sink(let sink):
            if !sink.append(bytes) { state.withLock { $0.isSinkFull = true } }
            return true
        case .tooMuch:
            breakOff(status: 413, "Content Too Large")
            return false
        }
    }

    /// The request is complete, or the connection is resumed. False breaks the connection.
    func received() -> Bool {
        enum Next { case leave, wait, answer(HTTPServerResponse), handle(HTTPServerRequest, HTTPServer.Handler) }
        let handler = server.handler
        let next: Next = state.withLock { state in
            if state.isStopping { return .leave }
            if let response = state.response ?? state.refusal { return .answer(response) }
            if state.phase == .handling {
                state.suspend()
                return .wait
            }
            guard let request = state.request, let handler else { return .leave }
            state.enter(.handling)
            state.suspend()
            return .handle(request, handler)
        }
        switch next {
        case .leave: return false
        case .wait: return true
        case .answer(let response): return queue(response)
        case .handle(let request, let handler):
            let task = Task {
                let response = await handler(request)
                // No effect on what the handler took; without it a body that nobody wanted would keep its place.
                request.sink?.abandon()
                self.finish(response)
            }
            // A stop in between has not seen the task.
            if state.withLock({ state in
                state.task = task
                return state.isStopping
            }) {
                task.cancel()
            }
            return true
        }
    }

    func ended(well: Bool) {
        let (sink, streams, wasComplete) = state.withLock { state in
            defer {
                state.request = nil
                state.refusal = nil
                state.response = nil
                state.stream = nil
                state.task = nil
                state.target = ""
                state.bodyBytes = 0
                state.isSinkFull = false
                state.enter(.idle)
            }
            let isBodyOpen = if case .body = state.phase { true } else { false }
            // An answer that the library never came for has a stream as well.
            var streams = [state.stream].compactMap(\.self)
            if case .stream(let unread) = state.response?.body, unread !== state.stream { streams.append(unread) }
            return (isBodyOpen ? state.request?.sink : nil, streams, !isBodyOpen)
        }
        if !well { server.count(.brokenRequest) }
        if !wasComplete { sink?.abandon() }
        for stream in streams { stream.end() }
    }

    func closed() {
        let stream = state.withLock { state in
            state.isClosed = true
            return state.stream
        }
        stream?.end()
    }

    // MARK: - From elsewhere

    private func finish(_ response: HTTPServerResponse) {
        let isSent = state.withLock { state in
            guard state.phase == .handling, !state.isStopping else { return false }
            state.response = response
            state.resume()
            return true
        }
        if !isSent, case .stream(let stream) = response.body { stream.end() }
    }

    func resume() { state.withLock { $0.resume() } }

    /// Nothing is suspended from here on.
    func stop() {
        let (task, stream) = state.withLock { state in
            state.isStopping = true
            state.resume()
            return (state.task, state.stream)
        }
        task?.cancel()
        stream?.finish()
    }
}

extension HTTPServerConnection.State {
    mutating func enter(_ phase: HTTPServerConnection.Phase) {
        self.phase = phase
        since = .now
        sawEnd = false
    }

    mutating func suspend() {
        isSuspended = true
        chttpd_suspend(handle.pointer)
    }

    mutating func resume() {
        guard isSuspended, !isClosed else { return }
        isSuspended = false
        chttpd_resume(handle.pointer)
    }
}
