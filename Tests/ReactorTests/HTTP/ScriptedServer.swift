import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP server on 127.0.0.1 that plays a script: it reads one HTTP request at a time and then does what the test says,
/// well-formed or not. A thread per connection, so that a silent one holds up nobody.
final class ScriptedServer: Sendable {
    struct Request: Sendable {
        var method: String
        var path: String
        /// Names in lower case.
        var headers: [String: String]
        var body: [UInt8]
        /// Counted over all connections from 0.
        var index: Int
        /// Which connection it came on, counted from 0.
        var connection: Int

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    enum Step: Sendable {
        case send([UInt8])
        case pause(milliseconds: UInt32)
        case close
        /// Says nothing until the peer goes away.
        case silence

        static func text(_ text: String) -> Step { .send(Array(text.utf8)) }

        /// A complete answer that keeps the connection.
        static func reply(_ status: Int, _ body: String = "", headers: [String] = []) -> Step {
            reply(status, bytes: Array(body.utf8), headers: headers)
        }

        static func reply(_ status: Int, bytes: [UInt8], headers: [String] = []) -> Step {
            let lines = ["HTTP/1.1 \(status) Scripted", "Content-Length: \(bytes.count)"] + headers
            return .send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + bytes)
        }
    }

    enum Event: Sendable { case accepted, request(Request), closedByPeer }

    let port: UInt16
    let events: AsyncStream<Event>
    private let eventSink: AsyncStream<Event>.Continuation
    private let listener: Int32
    private let script: @Sendable (Request) -> [Step]
    private let state = Mutex(State())

    private struct State {
        var requests: [Request] = []
        var connectionCount = 0
        var open: Set<Int32> = []
        var isStopped = false
    }

    var url: String { "http://127.0.0.1:\(port)" }
    var requests: [Request] { state.withLock { $0.requests } }
    var connectionCount: Int { state.withLock { $0.connectionCount } }

    init(_ script: @escaping @Sendable (Request) -> [Step]) throws {
        self.script = script
        (events, eventSink) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(10_000))
        (listener, port) = try Self.listen()
        let listener = listener
        Thread.detachNewThread { [weak self] in
            // Closed here and nowhere else: a number given back too early could be another server's by the next accept.
            defer { close(listener) }
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                guard let self else {
                    close(socket)
                    return
                }
                self.serve(socket)
            }
        }
    }

    /// The same answer to everything.
    convenience init(_ steps: Step...) throws { try self.init { _ in steps } }

    deinit { stop() }

    func stop() {
        let sockets: Set<Int32>? = state.withLock { state in
            if state.isStopped { return nil }
            state.isStopped = true
            return state.open
        }
        guard let sockets else { return }
        for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        shutdown(listener, Int32(SHUT_RDWR))
        eventSink.finish()
    }

    /// A port nobody listens on: bound for a moment, then given back.
    static func refusedPort() throws -> UInt16 {
        let (socket, port) = try listen()
        close(socket)
        return port
    }

    // MARK: - Sockets

    private struct Failure: Error { var call: String }

    private static func listen() throws -> (Int32, UInt16) {
        #if canImport(Glibc)
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let socket = Darwin.socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard socket >= 0 else { throw Failure(call: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && getsockname(socket, address, &length) == 0
            }
        }
        guard bound, sysListen(socket) == 0 else {
            close(socket)
            throw Failure(call: "bind or listen")
        }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    private static func sysListen(_ socket: Int32) -> Int32 {
        #if canImport(Glibc)
            Glibc.listen(socket, 128)
        #else
            Darwin.listen(socket, 128)
        #endif
    }

    private func serve(_ socket: Int32) {
        let number: Int? = state.withLock { state in
            if state.isStopped { return nil }
            state.open.insert(socket)
            state.connectionCount += 1
            return state.connectionCount - 1
        }
        guard let number else {
            close(socket)
            return
        }
        eventSink.yield(.accepted)
        var noDelay: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        Thread.detachNewThread { [weak self] in
            var connection = Connection(socket: socket)
            while let request = connection.readRequest(number: number) {
                guard let self, self.play(request, on: connection) else { break }
            }
            if connection.sawEnd { self?.eventSink.yield(.closedByPeer) }
            self?.state.withLock { _ = $0.open.remove(socket) }
            close(socket)
        }
    }

    /// False ends the connection.
    private func play(_ request: Request, on connection: borrowing Connection) -> Bool {
        var request = request
        request.index = state.withLock { state in
            var numbered = request
            numbered.index = state.requests.count
            state.requests.append(numbered)
            return numbered.index
        }
        eventSink.yield(.request(request))
        for step in script(request) {
            switch step {
            case .send(let bytes): if !connection.write(bytes) { return false }
            case .pause(let milliseconds): usleep(milliseconds * 1000)
            case .close: return false
            case .silence:
                connection.waitForEnd()
                eventSink.yield(.closedByPeer)
                return false
            }
        }
        return true
    }

    private struct Connection {
        let socket: Int32
        var buffered: [UInt8] = []
        var sawEnd = false

        init(socket: Int32) { self.socket = socket }

        mutating func readRequest(number: Int) -> Request? {
            let separator = Array("\r\n\r\n".utf8)
            var headEnd: Int?
            while headEnd == nil {
                headEnd = buffered.firstRange(of: separator)?.upperBound
                if headEnd == nil, !fill() { return nil }
            }
            guard let headEnd else { return nil }
            let lines = String(decoding: buffered[..<headEnd], as: UTF8.self).split(separator: "\r\n")
            let first = (lines.first ?? "").split(separator: " ")
            guard first.count == 3 else { return nil }
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = parts.count > 1 ? parts[1].drop { $0 == " " }.description : ""
            }
            let bodyCount = headers["content-length"].flatMap { Int($0) } ?? 0
            while buffered.count < headEnd + bodyCount { if !fill() { return nil } }
            let body = Array(buffered[headEnd..<headEnd + bodyCount])
            buffered.removeSubrange(..<(headEnd + bodyCount))
            return Request(
                method: String(first[0]), path: String(first[1]), headers: headers, body: body, index: 0, connection: number)
        }

        private mutating func fill() -> Bool {
            var chunk = [UInt8](repeating: 0, count: 65536)
            let count = recv(socket, &chunk, chunk.count, 0)
            guard count > 0 else {
                sawEnd = true
                return false
            }
            buffered += chunk[..<count]
            return true
        }

        func write(_ bytes: [UInt8]) -> Bool {
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes { send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(noSignal)) }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }

        func waitForEnd() {
            var byte: UInt8 = 0
            while recv(socket, &byte, 1, 0) > 0 {}
        }

        #if canImport(Glibc)
            private let noSignal = MSG_NOSIGNAL
        #else
            private let noSignal = 0
        #endif
    }
}
