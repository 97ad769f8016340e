#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// Sending from sequences, spans and within a scope.
extension Track {
    /// Sends one picture from a span; otherwise as ``pushFrame(_:width:height:userData:captureTimeUs:)-(Data,_,_,_,_)``, in any
    /// ``PixelFormat``. The pixels are not copied: they are converted to what the encoder takes in one pass.
    ///
    /// - Throws: as the other one.
    public nonisolated func pushFrame(
        _ pixels: RawSpan, width: UInt32, height: UInt32, format: PixelFormat = .bgra, userData: Data? = nil,
        captureTimeUs: Int64? = nil
    ) throws {
        try pixels.withUnsafeBytes { pixels in
            guard let userData else {
                return try push(pixels, format: format, width: width, height: height, userData: nil, captureTimeUs: captureTimeUs)
            }
            try userData.withUnsafeBytes {
                try push(pixels, format: format, width: width, height: height, userData: $0, captureTimeUs: captureTimeUs)
            }
        }
    }

    /// Sends every picture of a sequence as it comes, until the sequence ends.
    ///
    /// ```swift
    /// try await webcam.withPublished { webcam in try await webcam.send(camera.frames) }
    /// ```
    ///
    /// The sequence sets the pace: a picture that is not yet being encoded when the next one comes is replaced by it.
    /// - Throws: what the sequence throws; what ``pushFrame(_:)`` throws, at the first picture it refuses. A cancelled task throws
    ///   `CancellationError`.
    public func send<S: AsyncSequence & Sendable>(_ frames: S) async throws where S.Element == OutgoingVideoFrame {
        for try await frame in frames {
            try Task.checkCancellation()
            try pushFrame(frame)
        }
        try Task.checkCancellation()
    }

    /// Publishes the track, runs `body`, and gives the slot back on every way out.
    ///
    /// - Returns: what `body` returns.
    /// - Throws: as ``publish()``; what `body` throws; as ``unpublish()`` when `body` returned. A loss of the connection meanwhile
    ///   is not thrown by itself: the next push is refused.
    public func withPublished<R: Sendable>(_ body: @Sendable (Track) async throws -> R) async throws -> R {
        try await publish()
        let result: R
        do {
            result = try await body(self)
        } catch {
            try? unpublish()
            throw error
        }
        // Gone with the connection, or given back by the body: nothing is left to do.
        if published { try unpublish() }
        return result
    }
}
