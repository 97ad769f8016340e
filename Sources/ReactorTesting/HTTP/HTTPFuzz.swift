import ReactorCore

/// Entry points for fuzzing: ordinary functions over bytes, compiled in every build so that they cannot rot. Each returns for any
/// input, in time and memory bounded by the input's size; the result says whether what has to hold did.
enum HTTPFuzz {
    /// Request targets. What reads must read the same when every byte of it is escaped.
    static func target(_ bytes: [UInt8]) -> Bool {
        guard let target = HTTPTarget(parsing: String(decoding: bytes, as: UTF8.self)) else { return true }
        _ = Route(target.path)?.label
        let path = target.path.map(escaped).joined(separator: "/")
        let query = target.query.map { escaped($0.name) + "=" + escaped($0.value) }.joined(separator: "&")
        return HTTPTarget(parsing: "/\(path)?\(query)") == target
    }

    /// Fields of the header: ranges stay within the file.
    static func fields(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        _ = RuntimeRoutes.names(text, "\"a-b\"")
        _ = RuntimeRoutes.isAuthority(text)
        return [0, 1, 100, Int.max].allSatisfy { length in
            guard case .part(let part) = HTTPByteRange(parsing: text, length: length) else { return true }
            return !part.isEmpty && part.lowerBound >= 0 && part.upperBound <= length
        }
    }

    /// Names of files: what is left of one stays in its folder.
    static func fileName(_ bytes: [UInt8]) -> Bool {
        let name = UploadStore.Upload.safeName(String(decoding: bytes, as: UTF8.self))
        let bytes = name.utf8
        return (1...255).contains(bytes.count) && bytes.first != UInt8(ascii: ".") && !bytes.contains(UInt8(ascii: "/"))
            && !bytes.contains(UInt8(ascii: "\\"))
    }

    /// Bodies of all routes. What is refused is refused with 422 or 400.
    static func body(_ bytes: [UInt8]) -> Bool {
        guard let target = HTTPTarget(parsing: "/") else { return false }
        let request = HTTPServerRequest(method: "POST", target: target, headers: [], body: bytes)
        var statuses: [Int] = []
        func attempt(_ read: () throws(RouteError) -> Void) {
            do throws(RouteError) { try read() } catch { statuses.append(error.response.status) }
        }
        attempt { () throws(RouteError) in _ = try StartRequest(members: try request.jsonObject(.dictionary) ?? [:]) }
        attempt { () throws(RouteError) in _ = try OfferRequest(members: try request.requiredJSONObject()) }
        attempt { () throws(RouteError) in
            let members = try request.requiredJSONObject()
            var body = BodyReader(members)
            for key in members.keys.sorted() {
                _ = body.bool(key, default: false)
                _ = body.integer(key, body.raw(key))
                _ = body.list(key, body.raw(key), maxCount: 3)
                _ = body.word(key, of: ["a", "b"])
            }
            try body.check()
        }
        return statuses.allSatisfy { $0 == 422 || $0 == 400 }
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
