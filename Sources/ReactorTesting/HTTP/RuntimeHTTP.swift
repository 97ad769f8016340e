// The HTTP API of the embedded runtime (wire-protocol 3): routes over the server, with CORS for browsers. What requests mean is
// decided by the `RuntimeService`; recordings, uploads and events have their own parts.

import Reactor
import ReactorCore
import Synchronization

/// Serves from `init` until ``stop()``, or until nobody holds it.
final class RuntimeHTTP: Sendable {
    typealias Handler = HTTPServer.Handler
    /// Comes between requests and their routes: may answer itself, delay, or change what `next` answered.
    typealias Interceptor = @Sendable (_ request: HTTPServerRequest, _ next: Handler) async -> HTTPServerResponse

    private let server: HTTPServer
    private let events: EventLog

    /// - Parameters:
    ///   - service: held until the server has stopped.
    ///   - host: a numeric address, or `localhost`.
    ///   - port: 0 for any free one.
    /// - Throws: ``HTTPServerError``, at once, when the port is taken.
    init(
        service: any RuntimeService, recordings: any RecordingSource, uploads: UploadStore, events: EventLog, host: String = "127.0.0.1",
        port: Int = 0, limits: HTTPServerLimits = HTTPServerLimits(), interceptor: Interceptor? = nil
    ) throws(HTTPServerError) {
        let counts = RequestCounts()
        let reference = ServerReference()
        let routes = RuntimeRoutes(
            service: service, recordings: recordings, uploads: uploads, events: events, counts: counts, server: reference)
        let answer: Handler = { request in await routes.answer(request) }
        var handler = answer
        if let interceptor { handler = { request in await Self.answer(request, through: interceptor, answer) } }
        self.events = events
        server = try HTTPServer(
            host: host, port: port, limits: limits, commonHeaders: CORS.headers,
            plan: { routes.plan($0) }, handler: handler)
        reference.set(server)
    }

    /// A stream that the interceptor made nothing of has no reader, and so ends.
    private static func answer(
        _ request: HTTPServerRequest, through interceptor: Interceptor, _ routes: @escaping Handler
    ) async -> HTTPServerResponse {
        let made = StreamSlot()
        let response = await interceptor(request) { request in
            let response = await routes(request)
            if case .stream(let stream) = response.body { made.stream.withLock { $0 = stream } }
            return response
        }
        let unread = made.stream.withLock { $0 }
        if case .stream(let sent) = response.body, sent === unread { return response }
        unread?.end()
        return response
    }

    deinit {
        events.finish()
        server.beginStop()
    }

    /// The real one, also when 0 was asked for.
    var port: Int { server.port }
    /// `http://127.0.0.1:8080`, without a slash at the end.
    var url: String { server.url }

    var connectionCount: Int { server.connectionCount }
    var counters: HTTPServerCounters { server.counters }

    /// Closes every connection; afterwards thread and sockets are gone. Not affected by cancellation.
    func stop() async {
        events.finish()
        await server.stop()
    }
}

private final class StreamSlot: Sendable {
    let stream = Mutex<HTTPByteStream?>(nil)
}

enum CORS {
    /// Everybody may ask, nobody with credentials (wire-protocol 3).
    static let headers = [
        HTTPHeader("Access-Control-Allow-Origin", "*"), HTTPHeader("Access-Control-Expose-Headers", "*"),
    ]

    /// The answer to OPTIONS, on every path.
    static func preflight(_ request: HTTPServerRequest) -> HTTPServerResponse {
        var response = HTTPServerResponse(200, text: "OK")
        response.headers += [
            HTTPHeader("Access-Control-Allow-Methods", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"),
            // The wildcard does not cover Authorization, so what is asked for is named.
            HTTPHeader("Access-Control-Allow-Headers", request.header("access-control-request-headers") ?? "*"),
            HTTPHeader("Access-Control-Max-Age", "600"), HTTPHeader("Vary", "Access-Control-Request-Headers"),
        ]
        if request.header("access-control-request-private-network") != nil {
            response.headers.append(HTTPHeader("Access-Control-Allow-Private-Network", "true"))
        }
        return response
    }
}
