#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An open file on this machine. Every call may wait for a disk, so none belongs on a shared thread. Errors name the path
/// and the system's reason.
final class LocalFile {
    private let descriptor: Int32
    let path: String
    /// Of the file when it was opened.
    let byteCount: Int
    private let isRegular: Bool
    /// Where the bytes are until ``commit(operation:)``; nil when they go to `path` itself.
    private let part: String?

    /// - Throws: `.badRequest` for a URL that is no file, or a file that cannot be opened.
    static func path(of url: URL, operation: String) throws -> String {
        let path = url.path(percentEncoded: false)
        guard url.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
            throw ReactorError(.badRequest, "not a file URL", operation: operation)
        }
        return path
    }

    /// Opens a regular file to be read.
    init(reading path: String, operation: String) throws {
        // A FIFO would otherwise wait here for its writer.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        self.path = path
        guard descriptor >= 0 else { throw Self.failure("cannot read \(path)", .badRequest, operation: operation) }
        guard let status = Self.status(descriptor), status.isRegular else {
            close(descriptor)
            throw ReactorError(.badRequest, "\(path) is not a regular file", operation: operation)
        }
        isRegular = true
        part = nil
        byteCount = status.byteCount
    }

    /// Creates a hidden file beside the one to be written, which takes its place with ``commit(operation:)``: until then a file of
    /// that name is as it was. A device, a pipe or a link, such as `/dev/stdout`, is written to as it is.
    init(writing path: String, operation: String) throws {
        self.path = path
        byteCount = 0
        var named = stat()
        let isThere = lstat(path, &named) == 0
        let isReplaceable = isThere ? (named.st_mode & S_IFMT) == S_IFREG && named.st_nlink == 1 : errno == ENOENT
        // A file that may not be written to is not replaced either.
        guard !isThere || !isReplaceable || access(path, W_OK) == 0 else {
            throw Self.failure("cannot write \(path)", .badRequest, operation: operation)
        }
        let part = Self.partPath(of: path)
        let made = isReplaceable ? open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666) : -1
        if made >= 0 {
            if isThere { fchmod(made, named.st_mode & 0o7777) }
            descriptor = made
            self.part = part
            isRegular = true
        } else {
            // Also a file in a folder that takes no other.
            descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
            self.part = nil
            guard descriptor >= 0 else { throw Self.failure("cannot write \(path)", .badRequest, operation: operation) }
            isRegular = Self.status(descriptor)?.isRegular ?? false
        }
    }

    /// `folder/clip.mp4` to `folder/.clip.mp4.5f0c….part`; a long name is cut, for a name has 255 bytes at most.
    private static func partPath(of path: String) -> String {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let start = slash.map { path.utf8.index(after: $0) } ?? path.startIndex
        let random = String(UInt64.random(in: 0 ... .max), radix: 16)
        var name = path[start...]
        while name.utf8.count > 200 { name.removeLast() }
        return "\(path[..<start]).\(name).\(random).part"
    }

    /// What was written takes its place.
    func commit(operation: String) throws {
        guard let part, rename(part, path) != 0 else { return }
        throw Self.failure("cannot write \(path)", .internalError, operation: operation)
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8], operation: String) throws {
        try bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                #if canImport(Glibc)
                    let count = Glibc.write(descriptor, bytes.baseAddress! + offset, bytes.count - offset)
                #else
                    let count = Darwin.write(descriptor, bytes.baseAddress! + offset, bytes.count - offset)
                #endif
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw Self.failure("cannot write \(path)", .internalError, operation: operation) }
                offset += count
            }
        }
    }

    /// Takes back everything after `count` bytes; what is written next follows them.
    func truncate(to count: Int, operation: String) throws {
        guard isRegular, ftruncate(descriptor, off_t(count)) == 0, lseek(descriptor, off_t(count), SEEK_SET) >= 0 else {
            throw Self.failure("cannot take back a part of \(path)", .internalError, operation: operation)
        }
    }

    /// Takes back what was written and not committed. A device or pipe stays, and so does a link that leads to the file, such as
    /// `/dev/stdout`: what it leads to is emptied.
    func remove() {
        if let part {
            unlink(part)
            return
        }
        guard isRegular else { return }
        var (own, named) = (stat(), stat())
        if fstat(descriptor, &own) == 0, lstat(path, &named) == 0, own.st_ino == named.st_ino, own.st_dev == named.st_dev {
            unlink(path)
        } else {
            ftruncate(descriptor, 0)
        }
    }

    func read(at offset: Int, count: Int, operation: String) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = pread(descriptor, buffer.baseAddress! + filled, count - filled, off_t(offset + filled))
                if got < 0, errno == EINTR { continue }
                guard got >= 0 else { throw Self.failure("cannot read \(path)", .internalError, operation: operation) }
                guard got > 0 else {
                    throw ReactorError(.badRequest, "\(path) became shorter while it was uploaded", operation: operation)
                }
                filled += got
            }
        }
    }

    private static func status(_ descriptor: Int32) -> (isRegular: Bool, byteCount: Int)? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        return ((status.st_mode & S_IFMT) == S_IFREG, Int(status.st_size))
    }

    private static func failure(_ text: String, _ code: ReactorError.Code, operation: String) -> ReactorError {
        ReactorError(code, "\(text): \(String(cString: strerror(errno)))", operation: operation)
    }
}
