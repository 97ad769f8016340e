// What a client may take its time for, and how a connection is broken. The library only knows silence; a byte now and then
// keeps it content for ever.

private import CMicroHTTPD
import Synchronization

extension HTTPServerConnection {
    /// Breaks the connection when the client takes longer than it may.
    func sweep(now: ContinuousClock.Instant) {
        let limits = server.limits
        enum Verdict { case fine, keepAlive(HTTPByteStream), end(HTTPByteStream), cancel(Task<Void, Never>?) }
        let verdict: Verdict = state.withLock { state in
            guard !state.isClosed, !state.isStopping, !state.isBroken else { return .fine }
            let elapsed = state.since.duration(to: now)
            switch state.phase {
            case .handling:
                // Nobody waits for the answer any more. Not at once: a stop that its caller does not wait for is still a stop.
                if elapsed > Self.unattendedHandling, chttpd_peer_is_done(descriptor) { return .cancel(state.task) }
            case .idle where elapsed > limits.idle: breakOff(&state, .idleConnection)
            case .header where elapsed > limits.header: breakOff(&state, .slowHeader, status: 408, "Request Timeout")
            case .body(let expected) where elapsed > limits.body * (1 + max(expected, state.bodyBytes) >> 20):
                breakOff(&state, .slowBody, status: 408, "Request Timeout")
            case .sending(let bytes) where elapsed > limits.answer * (1 + bytes >> 20): breakOff(&state, .slowReader)
            case .sending: break
            case .idle, .header, .body:
                // The library can miss the end of a client that sends its last bytes and goes. What is read but not yet looked
                // at is no longer in the socket, hence twice.
                guard chttpd_peer_is_done(descriptor) else { break }
                if state.sawEnd { breakOff(&state, nil) }
                state.sawEnd = true
            case .streaming:
                guard let stream = state.stream else { break }
                if chttpd_peer_is_gone(descriptor) { return .end(stream) }
                if stream.hasOverflowed {
                    breakOff(&state, .slowReader)
                    // The library looks at a suspended connection again only then.
                    return .end(stream)
                }
                if state.lastSignOfLife.duration(to: now) > limits.keepAlive {
                    state.lastSignOfLife = now
                    return .keepAlive(stream)
                }
            }
            return .fine
        }
        switch verdict {
        case .fine: break
        case .keepAlive(let stream): stream.write(stream.keepAlive)
        case .end(let stream): stream.finish()
        case .cancel(let task): task?.cancel()
        }
    }

    /// Under the lock, which keeps the descriptor open: `closed` comes before it is closed.
    private func breakOff(
        _ state: inout State, _ discard: HTTPServerCounters.Discard?, status: Int? = nil, _ reason: String = ""
    ) {
        state.isBroken = true
        if let discard { server.count(discard) }
        breakOff(status: status, reason)
    }

    func breakOff(status: Int?, _ reason: String) {
        guard let status else { return chttpd_break(descriptor, nil, 0) }
        let text = "HTTP/1.1 \(status) \(reason)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        Array(text.utf8).withUnsafeBufferPointer { chttpd_break(descriptor, $0.baseAddress, $0.count) }
    }

    private static let unattendedHandling = Duration.seconds(5)
}
