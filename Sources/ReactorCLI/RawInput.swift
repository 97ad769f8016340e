internal import Foundation
internal import Synchronization

/// Bytes from a file or a pipe, read in blocks of a fixed size on a thread that may wait.
final class RawInput {
    private let descriptor: Int32
    private let isOwned: Bool

    /// - Parameter path: `-` is standard input.
    init(_ path: String) throws {
        if path == "-" {
            guard isatty(STDIN_FILENO) == 0 else { throw UsageError("standard input is a terminal; pipe raw frames or samples into it") }
            descriptor = STDIN_FILENO
            isOwned = false
        } else {
            descriptor = open(path, O_RDONLY | O_CLOEXEC)
            isOwned = true
            guard descriptor >= 0 else { throw CommandFailure("cannot read \(path): \(String(cString: strerror(errno)))") }
        }
    }

    deinit { if isOwned { close(descriptor) } }

    enum Block: Equatable {
        case full
        /// The input ended with this many bytes of a block.
        case end(left: Int)
        case stopped
    }

    /// Fills `buffer`, looking at `isStopped` while it waits.
    func read(into buffer: UnsafeMutableRawBufferPointer, isStopped: () -> Bool) throws -> Block {
        var filled = 0
        while filled < buffer.count {
            if isStopped() { return .stopped }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&entry, 1, 50)
            if ready == 0 || (ready < 0 && errno == EINTR) { continue }
            let count = Foundation.read(descriptor, buffer.baseAddress! + filled, buffer.count - filled)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count >= 0 else { throw CommandFailure("cannot read the input: \(String(cString: strerror(errno)))") }
            if count == 0 { return .end(left: filled) }
            filled += count
        }
        return .full
    }
}

/// When the next frame is due, at a steady rate; a source that is late does not make the next ones come faster.
struct Pace {
    private let intervalMicros: Double
    private var next: Double?

    init(perSecond rate: Double) { intervalMicros = 1e6 / rate }

    /// How long to wait at `now`, in microseconds.
    mutating func delay(now: Int64) -> Int64 {
        let due = next ?? Double(now)
        let late = Double(now) - due
        next = (late > intervalMicros ? Double(now) : due) + intervalMicros
        return Int64(max(0, -late))
    }
}
