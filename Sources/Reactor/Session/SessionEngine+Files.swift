internal import RTCPeer
internal import ReactorCore

// Uploads, clips and recordings (wire protocol §2.8, §2.9).
extension SessionEngine {
    /// The session an upload goes to.
    ///
    /// - Throws: `ReactorError` with code `INVALID_STATE` unless the session is ready.
    func requireUploadSession(for operation: CoreError.Operation, call: String) throws -> String {
        do throws(CoreError) {
            try machine.requireReady(for: operation, call: call)
            guard let id = machine.sessionID, SessionDescriptor.isSafePathComponent(id) else {
                throw CoreError(.invalidState, "there is no session to upload to", operation: operation)
            }
            return id
        } catch {
            throw ReactorError(error)
        }
    }

    /// Tells the platform that a file is there; best effort.
    func announce(_ file: FileRef) {
        sendControl(
            .fileUploaded(UploadReference(uploadID: file.uploadID, name: file.name, mimeType: file.mimeType, size: Int64(file.size))))
    }

    nonisolated func requestClip(seconds: Double) async throws -> Clip {
        let reply = try await call(.clip, named: "requestClip(_:)", on: .control) { id throws(CoreError) in
            try Self.encode(
                ControlClientMessage(requestID: id, kind: .request, payload: .requestClip(durationSeconds: seconds)),
                operation: .requestClip)
        }
        return try Self.clip(reply, of: .clip)
    }

    nonisolated func requestRecording() async throws -> Clip {
        let reply = try await call(.recording, named: "requestRecording()", on: .control) { id throws(CoreError) in
            try Self.encode(ControlClientMessage(requestID: id, kind: .request, payload: .requestRecording), operation: .requestRecording)
        }
        return try Self.clip(reply, of: .recording)
    }

    private nonisolated static func clip(_ reply: Reply, of call: PendingCall) throws -> Clip {
        switch reply {
        case .clip(let clip): return try Clip(payload: JSONValue(clip.wireValue))
        case .failure(let error): throw ReactorError(error)
        case .acknowledged, .model, .schema: throw ReactorError(call.unreadableReply)
        }
    }
}
