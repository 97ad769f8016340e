// Answers on their way to the library, from memory or as a stream.

private import CMicroHTTPD
import Reactor
import Synchronization

extension HTTPServerConnection {
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

    /// On the server's thread, in `header` and `received`. False breaks the connection.
    func queue(_ response: HTTPServerResponse) -> Bool {
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
            if answer == nil {
                user.release()
                stream.end()
            }
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
