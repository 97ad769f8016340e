import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP connection that sends exactly the bytes it is told. Blocking: used on threads of its own, see `onThread`.
final class RawHTTP {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    struct Answer {
        var status: Int
        /// Names in lower case.
        var headers: [String: String]
        var body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    let socket: Int32
    private var buffered: [UInt8] = []
    private(set) var sawEnd = false

    init(port: Int) throws {
        #if canImport(Glibc)
            socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            socket = Darwin.socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard socket >= 0 else { throw Failure(description: "socket \(errno)") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let socket = socket
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard code == 0 else {
            close(socket)
            throw Failure(description: "connect \(errno)")
        }
        // A server that says nothing fails the test instead of hanging it.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    /// False when the peer has closed.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            #if canImport(Glibc)
                let count = bytes.withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                }
            #else
                let count = bytes.withUnsafeBytes { Darwin.send(socket, $0.baseAddress! + sent, bytes.count - sent, 0) }
            #endif
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    func finishSending() { shutdown(socket, Int32(SHUT_WR)) }

    /// Sends one request and reads its answer.
    func request(_ method: String, _ target: String, headers: [String] = [], body: [UInt8]? = nil) throws -> Answer {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1:8080"] + headers
        if let body { lines.append("Content-Length: \(body.count)") }
        send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (body ?? []))
        return try answer(toHead: method == "HEAD")
    }

    func request(_ method: String, _ target: String, headers: [String] = [], json: String) throws -> Answer {
        try request(method, target, headers: headers + ["Content-Type: application/json"], body: Array(json.utf8))
    }

    func answer(toHead: Bool = false) throws -> Answer {
        let head = try header()
        guard !toHead, head.status != 204, head.status != 304, head.status >= 200 else { return head }
        var answer = head
        if head.headers["transfer-encoding"] == "chunked" {
            while true {
                let line = try text(upTo: "\r\n")
                guard let count = Int(line, radix: 16) else { throw Failure(description: "chunk size '\(line)'") }
                answer.body += try take(count)
                _ = try take(2)
                if count == 0 { return answer }
            }
        }
        guard let count = head.headers["content-length"].flatMap({ Int($0) }) else {
            while fill() {}
            answer.body = buffered
            return answer
        }
        answer.body = try take(count)
        return answer
    }

    /// The header alone, for answers that go on.
    func header() throws -> Answer {
        let lines = try text(upTo: "\r\n\r\n").components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw Failure(description: "status line '\(lines[0])'")
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw Failure(description: "field '\(line)'") }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return Answer(status: status, headers: headers, body: [])
    }

    func text(upTo end: String) throws -> String {
        let pattern = Array(end.utf8)
        while true {
            let place = Data(buffered).range(of: Data(pattern))?.lowerBound
            if let place {
                let text = String(decoding: buffered[..<place], as: UTF8.self)
                buffered.removeSubrange(..<(place + pattern.count))
                return text
            }
            guard fill() else { throw Failure(description: "the connection ended, \(buffered.count) bytes unread") }
        }
    }

    func take(_ count: Int) throws -> [UInt8] {
        while buffered.count < count { guard fill() else { throw Failure(description: "the connection ended in a body") } }
        defer { buffered.removeSubrange(..<count) }
        return Array(buffered[..<count])
    }

    /// True when the server closes the connection; what it sends before is thrown away.
    func waitForEnd() -> Bool {
        while fill() { buffered = [] }
        return sawEnd
    }

    private func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = recv(socket, &chunk, chunk.count, 0)
        guard count > 0 else {
            sawEnd = count == 0 || errno == ECONNRESET || errno == EPIPE
            return false
        }
        buffered += chunk[..<count]
        return true
    }
}

/// Runs blocking code on a thread of its own, so that the handlers behind the server find theirs free.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Asks again until it is so; false after a minute.
func becomesTrue(_ condition: () async -> Bool) async -> Bool {
    for _ in 0..<6000 {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}

/// Open descriptors of this process.
func openDescriptors() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }
/// Threads of this process that libmicrohttpd made, by their name.
func serverThreads() -> Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.count { (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8))?.hasPrefix("MHD") ?? false }
}
/// Memory of this process that is in use, from `/proc`.
func residentBytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
}
