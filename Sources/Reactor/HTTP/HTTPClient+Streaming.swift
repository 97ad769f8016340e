#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HTTPClient {
    /// Sends the request and hands the body of its answer to `write` piece by piece, on the caller's executor.
    ///
    /// Memory stays bounded: the transfer pauses while `write` is behind. Only an answer with `status` is written; the body
    /// of any other one is in the response.
    ///
    /// - Throws: what `write` throws, after the transfer has ended; otherwise as ``send(_:)``.
    func download(
        _ request: HTTPRequest, expecting status: Int, _ write: ([UInt8]) throws -> Void
    ) async throws -> HTTPResponse {
        let body = IncomingBody(expectedStatus: status)
        var request = request
        request.incoming = body
        request.isCompressible = false
        let sent = request
        async let response = answer(to: sent, finishing: body)
        while let bytes = await body.next() { try write(bytes) }
        return try await response
    }

    private func answer(to request: HTTPRequest, finishing body: IncomingBody) async throws -> HTTPResponse {
        defer { body.finish() }
        return try await send(request)
    }

    /// Sends the request with a body that `source` gives piece by piece, on the caller's executor. A redirect that keeps
    /// the method is followed with the body from its start.
    ///
    /// - Parameter sent: how much of the body has left, after each piece.
    /// - Throws: what `source` throws, after the transfer has ended; otherwise as ``send(_:)``.
    func upload(
        _ request: HTTPRequest, from source: some UploadContent, sent: (Int) -> Void
    ) async throws -> HTTPResponse {
        var request = request
        request.redirects = .returned
        for _ in 0...Self.maxUploadRedirects {
            let response = try await uploadOnce(request, from: source, sent: sent)
            guard response.status == 307 || response.status == 308,
                let next = try Self.redirected(request, by: response, changesMethod: false)
            else { return response }
            request = next
        }
        throw HTTPError(.badRedirect, "more than \(Self.maxUploadRedirects) redirects")
    }

    private func uploadOnce(
        _ request: HTTPRequest, from source: some UploadContent, sent: (Int) -> Void
    ) async throws -> HTTPResponse {
        let body = OutgoingBody(byteCount: source.byteCount)
        var request = request
        request.outgoing = body
        let begun = request
        async let response = answer(to: begun, closing: body)
        var offset = 0
        do {
            while offset < source.byteCount {
                let bytes = try source.read(at: offset, count: min(Self.pieceBytes, source.byteCount - offset))
                guard await body.put(bytes) else { break }
                offset += bytes.count
                sent(offset)
            }
        } catch {
            body.close()
            throw error
        }
        body.finish()
        return try await response
    }

    private func answer(to request: HTTPRequest, closing body: OutgoingBody) async throws -> HTTPResponse {
        defer { body.close() }
        return try await send(request)
    }

    /// What an upload holds in memory.
    private static let pieceBytes = 256 << 10
    private static let maxUploadRedirects = 5
}

/// Bytes to upload, readable more than once.
protocol UploadContent: SendableMetatype {
    var byteCount: Int { get }
    /// Exactly `count` bytes. May wait for a disk.
    func read(at offset: Int, count: Int) throws -> [UInt8]
}

extension Data: UploadContent {
    var byteCount: Int { count }
    func read(at offset: Int, count: Int) -> [UInt8] { Array(self[startIndex + offset..<startIndex + offset + count]) }
}
