// One request and one answer of the embedded HTTP server (RFC 9110).

import Reactor

/// A request whose header has come; `body` is complete when the handler runs.
struct HTTPServerRequest: Sendable {
    var method: String
    var target: HTTPTarget
    /// Names in lower case, in the order they came.
    var headers: [HTTPHeader]
    var body: [UInt8] = []
    /// Where a streamed body went; `body` is empty then.
    var sink: (any HTTPBodySink)?

    /// The first field of this name, in lower case.
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// Nil without a `Content-Length`, for a chunked body.
    var contentLength: Int? { header("content-length").flatMap { Int($0) } }
    var isChunked: Bool { header("transfer-encoding") != nil }
}

/// An answer. `Content-Length`, `Date` and the connection's fields are the server's.
struct HTTPServerResponse: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// Sent as it is written, until it is finished or the client goes.
        case stream(HTTPByteStream)
        /// No answer: the connection is closed.
        case dropped
    }

    var status: Int
    var headers: [HTTPHeader]
    var body: Body

    init(_ status: Int, headers: [HTTPHeader] = [], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    init(_ status: Int, text: String, type: String = "text/plain; charset=utf-8") {
        self.init(status, headers: [HTTPHeader("Content-Type", type)], body: .bytes(Array(text.utf8)))
    }
}

/// Takes a request's body as it arrives, on the server's thread: nothing here waits.
protocol HTTPBodySink: AnyObject, Sendable {
    /// False when it wants no more: the rest is read and thrown away, and the handler runs as soon as the request is complete.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// The request broke off, or its handler is done. What the handler took out stays.
    func abandon()
}

/// What becomes of a request's body, decided when the header has come.
enum HTTPBodyPlan: Sendable {
    /// Kept for the handler; a larger one is answered with 413.
    case collect
    case stream(any HTTPBodySink)
    /// Answered like this, whatever the body is.
    case refuse(HTTPServerResponse)
}
