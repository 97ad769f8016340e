#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where requests go: the base URL, checked once, and which of the two protocols is spoken there.
package struct APIEndpoint: Sendable, Hashable {
    /// Without a trailing slash.
    package let baseURL: String
    /// The local-development protocol; accepts self-signed certificates.
    package let isLocal: Bool

    /// - Throws: ``ReactorError`` with code `BAD_REQUEST` for anything but an absolute http or https URL without user,
    ///   query and fragment.
    package init(apiURL: String, local: Bool) throws(ReactorError) {
        var base = Self.trimmed(apiURL)
        if local, base == Self.trimmed(Reactor.defaultAPIURL) { base = Self.trimmed(Reactor.localAPIURL) }
        guard base.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let url = URL(string: base), let scheme = url.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = url.host(), !host.isEmpty
        else {
            throw ReactorError(
                .badRequest, "apiURL is not an absolute http or https URL, such as \(Reactor.localAPIURL)", operation: "create")
        }
        // A URL ends up in messages and captures, so it is no place for a password.
        guard url.user() == nil, url.password() == nil else {
            throw ReactorError(
                .badRequest, "apiURL must not contain a user name or password; credentials go into a token", operation: "create")
        }
        guard url.query() == nil, url.fragment() == nil else {
            throw ReactorError(
                .badRequest, "apiURL must not contain a query or fragment; leave out what follows the path", operation: "create")
        }
        baseURL = base
        isLocal = local
    }

    /// Requests go over TLS: what came this way does not leave in the clear.
    package var isSecure: Bool { baseURL.lowercased().hasPrefix("https:") }

    /// The URL of a path that starts with a slash.
    package func url(_ path: String) -> String { baseURL + path }

    private static func trimmed(_ url: String) -> String {
        var text = url[...]
        while text.hasSuffix("/") { text.removeLast() }
        return String(text)
    }
}
