// One libcurl easy handle: a request going out, an answer coming in. Lives on the HTTP thread from the first option to the
// last callback.

import CCurl

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Not Sendable: made, driven and freed on the HTTP thread, which keeps it alive while libcurl holds its address.
final class CurlTransfer {
    let call: HTTPCall
    let easy: UnsafeMutableRawPointer
    private var headerList: UnsafeMutablePointer<curl_slist>?
    /// A copy of the request body with a stable address, and how much of it the read callback gave away.
    private let body: UnsafeMutableRawBufferPointer
    private var bodyOffset = 0
    /// libcurl writes its own words for a failure here.
    private let errorText: UnsafeMutablePointer<CChar>

    private var headers: [HTTPHeader] = []
    private var headerByteCount = 0
    private var received: [UInt8] = []
    private var isTooLarge = false

    init(_ call: HTTPCall) throws(HTTPError) {
        guard let easy = curl_easy_init() else { throw HTTPError(.internalFailure, "curl_easy_init failed") }
        let request = call.request
        self.call = call
        self.easy = easy
        body = UnsafeMutableRawBufferPointer.allocate(byteCount: request.body?.count ?? 0, alignment: 1)
        body.copyBytes(from: request.body ?? [])
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try configure(request)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headerList)
        body.deallocate()
        errorText.deallocate()
    }

    // MARK: - Options

    private func configure(_ request: HTTPRequest) throws(HTTPError) {
        let host = try Self.checkedHost(of: request.url)
        for header in request.headers where !header.isWellFormed {
            throw HTTPError(.invalidRequest, "the header \(header.name) holds a line break or another character that headers cannot carry")
        }
        try check(reactor_curl_limit_protocols(easy))
        try set(CURLOPT_URL, request.url)
        try set(CURLOPT_NOSIGNAL, 1)
        try check(reactor_curl_set_quick_exit(easy))
        try set(CURLOPT_CONNECTTIMEOUT_MS, Self.limit(request.connectTimeout))
        try set(CURLOPT_TIMEOUT_MS, Self.limit(request.totalTimeout))
        if let stall = request.stallTimeout {
            try set(CURLOPT_LOW_SPEED_LIMIT, 1)
            try set(CURLOPT_LOW_SPEED_TIME, max(1, Self.limit(stall) / 1000))
        }
        // Asking for these two makes libcurl decode them; the size limit counts decoded bytes.
        if request.isCompressible { try set(CURLOPT_ACCEPT_ENCODING, "gzip, deflate") }
        if !request.verifiesTLS {
            try set(CURLOPT_SSL_VERIFYPEER, 0)
            try set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        // A proxy from the environment is for the world outside, never for this machine.
        if Self.isLoopback(host) { try set(CURLOPT_PROXY, "") }

        let user = Unmanaged.passUnretained(self).toOpaque()
        try check(reactor_curl_set_pointer(easy, CURLOPT_PRIVATE, user))
        try check(reactor_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText))
        try check(reactor_curl_set_header(easy, { CurlTransfer.from($3)?.takeHeader($0, $1 * $2) ?? 0 }, user))
        try check(reactor_curl_set_write(easy, { CurlTransfer.from($3)?.takeBody($0, $1 * $2) ?? 0 }, user))
        try configureBody(request, user)
        try configureHeaders(request)
    }

    private func configureBody(_ request: HTTPRequest, _ user: UnsafeMutableRawPointer) throws(HTTPError) {
        if request.method == .head { try set(CURLOPT_NOBODY, 1) }
        if let outgoing = request.outgoing {
            try set(CURLOPT_UPLOAD, 1)
            try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
            try check(reactor_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, Int64(outgoing.byteCount)))
            // A kept-alive connection may be dead, which shows after bytes are gone that come only once.
            try set(CURLOPT_FRESH_CONNECT, 1)
            return try check(reactor_curl_set_read(easy, { CurlTransfer.from($3)?.giveStream($0, $1 * $2) ?? 0 }, user))
        }
        guard request.body != nil || request.method == .post || request.method == .put else {
            return try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }
        try set(CURLOPT_POST, 1)
        try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        try check(reactor_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int64(body.count)))
        if request.isRepeatable || body.isEmpty {
            try check(reactor_curl_set_pointer(easy, CURLOPT_POSTFIELDS, UnsafeRawPointer(body.baseAddress) ?? UnsafeRawPointer(errorText)))
        } else {
            // A body behind a read callback that cannot rewind: libcurl then gives up, where with a buffer it would send
            // the request again on a new connection after a kept-alive one died under it.
            try check(reactor_curl_set_read(easy, { CurlTransfer.from($3)?.giveBody($0, $1 * $2) ?? 0 }, user))
        }
    }

    private func configureHeaders(_ request: HTTPRequest) throws(HTTPError) {
        var lines = request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        // libcurl adds these to requests with a body unless told not to.
        lines.append("Expect:")
        if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) { lines.append("Content-Type:") }
        for line in lines {
            guard let list = curl_slist_append(headerList, line) else { throw HTTPError(.internalFailure, "curl_slist_append failed") }
            headerList = list
        }
        try check(reactor_curl_set_list(easy, CURLOPT_HTTPHEADER, headerList))
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPError) { try check(reactor_curl_set_long(easy, option, value)) }
    private func set(_ option: CURLoption, _ value: String) throws(HTTPError) { try check(reactor_curl_set_string(easy, option, value)) }

    private func check(_ code: CURLcode) throws(HTTPError) {
        guard code == CURLE_OK else { throw HTTPError(.internalFailure, "curl_easy_setopt failed with code \(code.rawValue)") }
    }

    /// libcurl takes a zero for "no limit", so the shortest limit is 1 ms.
    private static func limit(_ duration: Duration) -> Int { Int(min(max(1, duration.wholeMilliseconds), 0x7FFF_FFFF)) }

    private static func checkedHost(of url: String) throws(HTTPError) -> String {
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let parsed = URL(string: url), let scheme = parsed.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = parsed.host(), !host.isEmpty
        else { throw HTTPError(.invalidRequest, "not an absolute http or https URL") }
        return host
    }

    static func isLoopback(_ host: String) -> Bool {
        let host = host.lowercased()
        return host == "localhost" || host.hasPrefix("127.") || host == "::1" || host == "[::1]"
    }

    // MARK: - Callbacks

    private static func from(_ user: UnsafeMutableRawPointer?) -> CurlTransfer? {
        user.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func takeHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        headerByteCount += count
        guard headerByteCount <= maxHeaderBytes else {
            isTooLarge = true
            return 0
        }
        let line = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // Another block begins: what came before belonged to an interim answer.
            headers.removeAll()
        } else if let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) {
            headers.append(HTTPHeader(String(line[..<colon]), line[line.index(after: colon)...].trimmingASCIISpace()))
        }
        return count
    }

    private func takeBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        if let incoming = call.request.incoming, status == incoming.expectedStatus {
            return incoming.put(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : Int(CURL_WRITEFUNC_PAUSE)
        }
        guard received.count + count <= call.request.maxResponseBytes else {
            isTooLarge = true
            return 0
        }
        received.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return count
    }

    private func giveBody(_ bytes: UnsafeMutablePointer<CChar>?, _ capacity: Int) -> Int {
        let count = min(capacity, body.count - bodyOffset)
        guard count > 0, let bytes, let base = body.baseAddress else { return 0 }
        UnsafeMutableRawPointer(bytes).copyMemory(from: base + bodyOffset, byteCount: count)
        bodyOffset += count
        return count
    }

    private func giveStream(_ bytes: UnsafeMutablePointer<CChar>?, _ capacity: Int) -> Int {
        guard let outgoing = call.request.outgoing else { return Int(CURL_READFUNC_ABORT) }
        switch outgoing.take(into: UnsafeMutableRawBufferPointer(start: bytes, count: capacity)) {
        case .bytes(let count): return count
        case .end: return 0
        case .pause: return Int(CURL_READFUNC_PAUSE)
        case .abort: return Int(CURL_READFUNC_ABORT)
        }
    }

    /// Both directions go on; the callbacks pause again when there is still nothing to do.
    func resume() { curl_easy_pause(easy, CURLPAUSE_CONT) }

    // MARK: - Result

    /// Of the answer whose head has come; 0 before.
    private var status: Int {
        var status = 0
        return reactor_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0
    }

    func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPError> {
        guard code == CURLE_OK else { return .failure(failure(code)) }
        let status = status
        guard status > 0 else {
            return .failure(HTTPError(.malformedResponse, "an answer without a status"))
        }
        return .success(HTTPResponse(status: status, headers: headers, body: received))
    }

    private func failure(_ code: CURLcode) -> HTTPError {
        let request = call.request
        if isTooLarge { return HTTPError(.responseTooLarge, "the answer is larger than \(request.maxResponseBytes) bytes") }
        let own = String(cString: errorText)
        let text = own.isEmpty ? String(cString: curl_easy_strerror(code)) : own
        let kind: HTTPError.Kind
        switch code {
        case CURLE_OPERATION_TIMEDOUT:
            return HTTPError(.timedOut, "no complete answer: \(text)")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: kind = .resolveFailed
        case CURLE_COULDNT_CONNECT: kind = .connectFailed
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CERTPROBLEM:
            kind = .tlsFailed
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2, CURLE_HTTP2_STREAM:
            kind = .malformedResponse
        case CURLE_URL_MALFORMAT: kind = .invalidRequest
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_BAD_FUNCTION_ARGUMENT: kind = .internalFailure
        default: kind = .connectionLost
        }
        return HTTPError(kind, text)
    }

    /// Servers in use send less than 2 KiB.
    private let maxHeaderBytes = 128 << 10
}

extension Substring {
    fileprivate func trimmingASCIISpace() -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        var bytes = utf8[...]
        while let first = bytes.first, isSpace(first) { bytes.removeFirst() }
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return String(Substring(bytes))
    }
}

extension Duration {
    /// Rounded up to whole milliseconds.
    var wholeMilliseconds: Int64 {
        // Taken apart only within bounds: `components` traps on what is longer than 2^63 seconds.
        if self >= .milliseconds(Int64.max) { return .max }
        if self <= .milliseconds(Int64.min) { return .min }
        let (seconds, attoseconds) = components
        return (seconds * 1000).addingReportingOverflow((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000).partialValue
    }
}
