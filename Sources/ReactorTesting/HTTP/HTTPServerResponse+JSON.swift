import Reactor
import ReactorCore

extension HTTPServerResponse {
    static func json(_ status: Int, _ value: WireValue, headers: [HTTPHeader] = []) -> HTTPServerResponse {
        guard let bytes = try? JSONText.write(value) else { return HTTPServerResponse(500, text: "Internal Server Error") }
        return HTTPServerResponse(status, headers: [HTTPHeader("Content-Type", "application/json")] + headers, body: .bytes(bytes))
    }

    /// `{"detail": ...}`.
    static func error(_ status: Int, _ detail: String, headers: [HTTPHeader] = []) -> HTTPServerResponse {
        json(status, .object(["detail": .string(detail)]), headers: headers)
    }

    static func error(_ failure: RouteFailure) -> HTTPServerResponse {
        let wait = failure.retryAfterSeconds.map { [HTTPHeader("Retry-After", String($0))] } ?? []
        return error(failure.status, failure.detail, headers: wait)
    }
}
