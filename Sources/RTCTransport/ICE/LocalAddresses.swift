private import Glibc

/// The addresses of this machine that ICE gathers on (RFC 8445 §5.1.1.1).
///
/// Link-local IPv6 is left out: it cannot be bound without a zone and zones are never sent. Every address is tried once
/// with a bind, so that one that cannot be used is not tried again for every port of a range.
enum LocalAddresses {
    /// Loopback addresses come last, and only if `includesLoopback` or when there is no other address.
    static func usable(includesLoopback: Bool) -> [NumericAddress] {
        var ordinary: [NumericAddress] = []
        var loopback: [NumericAddress] = []
        for address in interfaceAddresses() where canBind(address) {
            if address.isLoopback {
                if !loopback.contains(address) { loopback.append(address) }
            } else if !ordinary.contains(address), ordinary.count < maxAddresses {
                ordinary.append(address)
            }
        }
        if ordinary.isEmpty || includesLoopback { ordinary += loopback.prefix(2) }
        return ordinary
    }

    /// Whether ICE may use the address at all.
    static func isCandidate(_ address: NumericAddress) -> Bool {
        !address.isUnspecified && !(address.isIPv6 && address.isLinkLocal)
    }

    private static func interfaceAddresses() -> [NumericAddress] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var result: [NumericAddress] = []
        var next = list
        while let entry = next {
            next = entry.pointee.ifa_next
            guard entry.pointee.ifa_flags & UInt32(IFF_UP) != 0, let sockaddr = entry.pointee.ifa_addr else { continue }
            guard let address = numeric(sockaddr), isCandidate(address) else { continue }
            result.append(address)
        }
        return result
    }

    private static func numeric(_ address: UnsafePointer<sockaddr>) -> NumericAddress? {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let bytes = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_addr
            return NumericAddress(bytes: withUnsafeBytes(of: bytes) { Array($0) })
        case AF_INET6:
            let bytes = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return NumericAddress(bytes: withUnsafeBytes(of: bytes) { Array($0) })
        default:
            return nil
        }
    }

    /// An address that is there but not usable yet (IPv6 still being checked for duplicates) fails here.
    private static func canBind(_ address: NumericAddress) -> Bool {
        let descriptor = socket(address.isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if address.isIPv6 {
            var target = sockaddr_in6()
            target.sin6_family = sa_family_t(AF_INET6)
            guard inet_pton(AF_INET6, address.text, &target.sin6_addr) == 1 else { return false }
            return bindSucceeds(descriptor, &target)
        }
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        guard inet_pton(AF_INET, address.text, &target.sin_addr) == 1 else { return false }
        return bindSucceeds(descriptor, &target)
    }

    private static func bindSucceeds<Address>(_ descriptor: Int32, _ address: inout Address) -> Bool {
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
        }
    }

    /// Machines with more addresses (many bridges) gain nothing from more pairs.
    private static let maxAddresses = 16
}
