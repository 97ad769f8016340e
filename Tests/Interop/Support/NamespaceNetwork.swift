import Foundation
import Glibc
import Testing

/// A network namespace with two links to this one, and an address for HTTP that is reached over either.
///
///     here                       namespace
///     198.18.1.1  -- link 1 --   198.18.1.2
///     198.18.2.1  -- link 2 --   198.18.2.2
///                                198.18.9.2 (on its loopback: not a candidate for ICE)
///
/// 198.18.0.0/15 is set aside for tests (RFC 2544). Everything is gone after `with`; what a killed run left behind goes at the
/// next one.
final class NamespaceNetwork: Sendable {
    static let httpAddress = "198.18.9.2"
    static let links = [1, 2]
    static func here(_ link: Int) -> String { "198.18.\(link).1" }
    static func there(_ link: Int) -> String { "198.18.\(link).2" }
    /// The link of an address at either end of one.
    static func link(of address: String?) -> Int? { links.first { address == here($0) || address == there($0) } }

    static let name = "reactor-interop"
    private static func device(_ link: Int) -> String { "rx-interop\(link)" }
    private static let tool = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Whether namespaces and links can be made here; says so loudly when not.
    static func isAvailable() async -> Bool {
        let reason: String
        do {
            try await with { _ in }
            return true
        } catch let failure as ChildProcess.Failure {
            reason = failure.description
        } catch {
            reason = "\(error)"
        }
        let line = String(repeating: "#", count: 100)
        print("\(line)\n# SKIPPED: no network namespaces here, so ICE-09 was not tested: \(reason)\n\(line)")
        return false
    }

    static func with<R>(_ body: (NamespaceNetwork) async throws -> R) async throws -> R {
        await remove()
        do {
            let network = NamespaceNetwork()
            try await network.make()
            let result = try await body(network)
            await remove()
            return result
        } catch {
            await remove()
            throw error
        }
    }

    /// What a runtime needs to run in there.
    var environment: [String: String] { ["NETNS": Self.name, "ADDR": Self.httpAddress] }

    /// Takes the address of `link` away at one end, as if that end had left the network. HTTP goes on over the other link.
    func removeAddress(_ link: Int, here isHere: Bool) async throws {
        try await route(over: Self.links.first { $0 != link } ?? link)
        if isHere {
            try await Self.ip("addr del \(Self.here(link))/24 dev \(Self.device(link))")
        } else {
            try await Self.ip("-n \(Self.name) addr del \(Self.there(link))/24 dev \(Self.device(link))")
        }
    }

    private func make() async throws {
        let name = Self.name
        try await Self.ip("netns add \(name)")
        try await Self.ip("-n \(name) link set lo up")
        try await Self.ip("-n \(name) addr add \(Self.httpAddress)/32 dev lo")
        for link in Self.links {
            let device = Self.device(link)
            try await Self.ip("link add \(device) type veth peer name \(device) netns \(name)")
            try await Self.ip("addr add \(Self.here(link))/24 dev \(device)")
            try await Self.ip("link set \(device) up")
            try await Self.ip("-n \(name) addr add \(Self.there(link))/24 dev \(device)")
            try await Self.ip("-n \(name) link set \(device) up")
        }
        try await route(over: Self.links[0])
    }

    private func route(over link: Int) async throws {
        try await Self.ip("route replace \(Self.httpAddress)/32 via \(Self.there(link)) src \(Self.here(link))")
    }

    private static func remove() async {
        // The links go with the namespace, but only when its last process has gone.
        for link in links { _ = try? await ip("link del \(device(link))") }
        let pids = (try? await ip("netns pids \(name)")) ?? ""
        for pid in pids.split(separator: "\n").compactMap({ pid_t($0) }) { kill(pid, SIGKILL) }
        _ = try? await ip("netns del \(name)")
    }

    @discardableResult
    private static func ip(_ command: String) async throws -> String {
        guard let tool else { throw ChildProcess.Failure(description: "there is no ip command") }
        let (status, output) = await (try ChildProcess(tool, command.split(separator: " ").map(String.init))).finish()
        guard status == 0 else { throw ChildProcess.Failure(description: "ip \(command): \(output)") }
        return output
    }
}
