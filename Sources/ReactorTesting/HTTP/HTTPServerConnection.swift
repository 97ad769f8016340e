// One TCP connection of the server and the request on it. The library calls from its thread; handlers finish on tasks; the
// sweep comes from a timer. Everything they share is behind one lock, and suspending and resuming happen under it: a
// connection is resumed exactly once per suspension, and never after the library has let go of it.

private import CMicroHTTPD
import Reactor
import Synchronization

final class HTTPServerConnection: Sendable {
    /// Beyond the limit: only told so.
    let isOverLimit: Bool
    private let server: HTTPServer
    private let descriptor: Int32
    private let state: Mutex<State>

    /// The library's connection. Used on the server's thread, and by `chttpd_resume`, which may come from any, under the lock
    /// and only while the connection is suspended, when the library keeps it.
    fileprivate struct Handle: @unchecked Sendable { let pointer: OpaquePointer }

    fileprivate struct State {
        let handle: Handle
        var isSuspended = false
        var isStopping = false
        var isClosed = false
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
    }

    fileprivate enum Phase: Hashable { case idle, header, body(expected: Int), handling, sending(bytes: Int), streaming }

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
                let drains = !isOverLimit && request != nil && (expected ?? 0) <= HTTPServerLimits.drainedBodyBytes
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
        enum Next { case leave, wait, answer(HTTPServerResponse), handle(HTTPServerRequest) }
        let next: Next = state.withLock { state in
            if state.isStopping { return .leave }
            if let response = state.response ?? state.refusal { return .answer(response) }
            if state.phase == .handling {
                state.suspend()
                return .wait
            }
            guard let request = state.request else { return .leave }
            state.enter(.handling)
            state.suspend()
            return .handle(request)
        }
        switch next {
        case .leave: return false
        case .wait: return true
        case .answer(let response): return queue(response)
        case .handle(let request):
            guard let handler = server.handler else { return false }
            let task = Task {
                let response = await handler(request)
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
        let (sink, stream, wasComplete) = state.withLock { state in
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
            return (isBodyOpen ? state.request?.sink : nil, state.stream, !isBodyOpen)
        }
        if !well { server.count(.brokenRequest) }
        if !wasComplete { sink?.abandon() }
        stream?.end()
    }

    func closed() {
        let stream = state.withLock { state in
            state.isClosed = true
            return state.stream
        }
        stream?.end()
    }

    /// Fills a streamed answer; on the server's thread.
    func read(_ stream: HTTPByteStream, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.withLock { state in
            if state.isStopping { return Int(CHTTPD_BODY_END) }
            switch stream.take(into: buffer) {
            case .bytes(let count):
                state.lastSignOfLife = .now
                return count
            case .finished: return Int(CHTTPD_BODY_END)
            case .nothingYet:
                state.suspend()
                return 0
            }
        }
    }

    private func queue(_ response: HTTPServerResponse) -> Bool {
        let handle = state.withLock { $0.handle }
        let answer: OpaquePointer?
        var size = 0
        switch response.body {
        case .dropped: return false
        case .bytes(let bytes):
            size = bytes.count
            answer = bytes.withUnsafeBufferPointer { chttpd_response_bytes($0.baseAddress, $0.count) }
        case .stream(let stream):
            stream.attach { [weak self] in self?.resume() }
            let reader = StreamReader(connection: self, stream: stream)
            let user = Unmanaged.passRetained(reader)
            answer = chttpd_response_stream(readStream, releaseStream, user.toOpaque(), 16 << 10)
            if answer == nil { user.release() }
        }
        guard let answer else { return false }
        for field in response.headers + server.commonHeaders { _ = chttpd_response_field(answer, field.name, field.value) }
        state.withLock { state in
            if case .stream(let stream) = response.body {
                state.stream = stream
                state.lastSignOfLife = .now
                state.enter(.streaming)
            } else {
                state.enter(.sending(bytes: size))
            }
        }
        return chttpd_queue(handle.pointer, UInt32(clamping: response.status), answer)
    }

    // MARK: - From elsewhere

    private func finish(_ response: HTTPServerResponse) {
        state.withLock { state in
            guard state.phase == .handling, !state.isStopping else { return }
            state.response = response
            state.resume()
        }
    }

    private func resume() { state.withLock { $0.resume() } }

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

    /// Breaks the connection when the client takes longer than it may.
    func sweep(now: ContinuousClock.Instant) {
        let limits = server.limits
        enum Verdict { case fine, keepAlive(HTTPByteStream), end(HTTPByteStream) }
        let verdict: Verdict = state.withLock { state in
            guard !state.isClosed, !state.isStopping else { return .fine }
            let elapsed = state.since.duration(to: now)
            switch state.phase {
            case .handling: break
            case .idle where elapsed > limits.idle: breakOff(.idleConnection)
            case .header where elapsed > limits.header: breakOff(.slowHeader, status: 408, "Request Timeout")
            case .body(let expected) where elapsed > limits.body * (1 + expected >> 20):
                breakOff(.slowBody, status: 408, "Request Timeout")
            case .sending(let bytes) where elapsed > limits.answer * (1 + bytes >> 20): breakOff(.slowReader)
            case .streaming:
                guard let stream = state.stream else { break }
                if chttpd_peer_is_gone(descriptor) { return .end(stream) }
                if state.lastSignOfLife.duration(to: now) > limits.keepAlive {
                    state.lastSignOfLife = now
                    return .keepAlive(stream)
                }
            case .idle, .header, .body, .sending: break
            }
            return .fine
        }
        switch verdict {
        case .fine: break
        case .keepAlive(let stream): stream.write(stream.keepAlive)
        case .end(let stream): stream.finish()
        }
    }

    /// Under the lock, which keeps the descriptor open: `closed` comes before it is closed.
    private func breakOff(_ discard: HTTPServerCounters.Discard, status: Int? = nil, _ reason: String = "") {
        server.count(discard)
        breakOff(status: status, reason)
    }

    private func breakOff(status: Int?, _ reason: String) {
        guard let status else { return chttpd_break(descriptor, nil, 0) }
        let text = "HTTP/1.1 \(status) \(reason)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        Array(text.utf8).withUnsafeBufferPointer { chttpd_break(descriptor, $0.baseAddress, $0.count) }
    }
}

extension HTTPServerConnection.State {
    fileprivate mutating func enter(_ phase: HTTPServerConnection.Phase) {
        self.phase = phase
        since = .now
    }

    fileprivate mutating func suspend() {
        isSuspended = true
        chttpd_suspend(handle.pointer)
    }

    fileprivate mutating func resume() {
        guard isSuspended, !isClosed else { return }
        isSuspended = false
        chttpd_resume(handle.pointer)
    }
}

/// Keeps connection and stream while the library reads from them.
private final class StreamReader: Sendable {
    let connection: HTTPServerConnection
    let stream: HTTPByteStream

    init(connection: HTTPServerConnection, stream: HTTPByteStream) {
        self.connection = connection
        self.stream = stream
    }
}

private func readStream(_ user: UnsafeMutableRawPointer?, _ bytes: UnsafeMutablePointer<CChar>?, _ capacity: Int) -> Int {
    guard let user, let bytes else { return Int(CHTTPD_BODY_FAILED) }
    let reader = Unmanaged<StreamReader>.fromOpaque(user).takeUnretainedValue()
    return reader.connection.read(reader.stream, into: UnsafeMutableRawBufferPointer(start: bytes, count: capacity))
}

private func releaseStream(_ user: UnsafeMutableRawPointer?) {
    guard let user else { return }
    let reader = Unmanaged<StreamReader>.fromOpaque(user).takeRetainedValue()
    reader.stream.end()
}
