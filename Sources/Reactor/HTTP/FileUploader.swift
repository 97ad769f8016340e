import ReactorCore

/// Uploads to a session (wire-protocol §2.8, §3.3): a place is asked for, then the bytes go there.
///
/// Runs where its caller runs, and reads there: the caller gives it a thread of its own.
struct FileUploader: Sendable {
    var api: APIClient
    let sessionID: String
    /// How long the storage may take nothing, or think about what it got.
    var stallTimeout: Duration = .seconds(60)

    /// - Throws: ``ReactorError``; `CancellationError` when the task is cancelled, after which nothing is sent any more.
    func upload(
        _ source: some UploadContent, name: String, mimeType: String, progress: ((UploadProgress) -> Void)?
    ) async throws -> FileRef {
        let total = source.byteCount
        let body = CreateUploadBody(name: name, sizeBytes: total, mimeType: mimeType)
        let bytes = try api.encode { () throws(WireFormatError) in try body.encode() }
        let created = try await api.send(
            APIClient.Call(
                context: .createUpload, method: .post, path: "/sessions/\(sessionID)/uploads", body: bytes, sessionID: sessionID,
                limit: api.limits.request))
        let place = try api.decode(.createUpload) { () throws(WireFormatError) in try CreateUploadResponse(parsing: created.body) }

        // The URL carries its own permission; storage refuses a second one.
        var request = HTTPRequest(.put, try checked(place.presignedURL), headers: [HTTPHeader("Content-Type", mimeType)])
        request.connectTimeout = api.limits.connect
        request.stallTimeout = stallTimeout
        request.totalTimeout = .seconds(7 * 86_400)
        request.verifiesTLS = !api.endpoint.isLocal
        let response: HTTPResponse
        do {
            response = try await api.http.upload(request, from: source) { progress?(UploadProgress(sent: $0, total: total)) }
        } catch let error as HTTPError {
            throw ReactorError(api.failure(error, .presignedUpload, limit: stallTimeout))
        }
        guard response.isSuccess else { throw api.failure(response, .presignedUpload, secrets: [place.presignedURL]) }
        return FileRef(uploadID: place.uploadID, name: name, mimeType: mimeType, size: total)
    }

    private func checked(_ url: String) throws -> String {
        guard let place = URLReference(url), let origin = place.origin,
            origin.scheme == "https" || !api.endpoint.isSecure
        else {
            throw ReactorError(
                CoreError(.decodeFailed, "unreadable answer from create upload: no usable place to upload to", operation: api.operation))
        }
        return place.text
    }
}

/// A file to upload, opened once, so that what is sent is what was measured.
struct FileUpload: UploadContent {
    let file: LocalFile
    let operation: String

    var byteCount: Int { file.byteCount }
    func read(at offset: Int, count: Int) throws -> [UInt8] { try file.read(at: offset, count: count, operation: operation) }
}
