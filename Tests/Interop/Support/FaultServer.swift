import Foundation
import Glibc
import Synchronization

/// A signalling server that misbehaves as told: one thread per connection, one request per connection.
final class FaultServer: Sendable {
    struct Request: Sendable {
        var method: String
        var path: String
        var body: [UInt8]
        /// Since the server was made.
        var milliseconds: Double

        /// `POST sdp_params` and the like: method and last part of the path.
        var key: String { "\(method) \(path.split(separator: "/").last ?? "")" }
    }

    enum Answer: Sendable {
        case status(Int, headers: [String: String] = [:], body: String = "{}")
        /// Takes the request and says nothing.
        case silent
        /// Takes the request and closes the connection.
        case hangUp
        /// Passes it on to a real server and hands back what that says.
        case forward(UInt16)
        /// The same with another body in the request.
        case forwardBody(UInt16, [UInt8])
    }

    /// The listening socket. Only the thread that accepts closes it: closed by another, its number may be the next server's while
    /// that thread still accepts on it.
    private final class Listener: Sendable {
        private let descriptor: Mutex<Int32?>

        init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

        func stop() { descriptor.withLock { if let open = $0 { shutdown(open, Int32(SHUT_RDWR)) } } }

        func close() {
            descriptor.withLock { descriptor in
                if let open = descriptor { _ = Glibc.close(open) }
                descriptor = nil
            }
        }
    }

    let port: UInt16
    var url: String { "http://127.0.0.1:\(port)" }
    private let listener: Listener
    private let answer: @Sendable (Request) -> Answer
    private let clock = Stopwatch()
    private let log = Mutex<[Request]>([])
    private let connections = Mutex<Set<Int32>>([])

    /// Listens on a free port of the loopback address.
    init(_ answer: @escaping @Sendable (Request) -> Answer) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let isBound = PlainHTTP.withAddress(PlainHTTP.loopback, 0) { bind(descriptor, $0, $1) == 0 } && listen(descriptor, 64) == 0
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard descriptor >= 0, isBound else { throw ChildProcess.Failure(description: "cannot listen: errno \(errno)") }
        let listener = Listener(descriptor)
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        self.answer = answer
        start("it-accept") { [weak self] in
            defer { listener.close() }
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                guard let self else { return _ = Glibc.close(connection) }
                self.serve(connection)
            }
        }
    }

    /// Closes every connection and stops listening.
    func stop() {
        listener.stop()
        connections.withLock { for connection in $0 { shutdown(connection, Int32(SHUT_RDWR)) } }
    }

    /// What was asked so far, in order.
    var requests: [Request] { log.withLock { $0 } }
    func count(_ key: String) -> Int { requests.count { $0.key == key } }

    private func serve(_ connection: Int32) {
        connections.withLock { _ = $0.insert(connection) }
        start("it-serve") { [self] in
            defer {
                connections.withLock { _ = $0.remove(connection) }
                close(connection)
            }
            guard let request = read(from: connection) else { return }
            log.withLock { $0.append(request) }
            switch answer(request) {
            case .status(let status, let headers, let body):
                reply(connection, PlainHTTP.Reply(status: status, headers: headers, body: Array(body.utf8)))
            case .silent:
                while PlainHTTP.readSome(connection) != nil {}
            case .hangUp:
                break
            case .forward(let port):
                forward(request, body: request.body, to: port, connection)
            case .forwardBody(let port, let body):
                forward(request, body: body, to: port, connection)
            }
        }
    }

    private func read(from connection: Int32) -> Request? {
        var bytes: [UInt8] = []
        while let more = PlainHTTP.readSome(connection) {
            bytes += more
            guard let message = PlainHTTP.Message(parsing: bytes), message.body.count >= Int(message.headers["content-length"] ?? "0") ?? 0
            else { continue }
            let words = message.startLine.split(separator: " ")
            guard words.count >= 2 else { return nil }
            return Request(
                method: String(words[0]), path: String(words[1]), body: message.body, milliseconds: clock.milliseconds)
        }
        return nil
    }

    private func forward(_ request: Request, body: [UInt8], to port: UInt16, _ connection: Int32) {
        switch PlainHTTP.exchange(request.method, port: port, path: request.path, body: body) {
        case .success(var answer):
            answer.headers = answer.headers.filter { $0.key == "content-type" || $0.key == "retry-after" }
            reply(connection, answer)
        case .failure:
            reply(connection, PlainHTTP.Reply(status: 502))
        }
    }

    private func reply(_ connection: Int32, _ reply: PlainHTTP.Reply) {
        var head = "HTTP/1.1 \(reply.status) Answer\r\nContent-Length: \(reply.body.count)\r\nConnection: close\r\n"
        for (name, value) in reply.headers { head += "\(name): \(value)\r\n" }
        _ = PlainHTTP.writeAll(connection, Array((head + "\r\n").utf8) + reply.body)
    }

    private func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        thread.start()
    }
}

/// A UDP port of this machine where somebody listens and never answers.
///
/// It is reachable at the machine's own address: sockets bound to that cannot send to 127.0.0.1, and a server that cannot be
/// reached at all is not a silent one.
final class SilentPort: Sendable {
    let port: UInt16
    let address: String
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let descriptor = self.descriptor
        var any = sockaddr_in()
        any.sin_family = sa_family_t(AF_INET)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &any) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        port = UInt16(bigEndian: any.sin_port)
        address = Self.ownAddress ?? "127.0.0.1"
        guard isBound else { throw ChildProcess.Failure(description: "cannot bind a UDP port") }
    }

    /// The first IPv4 address that is not a loopback one.
    private static var ownAddress: String? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next {
            next = entry.pointee.ifa_next
            let isLoopback = entry.pointee.ifa_flags & UInt32(IFF_LOOPBACK) != 0
            guard !isLoopback, let address = entry.pointee.ifa_addr, address.pointee.sa_family == AF_INET else { continue }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            guard getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else { continue }
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return nil
    }

    deinit { close(descriptor) }
}
