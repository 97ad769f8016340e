// wire-protocol 3.3 and 3.4: uploads and clips.

import Reactor
import ReactorCore

extension RuntimeRoutes {
    // MARK: - Uploads

    func reserveUpload(_ request: HTTPServerRequest, _ session: String) async throws(RouteError) -> HTTPServerResponse {
        var body = BodyReader(try request.requiredJSONObject())
        let name = body.optionalString("name") ?? ""
        let mimeType = body.optionalString("mime_type") ?? ""
        let size = body.integer("size", body.raw("size")) ?? 0
        let id = body.optionalString("upload_id")
        try body.check()
        try await requireSession(session)
        let upload = try await asked { () throws(RouteFailure) in
            try uploads.reserve(name: name, mimeType: mimeType, sizeBytes: size, id: id)
        }
        return .json(
            201,
            .object([
                "presigned_id": .string(upload.id), "presigned_url": .string("\(baseURL(request))/uploads/\(upload.id)"),
                "path": .string(upload.path(session: session)),
            ]))
    }

    func finishUpload(_ request: HTTPServerRequest) throws(RouteError) -> HTTPServerResponse {
        guard let receiver = request.sink as? UploadReceiver else { return HTTPServerResponse(500, text: "Internal Server Error") }
        do {
            try uploads.finish(receiver)
        } catch {
            throw .failure(error)
        }
        return HTTPServerResponse(200)
    }

    /// Where the client reached us, so that it also works through a proxy.
    private func baseURL(_ request: HTTPServerRequest) -> String {
        if let host = request.header("host"), Self.isAuthority(host) { return "http://\(host)" }
        return server.url
    }

    /// Characters of a host and a port; nothing that could end the authority of a URL.
    static func isAuthority(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
                    true
                default: false
                }
            }
    }

    // MARK: - Clips

    func playlist(_ request: HTTPServerRequest) throws(RouteError) -> HTTPServerResponse {
        var issues: [ValidationIssue] = []
        let recording = Self.parameter("session_id", request, &issues)
        let start = Self.number("start", request, &issues)
        let end = Self.number("end", request, &issues)
        guard issues.isEmpty, let recording, let start, let end else { throw .invalid(issues) }
        guard start.isFinite, end.isFinite, end > start else {
            throw .failure(RouteFailure(400, "end must be a finite number greater than start"))
        }
        // Thirty years are enough, and fit every integer that counts chunks.
        let bounds = 0...1e9
        let answer = recordings.playlist(
            recording: recording, start: min(max(start, bounds.lowerBound), bounds.upperBound),
            end: min(max(end, bounds.lowerBound), bounds.upperBound))
        switch answer {
        case .ready(let text): return HTTPServerResponse(200, text: text, type: "application/vnd.apple.mpegurl")
        case .notReady(let seconds): return HTTPServerResponse(202, headers: [HTTPHeader("Retry-After", String(seconds))])
        case .unknown: throw .failure(RouteFailure(410, "Recording unknown or aged out"))
        }
    }

    func segment(_ request: HTTPServerRequest, _ recording: String, _ name: String) throws(RouteError) -> HTTPServerResponse {
        switch recordings.segment(recording: recording, name: name) {
        case .noSuchSegment: throw .failure(RouteFailure(404, "Segment not found"))
        case .unknownRecording: throw .failure(RouteFailure(410, "Recording unknown or aged out"))
        case .bytes(let bytes, let isInit): return Self.file(bytes, type: isInit ? "video/mp4" : "video/iso.segment", for: request)
        }
    }

    /// Bytes with a tag, whole or in part (RFC 9110 §8.8.3, §13, §14).
    static func file(_ bytes: [UInt8], type: String, for request: HTTPServerRequest) -> HTTPServerResponse {
        let tag = entityTag(bytes)
        var headers = [HTTPHeader("ETag", tag), HTTPHeader("Accept-Ranges", "bytes")]
        if let known = request.header("if-none-match"), names(known, tag) { return HTTPServerResponse(304, headers: headers) }
        headers.append(HTTPHeader("Content-Type", type))
        var range = request.header("range").map { HTTPByteRange(parsing: $0, length: bytes.count) } ?? .whole
        if let condition = request.header("if-range"), condition != tag { range = .whole }
        switch range {
        case .whole: return HTTPServerResponse(200, headers: headers, body: .bytes(bytes))
        case .part(let part):
            headers.append(HTTPHeader("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(bytes.count)"))
            return HTTPServerResponse(206, headers: headers, body: .bytes(Array(bytes[part])))
        case .unsatisfiable:
            return .error(416, "Range not satisfiable", headers: [HTTPHeader("Content-Range", "bytes */\(bytes.count)")])
        }
    }

    /// FNV-1a over the length and both ends: segments with the same ends and length and another middle do not occur.
    static func entityTag(_ bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes.prefix(2048) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        for byte in bytes.suffix(2048) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return "\"\(String(hash, radix: 16))-\(String(bytes.count, radix: 16))\""
    }

    /// Whether a list of tags has this one; `W/` makes no difference here (RFC 9110 §13.1.2).
    static func names(_ field: String, _ tag: String) -> Bool {
        field.split(separator: ",").contains { entry in
            var text = entry.drop { $0 == " " || $0 == "\t" }
            while let last = text.last, last == " " || last == "\t" { text.removeLast() }
            if text.hasPrefix("W/") { text = text.dropFirst(2) }
            return text == "*" || text == tag
        }
    }

    private static func parameter(_ name: String, _ request: HTTPServerRequest, _ issues: inout [ValidationIssue]) -> String? {
        if let value = request.target.value(name) { return value }
        issues.append(
            ValidationIssue(type: "missing", location: ["query", .string(name)], message: "Field required", input: .null))
        return nil
    }

    private static func number(_ name: String, _ request: HTTPServerRequest, _ issues: inout [ValidationIssue]) -> Double? {
        guard let text = parameter(name, request, &issues) else { return nil }
        if let value = Double(text) { return value }
        issues.append(
            ValidationIssue(
                type: "float_parsing", location: ["query", .string(name)],
                message: "Input should be a valid number, unable to parse string as a number", input: .string(text)))
        return nil
    }
}
