// Files that clients upload (wire-protocol 3.3): reserved by a POST, filled by a PUT on the HTTP server's thread, read by
// commands that refer to them. Bytes live in memory until the session ends; a reservation counts with its full size, so that
// a PUT that was promised room has it.

import Synchronization

final class UploadStore: Sendable {
    /// One reserved file.
    struct Upload: Hashable, Sendable {
        /// 32 hexadecimal digits, or what the client chose.
        var id: String
        /// As the client said it; for showing, never for opening a file.
        var name: String
        var mimeType: String
        var sizeBytes: Int

        /// `sessions/{sid}/uploads/{id}/{name}`, the name reduced to what is safe in a path.
        func path(session: String) -> String { "sessions/\(session)/uploads/\(id)/\(Self.safeName(name))" }
    }

    /// All uploads of the session together.
    let maxBytes: Int
    let state = Mutex(State())

    struct State {
        var entries: [String: Entry] = [:]
        var reservedBytes = 0
        var waiters: [String: [UInt64: Waiter]] = [:]
        var nextWaiter: UInt64 = 0
        /// Grows with every `removeAll`, so that an older PUT finds no place.
        var generation: UInt64 = 0

        mutating func remove(_ waiter: UInt64, on id: String) {
            waiters[id]?[waiter] = nil
            if waiters[id]?.isEmpty == true { waiters[id] = nil }
        }
    }

    struct Entry {
        var upload: Upload
        var content = Content.reserved
    }

    enum Waiter {
        case announced
        /// Cancelled or too late before it waited.
        case givenUp
        case waiting(CheckedContinuation<[UInt8]?, Never>)

        var continuation: CheckedContinuation<[UInt8]?, Never>? {
            if case .waiting(let continuation) = self { continuation } else { nil }
        }
    }

    enum Content {
        case reserved
        case receiving(ObjectIdentifier)
        case complete([UInt8])
    }

    init(maxBytes: Int = 256 << 20) { self.maxBytes = maxBytes }

    var reservedBytes: Int { state.withLock { $0.reservedBytes } }
    var count: Int { state.withLock { $0.entries.count } }

    // MARK: - From the routes

    /// - Parameter id: the client's choice, or nil for one of ours.
    func reserve(name: String, mimeType: String, sizeBytes: Int, id: String? = nil) throws(RouteFailure) -> Upload {
        guard !name.isEmpty else { throw RouteFailure(400, "name is required") }
        guard !mimeType.isEmpty else { throw RouteFailure(400, "mime_type is required") }
        guard sizeBytes > 0 else { throw RouteFailure(400, "size must be > 0") }
        if let id, !Self.isUsable(id: id) { throw RouteFailure(400, "upload_id must be 1 to 128 letters, digits, '-' or '_'") }
        guard sizeBytes <= maxBytes else {
            throw RouteFailure(413, "an upload of \(sizeBytes) bytes is larger than the \(maxBytes) bytes this runtime keeps")
        }
        let upload = Upload(id: id ?? Self.newID(), name: name, mimeType: mimeType, sizeBytes: sizeBytes)
        let failure: RouteFailure? = state.withLock { state in
            if state.entries[upload.id] != nil { return RouteFailure(409, "Upload id already reserved") }
            guard state.entries.count < Self.maxUploads else {
                return RouteFailure(507, "this session has \(Self.maxUploads) uploads already")
            }
            guard sizeBytes <= maxBytes - state.reservedBytes else {
                return RouteFailure(
                    507, "the session's uploads take \(state.reservedBytes) of \(maxBytes) bytes, no room for \(sizeBytes) more")
            }
            state.reservedBytes += sizeBytes
            state.entries[upload.id] = Entry(upload: upload)
            return nil
        }
        if let failure { throw failure }
        return upload
    }

    /// Begins a PUT. The receiver is complete only after ``finish(_:)``.
    func receive(id: String, contentLength: Int?) throws(RouteFailure) -> UploadReceiver {
        let result: Result<UploadReceiver, RouteFailure> = state.withLock { state in
            guard let entry = state.entries[id] else { return .failure(RouteFailure(404, "Upload not found")) }
            switch entry.content {
            case .complete: return .failure(RouteFailure(409, "Upload already completed"))
            case .receiving: return .failure(RouteFailure(409, "Upload already in progress"))
            case .reserved: break
            }
            let size = entry.upload.sizeBytes
            if let contentLength, contentLength != size {
                return .failure(RouteFailure(400, "expected \(size) bytes, got \(contentLength)"))
            }
            let receiver = UploadReceiver(store: self, id: id, expectedBytes: size, generation: state.generation)
            state.entries[id]?.content = .receiving(ObjectIdentifier(receiver))
            return .success(receiver)
        }
        return try result.get()
    }

    /// The request behind a receiver is complete. After a failure the upload may be tried again.
    func finish(_ receiver: UploadReceiver) throws(RouteFailure) {
        let (bytes, received) = receiver.take()
        let waiters: [CheckedContinuation<[UInt8]?, Never>]? = state.withLock { state in
            guard isCurrent(receiver, in: state) else { return nil }
            guard received == receiver.expectedBytes else {
                state.entries[receiver.id]?.content = .reserved
                return []
            }
            state.entries[receiver.id]?.content = .complete(bytes)
            return state.waiters.removeValue(forKey: receiver.id)?.values.compactMap(\.continuation) ?? []
        }
        guard let waiters else { throw RouteFailure(404, "Upload not found") }
        guard received == receiver.expectedBytes else {
            throw RouteFailure(400, "expected \(receiver.expectedBytes) bytes, got \(received)")
        }
        for waiter in waiters { waiter.resume(returning: bytes) }
    }

    /// The connection broke off.
    func abandon(_ receiver: UploadReceiver) {
        state.withLock { state in
            if isCurrent(receiver, in: state) { state.entries[receiver.id]?.content = .reserved }
        }
    }

    private func isCurrent(_ receiver: UploadReceiver, in state: State) -> Bool {
        guard receiver.generation == state.generation, case .receiving(let current)? = state.entries[receiver.id]?.content else {
            return false
        }
        return current == ObjectIdentifier(receiver)
    }

    // MARK: - Names

    /// 1024 files are more than any session sends, and each costs some memory beside its bytes.
    private static let maxUploads = 1024

    private static func isUsable(id: String) -> Bool {
        (1...128).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private static func newID() -> String {
        var digits = ""
        for _ in 0..<2 {
            let half = String(UInt64.random(in: .min ... .max), radix: 16)
            digits += String(repeating: "0", count: 16 - half.count) + half
        }
        return digits
    }
}
