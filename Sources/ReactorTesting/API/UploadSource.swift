// What the runtime asks of the uploads (wire-protocol 3.3).

/// A file that is there.
struct ReceivedUpload: Sendable {
    var id: String
    var name: String
    var mimeType: String
    var bytes: [UInt8]
}

/// Thread-safe.
protocol UploadSource: Sendable {
    /// The file once its bytes are there; nil when they do not come within `limit`, when the task is cancelled, and for an id
    /// that nobody reserved.
    func upload(_ id: String, waitingAtMost limit: Duration) async -> ReceivedUpload?
    /// The session has ended: its files are forgotten.
    func removeAll()
}
