private import CMicroHTTPD
import Reactor

/// The fields of one request.
final class HTTPHeaderFields {
    private(set) var list: [HTTPHeader] = []

    /// On the server's thread, in the callbacks that have a request.
    init(of connection: OpaquePointer) {
        chttpd_each_field(
            connection,
            { user, name, value in
                guard let user, let name, let value else { return }
                Unmanaged<HTTPHeaderFields>.fromOpaque(user).takeUnretainedValue().add(name, value)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func add(_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>) {
        list.append(HTTPHeader(String(cString: name).lowercased(), String(cString: value)))
    }

    private func values(_ name: String) -> [String] { list.filter { $0.name == name }.map(\.value) }

    /// A body has one length, or comes in chunks, never both (RFC 9112 §6.3).
    var areWellFormed: Bool {
        let lengths = values("content-length")
        guard lengths.count <= 1, lengths.isEmpty || values("transfer-encoding").isEmpty else { return false }
        return lengths.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } && Int($0) != nil }
    }

    var hasUnknownCoding: Bool { values("transfer-encoding").contains { $0.lowercased() != "chunked" } }
}
