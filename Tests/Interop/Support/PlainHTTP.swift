import Foundation
import Glibc

/// HTTP/1.1 with blocking sockets, one connection per request: independent of the library's client, and nothing stays behind.
enum PlainHTTP {
    struct Reply: Sendable {
        var status: Int
        var headers: [String: String] = [:]
        var body: [UInt8] = []
    }

    struct Failure: Error {}

    static let loopback = "127.0.0.1"

    /// Sends a request from a thread of its own.
    static func send(_ method: String, _ url: String, body: [UInt8] = []) async throws -> Reply {
        let (host, port, path) = split(url)
        return try await ChildProcess.offPool { exchange(method, host: host, port: port, path: path, body: body) }.get()
    }

    /// The parts of an `http://127.0.0.1:port/path` URL; the host is a numeric IPv4 address.
    static func split(_ url: String) -> (host: String, port: UInt16, path: String) {
        let components = URLComponents(string: url)
        let path = components.map { $0.percentEncodedPath.isEmpty ? "/" : $0.percentEncodedPath } ?? "/"
        return (components?.host ?? loopback, UInt16(components?.port ?? 80), path)
    }

    /// The same on this thread, which it blocks.
    static func exchange(
        _ method: String, host: String = loopback, port: UInt16, path: String, body: [UInt8]
    ) -> Result<Reply, any Error> {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return .failure(Failure()) }
        defer { close(descriptor) }
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let isConnected = withAddress(host, port) { connect(descriptor, $0, $1) == 0 }
        guard isConnected else { return .failure(Failure()) }
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host):\(port)\r\nConnection: close\r\nContent-Length: \(body.count)\r\n"
        if !body.isEmpty { head += "Content-Type: application/json\r\n" }
        guard writeAll(descriptor, Array((head + "\r\n").utf8) + body) else { return .failure(Failure()) }
        var bytes: [UInt8] = []
        while let more = readSome(descriptor) { bytes += more }
        guard let message = Message(parsing: bytes), let status = Int(message.startLine.split(separator: " ").dropFirst().first ?? "")
        else {
            return .failure(Failure())
        }
        return .success(Reply(status: status, headers: message.headers, body: message.body))
    }

    /// Start line, headers (names in lower case) and what follows.
    struct Message {
        var startLine: String
        var headers: [String: String] = [:]
        var body: [UInt8]

        init?(parsing bytes: [UInt8]) {
            let blank = Array("\r\n\r\n".utf8)
            guard let end = bytes.firstRange(of: blank) else { return nil }
            var lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
            startLine = String(lines.removeFirst())
            for line in lines {
                guard let colon = line.firstIndex(of: ":") else { continue }
                headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            }
            body = Array(bytes[end.upperBound...])
            if headers["transfer-encoding"]?.lowercased() == "chunked" { body = Self.dechunked(body) }
        }

        private static func dechunked(_ bytes: [UInt8]) -> [UInt8] {
            var result: [UInt8] = []
            var rest = bytes[...]
            while let line = rest.firstRange(of: Array("\r\n".utf8)),
                let count = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16), count > 0,
                rest.distance(from: line.upperBound, to: rest.endIndex) >= count + 2
            {
                result += rest[line.upperBound..<line.upperBound + count]
                rest = rest[(line.upperBound + count + 2)...]
            }
            return result
        }
    }

    static func withAddress<R>(_ host: String = loopback, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    static func writeAll(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// What comes next; nil at the end.
    static func readSome(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer[..<count]) : nil
    }
}
