/// What the server answered: any status, the body decoded (gzip, deflate, chunked) and complete.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var headers: [HTTPHeader]
    package var body: [UInt8]
    /// Where it came from, after redirects.
    package var url = ""

    package init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package var isSuccess: Bool { (200..<300).contains(status) }

    /// The first header of that name, in any case.
    package func header(_ name: String) -> String? {
        let lower = name.lowercased()
        return headers.first { $0.name.lowercased() == lower }?.value
    }

    /// `Retry-After` in milliseconds when it is a non-negative finite number of seconds; its date form gives no hint.
    package var retryAfterMS: Double? {
        guard let text = header("Retry-After"), let seconds = Double(text), seconds.isFinite, seconds >= 0 else { return nil }
        return seconds * 1000
    }
}
