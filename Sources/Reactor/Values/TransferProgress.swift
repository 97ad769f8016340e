#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How far an upload is.
public struct UploadProgress: Sendable, Hashable {
    /// Bytes handed to the network.
    public let sent: Int
    /// Bytes of the file.
    public let total: Int

    init(sent: Int, total: Int) {
        self.sent = sent
        self.total = total
    }
}

/// How far a download is.
public struct DownloadProgress: Sendable, Hashable {
    /// Parts written; the initialization section counts as one.
    public let done: Int
    /// Parts in all, as far as the playlist says so far.
    public let total: Int

    /// Makes a progress from its parts.
    public init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }

    /// From 0 to 1; 0 while nothing is known.
    public var fraction: Double { total > 0 ? min(1, max(0, Double(done) / Double(total))) : 0 }
}

/// A file that was downloaded.
public struct DownloadResult: Sendable, Hashable {
    /// Where it is.
    public let path: URL
    /// Its size.
    public let bytes: Int
    /// Media segments in it, without the initialization section.
    public let segments: Int

    /// Makes a result from its parts.
    public init(path: URL, bytes: Int, segments: Int) {
        self.path = path
        self.bytes = bytes
        self.segments = segments
    }
}

/// What happens in a download, in order.
public enum DownloadEvent: Sendable, Hashable {
    /// The server said "not yet", for the `attempt`th time.
    case waiting(attempt: Int)
    /// A part was written.
    case progress(DownloadProgress)
    /// The file is complete.
    case finished(DownloadResult)
}
