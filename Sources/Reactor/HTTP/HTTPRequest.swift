/// One HTTP request, with the limits it has to keep.
package struct HTTPRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"

        /// Repeating it after an ambiguous failure does no harm (RFC 9110 §9.2.2).
        package var isIdempotent: Bool { self != .post }
    }

    /// What to do with a 3xx answer that names another place.
    package enum Redirects: Sendable, Hashable {
        /// The 3xx is the answer.
        case returned
        /// Follow, at most this many times; credentials are dropped when the origin changes. A redirect that would turn a POST
        /// or PUT into a GET is returned unless `changesMethod`: an API call that becomes a GET does something else.
        case followed(maxHops: Int, changesMethod: Bool)
    }

    package var method: Method
    /// Absolute, `http` or `https`.
    package var url: String
    package var headers: [HTTPHeader]
    /// Nil sends no body and no `Content-Type`.
    package var body: [UInt8]?
    /// Name lookup, TCP and TLS together.
    package var connectTimeout: Duration = .seconds(10)
    /// Everything from `send` to the last byte of the answer, redirects included.
    package var totalTimeout: Duration = .seconds(30)
    /// How long nothing may move, for transfers whose whole length says nothing; nil for no such limit.
    package var stallTimeout: Duration?
    /// Bound of the decoded body; a larger one fails the request.
    package var maxResponseBytes = 4 << 20
    /// False accepts any certificate; for local development only.
    package var verifiesTLS = true
    package var redirects: Redirects = .returned
    /// Whether the request may be sent a second time when a kept-alive connection turns out to be dead after the body left.
    /// A `POST` that creates something says no: the server may have acted on the first one.
    package var isRepeatable: Bool
    /// False asks for the bytes as they are, without a content encoding.
    package var isCompressible = true
    /// A body that is streamed in place of `body`. It is never sent twice, so it goes over a connection of its own.
    var outgoing: OutgoingBody?
    /// Where the body of the expected answer goes in place of the response.
    var incoming: IncomingBody?

    package init(_ method: Method, _ url: String, headers: [HTTPHeader] = [], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        isRepeatable = method.isIdempotent
    }
}

package struct HTTPHeader: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// A header that authenticates, and so never leaves for another origin and never appears in a message.
    package var isCredential: Bool {
        let lower = name.lowercased()
        return lower == "authorization" || lower == "reactor-api-key" || lower == "cookie" || lower == "proxy-authorization"
    }

    /// A token for a name, no control character in the value (RFC 9110 §5.5): anything else could smuggle in another header.
    var isWellFormed: Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ";") }
            && value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }
}
