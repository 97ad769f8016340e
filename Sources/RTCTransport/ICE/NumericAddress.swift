private import Glibc

/// An IP address in text form, checked, without zone.
struct NumericAddress: Hashable {
    /// The address in its usual spelling.
    let text: String
    let isIPv6: Bool
    let isLoopback: Bool
    /// 169.254/16 or fe80::/10.
    let isLinkLocal: Bool
    let isUnspecified: Bool

    init?(_ text: some StringProtocol) {
        let text = String(text)
        guard text.utf8.count <= 45 else { return nil }
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(bytes: withUnsafeBytes(of: v4) { Array($0) })
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            self.init(bytes: withUnsafeBytes(of: v6) { Array($0) })
        } else {
            return nil
        }
    }

    /// 4 or 16 bytes in network order.
    init?(bytes: [UInt8]) {
        isIPv6 = bytes.count == 16
        guard bytes.count == 4 || isIPv6 else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(isIPv6 ? AF_INET6 : AF_INET, bytes, &buffer, socklen_t(buffer.count)) != nil else { return nil }
        text = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        isUnspecified = bytes.allSatisfy { $0 == 0 }
        if isIPv6 {
            isLoopback = bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
            isLinkLocal = bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
        } else {
            isLoopback = bytes[0] == 127
            isLinkLocal = bytes[0] == 169 && bytes[1] == 254
        }
    }
}
