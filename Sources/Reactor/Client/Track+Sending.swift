internal import RTCBase
internal import RTCPeer

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// What the app sends: camera pictures and microphone samples into the model.
extension Track {
    /// Whether this client sends on the track now. Kept by the client: it turns false when the session leaves `.ready`.
    public nonisolated var published: Bool { state.isPublished(name) }

    // MARK: Publishing

    /// Claims the track's slot, so that frames can be pushed.
    ///
    /// ```swift
    /// let webcam = try reactor.track("webcam")
    /// try await webcam.publish()
    /// try webcam.pushFrame(pixels, width: 1280, height: 720)   // BGRA, once per captured frame
    /// ```
    ///
    /// It lasts until ``unpublish()`` or until the session leaves `.ready`; after a reconnect, publish again. Publishing a
    /// published track does nothing. A cancelled task throws `CancellationError`, and the track is unpublished.
    /// - Throws: `ReactorError.invalidState` on a track that this client receives, when the session is not `.ready`, or while
    ///   another `publish()` of the track runs; `.publishRefused` when somebody else sends on it; `.transportError` when the
    ///   server takes no media for the track; `.requestTimeout` after 10 s; `.disconnected` when the connection goes meanwhile.
    public func publish() async throws {
        let operation = "publish_track"
        try Task.checkCancellation()
        guard let engine = state.engine, state.isAlive else { throw ReactorError.clientGone(operation) }
        try requireDirection(state.declaration(of: name), operation: operation)
        try await engine.publish(name)
    }

    /// Gives the slot back; nothing is sent for the track any more. Does nothing on a track that is not published.
    ///
    /// It waits for nobody, so it may be called from anywhere.
    /// - Throws: `ReactorError.invalidState` when the server cannot be told, in which case the track stays published; on a
    ///   track that this client receives; when the client is gone.
    public nonisolated func unpublish() throws {
        let operation = "unpublish_track"
        guard let engine = state.engine, state.isAlive else { throw ReactorError.clientGone(operation) }
        try requireDirection(state.declaration(of: name), operation: operation)
        switch state.beginUnpublish(name) {
        case .notPublished: return
        case .noChannel:
            throw ReactorError(
                .invalidState, "data channel not open (state: Closed); track '\(name)' stays published", operation: operation)
        case .begun: engine.postUnpublish(name)
        }
    }

    /// Bounds the bitrate of this video track, in bits per second. The lower of this and ``Reactor/setBitrate(min:start:max:)``
    /// holds.
    ///
    /// The bounds are kept for the life of the client, over reconnects, and may be set before publishing.
    /// - Parameters:
    ///   - min: the encoder is not asked for less.
    ///   - max: the encoder is not asked for more. By default it follows from the size of the pictures pushed.
    ///   A bound that is `nil` stays as it is.
    /// - Throws: `ReactorError.badRequest` for a negative bound, or unless `min <= max`; `.invalidState` on a track that is
    ///   received or carries audio, and when the client is gone. A cancelled task throws `CancellationError`.
    public func setBitrate(min: Int? = nil, max: Int? = nil) async throws {
        let operation = "set_track_bitrate"
        try Task.checkCancellation()
        guard let engine = state.engine, state.isAlive else { throw ReactorError.clientGone(operation) }
        let declaration = state.declaration(of: name)
        try requireDirection(declaration, operation: operation)
        try requireKind(.video, declaration, operation: operation)
        try await engine.setBitrate(BitrateBounds(min: min, max: max), track: name)
    }

    // MARK: Pushing

    /// Sends one picture.
    ///
    /// Returns at once: a picture that is not yet being encoded when the next one comes is replaced by it. Any thread.
    /// - Parameters:
    ///   - pixels: BGRA, 4 bytes per pixel, rows from top to bottom without padding: exactly `width * height * 4` bytes. Alpha
    ///     is not sent.
    ///   - width: in pixels; it may change from one picture to the next, as `height` may.
    ///   - height: in pixels.
    ///   - userData: bytes that travel with this frame to a model that reads them, unchanged. Keep them small: they are
    ///     outside the bitrate's control.
    ///   - captureTimeUs: when the picture was taken, on the clock of ``Reactor/timeMicros()``; `nil` means now. It should
    ///     grow from frame to frame.
    /// - Throws: `ReactorError.badRequest` when the size, the count of bytes or the capture time cannot be;
    ///   `.invalidState` before ``publish()`` and after the session left `.ready`, on a track that is received or carries audio,
    ///   and when the client is gone.
    public nonisolated func pushFrame(
        _ pixels: Data, width: UInt32, height: UInt32, userData: Data? = nil, captureTimeUs: Int64? = nil
    ) throws {
        try pixels.withUnsafeBytes { pixels in
            if let userData {
                try userData.withUnsafeBytes { userData in
                    try pushFrame(pixels, width: width, height: height, userData: userData, captureTimeUs: captureTimeUs)
                }
            } else {
                try pushFrame(pixels, width: width, height: height, userData: nil, captureTimeUs: captureTimeUs)
            }
        }
    }

    /// Sends one picture from memory that is read during the call only; otherwise as
    /// ``pushFrame(_:width:height:userData:captureTimeUs:)-(Data,_,_,_,_)``. The pixels are not copied: they are converted to
    /// what the encoder takes in one pass.
    ///
    /// - Throws: as the other one.
    public nonisolated func pushFrame(
        _ pixels: UnsafeRawBufferPointer, width: UInt32, height: UInt32, userData: UnsafeRawBufferPointer? = nil,
        captureTimeUs: Int64? = nil
    ) throws {
        try push(pixels, format: .bgra, width: width, height: height, userData: userData, captureTimeUs: captureTimeUs)
    }

    nonisolated func push(
        _ pixels: UnsafeRawBufferPointer, format: PixelFormat, width: UInt32, height: UInt32, userData: UnsafeRawBufferPointer?,
        captureTimeUs: Int64?
    ) throws {
        let standing = state.standing(of: name)
        try requireFit(.video, standing)
        try Self.check(byteCount: pixels.count, width: width, height: height, format: format)
        if let captureTimeUs, captureTimeUs < 0 {
            throw Self.refusal("the capture time is \(captureTimeUs) us; it is a value of Reactor.timeMicros()")
        }
        guard let track = try publishedTrack(standing) else { return }
        var metadata = FrameMetadata(captureTimeMicros: captureTimeUs.map(UInt64.init) ?? 0)
        if let userData, !userData.isEmpty {
            metadata.userData = FrameUserData(memory: MediaBytes(copying: userData.bytes), range: 0..<userData.count)
        }
        track.push(pixels, layout: format.layout, width: Int(width), height: Int(height), metadata: metadata)
    }

    /// Sends one picture in any ``PixelFormat``; otherwise as
    /// ``pushFrame(_:width:height:userData:captureTimeUs:)-(Data,_,_,_,_)``.
    ///
    /// - Throws: as the other one.
    public nonisolated func pushFrame(_ frame: OutgoingVideoFrame) throws {
        try frame.pixels.withUnsafeBytes { pixels in
            guard let userData = frame.userData else { return try push(pixels, of: frame, userData: nil) }
            try userData.withUnsafeBytes { try push(pixels, of: frame, userData: $0) }
        }
    }

    private nonisolated func push(
        _ pixels: UnsafeRawBufferPointer, of frame: OutgoingVideoFrame, userData: UnsafeRawBufferPointer?
    ) throws {
        try push(
            pixels, format: frame.format, width: frame.width, height: frame.height, userData: userData,
            captureTimeUs: frame.captureTimeUs)
    }

    /// Sends samples; any number at a time, though steady chunks of 10 or 20 ms travel best. Any thread.
    ///
    /// - Parameters:
    ///   - samples: signed 16-bit PCM, interleaved: `samples.count` divides by `channels`.
    ///   - sampleRate: 8000, 16000, 24000, 32000, 44100 or 48000 Hz.
    ///   - channels: 1 or 2. A change of format drops what was left over of the last chunk.
    /// - Throws: `ReactorError.badRequest` for another format or a count that does not divide; `.invalidState` before
    ///   ``publish()`` and after the session left `.ready`, on a track that is received or carries video, and when the client
    ///   is gone.
    public nonisolated func pushFrame(_ samples: [Int16], sampleRate: UInt32 = 48000, channels: UInt32 = 1) throws {
        let standing = state.standing(of: name)
        try requireFit(.audio, standing)
        guard Self.sampleRates.contains(sampleRate) else {
            let known = Self.sampleRates.map(String.init).joined(separator: ", ")
            throw Self.refusal("audio of \(sampleRate) Hz is not taken; it takes one of \(known) Hz")
        }
        guard channels == 1 || channels == 2 else { throw Self.refusal("audio has 1 or 2 channels, not \(channels)") }
        guard samples.count.isMultiple(of: Int(channels)) else {
            throw Self.refusal("\(samples.count) samples do not divide by \(channels) channels")
        }
        guard let track = try publishedTrack(standing) else { return }
        samples.withUnsafeBufferPointer { buffer in
            _ = track.push(samples: buffer, sampleRate: Int(sampleRate), channels: Int(channels))
        }
    }

    // MARK: Checks

    private nonisolated func requireFit(_ kind: TrackKind, _ standing: ClientState.Standing) throws {
        guard standing.isAlive else { throw ReactorError.clientGone(Self.pushOperation) }
        try requireDirection(standing.declaration, operation: Self.pushOperation)
        try requireKind(kind, standing.declaration, operation: Self.pushOperation)
    }

    private nonisolated func requireDirection(_ declaration: TrackDeclaration?, operation: String) throws {
        guard declaration?.direction == .recvonly else { return }
        throw ReactorError(
            .invalidState, "track '\(name)' comes from the model; this client receives on it and cannot send", operation: operation)
    }

    private nonisolated func requireKind(_ wanted: TrackKind, _ declaration: TrackDeclaration?, operation: String) throws {
        guard let declaration, declaration.kind.publicKind != wanted else { return }
        throw ReactorError(
            .invalidState, "track '\(name)' carries \(declaration.kind.rawValue), not \(wanted.rawValue)", operation: operation)
    }

    /// Where the frame goes; nil when the connection went between the look and the push.
    private nonisolated func publishedTrack(_ standing: ClientState.Standing) throws -> LocalTrack? {
        guard standing.isPublished else {
            throw ReactorError(
                .invalidState, "track '\(name)' is not published; publish() comes first, also after a reconnect",
                operation: Self.pushOperation)
        }
        return outgoing.current
    }

    private static func check(byteCount: Int, width: UInt32, height: UInt32, format: PixelFormat) throws {
        guard width > 0, height > 0, width <= longestSide, height <= longestSide else {
            throw refusal("a picture of \(width) x \(height) pixels cannot be sent; a side has 1 to \(longestSide)")
        }
        let expected = format.byteCount(width: width, height: height) ?? 0
        guard byteCount == expected else {
            let name = format.rawValue.uppercased()
            throw refusal("\(byteCount) bytes do not fit \(width) x \(height) pixels of \(name), which are \(expected)")
        }
    }

    private static func refusal(_ message: String) -> ReactorError {
        ReactorError(.badRequest, message, operation: pushOperation)
    }

    private static var pushOperation: String { "pushFrame" }
    /// api.md X-9.
    private static var sampleRates: [UInt32] { [8000, 16000, 24000, 32000, 44100, 48000] }
    /// 14 bits in the frame header of VP8 (RFC 6386 §9.1).
    private static var longestSide: UInt32 { 16_383 }
}
