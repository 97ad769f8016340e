import Foundation
import Glibc
import Synchronization

/// Forwards datagrams between one client and one server port on 127.0.0.1, and can be blocked, for all or for some.
package final class DatagramRelay: Sendable {
    private struct State {
        var serverPort: UInt16 = 0
        var clientPort: UInt16 = 0
        var isBlocked = false
        var blocks: (@Sendable (_ toServer: Bool, [UInt8]) -> Bool)?
        var isStopped = false
    }
    private let state = Mutex(State())
    private let front: Int32
    private let frontPort: UInt16

    package init() {
        let sockets = (Self.makeSocket(), Self.makeSocket())
        front = sockets.0.descriptor
        frontPort = sockets.0.port
        let back = sockets.1.descriptor
        Thread.detachNewThread { [self] in forward(front: sockets.0.descriptor, back: back) }
    }

    package var isBlocked: Bool {
        get { state.withLock { $0.isBlocked } }
        set { state.withLock { $0.isBlocked = newValue } }
    }

    /// Datagrams for which this is true are dropped. Called on the relay's thread.
    package func block(_ condition: @escaping @Sendable (_ toServer: Bool, [UInt8]) -> Bool) { state.withLock { $0.blocks = condition } }

    /// The port that stands for `server`.
    package func port(for server: UInt16) -> UInt16 {
        state.withLock { $0.serverPort = server }
        return frontPort
    }

    /// The thread ends and closes its sockets within 100 ms.
    package func stop() { state.withLock { $0.isStopped = true } }

    private func forward(front: Int32, back: Int32) {
        var buffer = [UInt8](repeating: 0, count: 2048)
        while !state.withLock({ $0.isStopped }) {
            var entries = [pollfd(fd: front, events: Int16(POLLIN), revents: 0), pollfd(fd: back, events: Int16(POLLIN), revents: 0)]
            guard poll(&entries, 2, 100) > 0 else { continue }
            for (index, entry) in entries.enumerated() where entry.revents & Int16(POLLIN) != 0 {
                var source = sockaddr_in()
                var length = socklen_t(MemoryLayout<sockaddr_in>.size)
                let count = withUnsafeMutablePointer(to: &source) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        recvfrom(entry.fd, &buffer, buffer.count, Int32(MSG_DONTWAIT), $0, &length)
                    }
                }
                guard count > 0 else { continue }
                let target = state.withLock { state -> UInt16? in
                    if index == 0 { state.clientPort = UInt16(bigEndian: source.sin_port) }
                    if state.isBlocked || state.blocks?(index == 0, Array(buffer[..<count])) == true { return nil }
                    return index == 0 ? state.serverPort : state.clientPort
                }
                guard let target, target != 0 else { continue }
                var destination = Self.loopback(port: target)
                withUnsafePointer(to: &destination) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        _ = sendto(index == 0 ? back : front, buffer, count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
            }
        }
        close(front)
        close(back)
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }

    private static func makeSocket() -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, length)
                _ = getsockname(descriptor, $0, &length)
            }
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}

package enum TestAddresses {
    /// The address the kernel would use towards the outside; nothing is sent.
    package static func firstIPv4() -> String? {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0xC000_02FE).bigEndian
        address.sin_port = UInt16(9).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isKnown, address.sin_addr.s_addr != UInt32(0x7F00_0001).bigEndian else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET_ADDRSTRLEN))
        guard inet_ntop(AF_INET, &address.sin_addr, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
