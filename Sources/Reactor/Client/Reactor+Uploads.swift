internal import ReactorCore

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Reactor {
    /// Uploads a file to the session, to be passed to a command as a named parameter.
    ///
    /// ```swift
    /// let image = try await reactor.uploadFile(at: photoURL)
    /// try await reactor.sendCommand("set_image", uploads: ["image": image])
    /// ```
    ///
    /// The file is read piece by piece while it is sent, on a thread of its own; its name goes along, and its type follows
    /// from the extension.
    /// - Throws: `.invalidState` unless `.ready`; `.badRequest` for a file that is empty or cannot be read; the mapped error
    ///   when the server or the storage refuses it; `.requestTimeout` when the storage takes nothing for a minute; `.aborted`
    ///   when the client is closed meanwhile. A cancelled task throws `CancellationError`: the transfer stops.
    public func uploadFile(at url: URL) async throws -> FileRef {
        try await uploadFile(at: url, name: nil)
    }

    /// Uploads a file under another name or type, and tells how far it is; otherwise as ``uploadFile(at:)``.
    ///
    /// - Parameters:
    ///   - url: a regular file.
    ///   - name: nil means the file's own name.
    ///   - mimeType: such as `image/png`; nil means what the name's extension says.
    ///   - progress: called with bytes sent, on the upload's own thread, one call at a time.
    public func uploadFile(
        at url: URL, name: String?, mimeType: String? = nil, progress: (@Sendable (UploadProgress) -> Void)? = nil
    ) async throws -> FileRef {
        let operation = CoreError.Operation.uploadFile
        let session = try await engine.requireUploadSession(for: operation, call: "uploadFile(at:)")
        let path = try LocalFile.path(of: url, operation: operation.rawValue)
        let given = name ?? url.lastPathComponent
        return try await upload(operation, to: session, name: given, mimeType: mimeType, progress: progress) {
            FileUpload(file: try LocalFile(reading: path, operation: operation.rawValue), operation: operation.rawValue)
        }
    }

    /// Uploads bytes as a file of this name and type; otherwise as ``uploadFile(at:)``.
    public func uploadData(_ data: Data, name: String, mimeType: String) async throws -> FileRef {
        let operation = CoreError.Operation.uploadBytes
        let session = try await engine.requireUploadSession(for: operation, call: "uploadData(_:name:mimeType:)")
        return try await upload(operation, to: session, name: name, mimeType: mimeType, progress: nil) { data }
    }

    private func upload<Source: UploadContent>(
        _ operation: CoreError.Operation, to session: String, name: String, mimeType: String?,
        progress: (@Sendable (UploadProgress) -> Void)?, open: @escaping @Sendable () throws -> Source
    ) async throws -> FileRef {
        let name = name.isEmpty ? "upload" : name
        let type = mimeType.flatMap { $0.isEmpty ? nil : $0 } ?? MIMEType.guess(fileName: name)
        guard MIMEType.isUsable(type) else {
            throw ReactorError(.badRequest, "the MIME type has to read like image/png", operation: operation.rawValue)
        }
        let uploader = FileUploader(api: engine.apiClient(operation), sessionID: session)
        let file = try await untilClosed("\(operation.rawValue)", on: DeliveryThread(name: "upload")) {
            let source = try open()
            guard source.byteCount > 0 else {
                throw ReactorError(.badRequest, "an empty file cannot be uploaded", operation: operation.rawValue)
            }
            return try await uploader.upload(source, name: name, mimeType: type, progress: progress)
        }
        await engine.announce(file)
        return file
    }

    /// Runs `body` on `thread`; it is cancelled with the calling task, and when the client closes.
    private func untilClosed<R: Sendable>(
        _ call: String, on thread: DeliveryThread, _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let statuses = statusUpdates
        return try await withThrowingTaskGroup(of: R.self) { group in
            defer { group.cancelAll() }
            group.addTask(executorPreference: thread) { try await body() }
            group.addTask {
                for await _ in statuses {}
                try Task.checkCancellation()
                throw ReactorError(.aborted, "\(call) was interrupted: the client was closed", operation: call)
            }
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }
}
