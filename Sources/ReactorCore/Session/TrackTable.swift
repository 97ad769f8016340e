/// The declared tracks of a session and what each is doing (wire-protocol 6).
///
/// In: declarations, mids of a negotiation, pause/resume/publish/unpublish of the app, leaving `ready`. Out: what synchronous readers
/// see, and whether a call is allowed. Left out: media. Publishing belongs to one connection: whenever the status leaves `ready`,
/// nothing is published any more (T-13), and a grant that comes back under an older generation is void.
package struct TrackTable: Hashable, Sendable {
    /// In declaration order, which is m-line order.
    package private(set) var entries: [Entry] = []

    package struct Entry: Hashable, Sendable {
        package let track: DeclaredTrack
        /// From the last negotiation.
        package fileprivate(set) var mid: String?
        /// Paused by the app on this connection.
        package fileprivate(set) var isPaused = false
        package fileprivate(set) var publication = Publication.none
        /// The slot may still be ours on the runtime's side after a reconnect; it has to be given back before it can be claimed.
        fileprivate var mayStillHoldSlot = false
        /// Asked for in this session. An `unpublish_track` may be lost with the connection it went out on.
        fileprivate var wasClaimed = false

        package var isPublished: Bool {
            if case .granted = publication { return true }
            return false
        }
    }

    package enum Publication: Hashable, Sendable {
        case none
        /// Asked for, on the connection of this generation.
        case requested(Generation)
        case granted(Generation)
    }

    package enum PublishStart: Hashable, Sendable {
        /// Send the request; `unpublishFirst` asks for an `unpublish_track` notification before it (wire-protocol 6.4).
        case request(unpublishFirst: Bool)
        /// Nothing to do.
        case alreadyPublished
    }

    package init() {}

    package var names: [String] { entries.map(\.track.name) }
    package var pausedNames: Set<String> { Set(entries.lazy.filter(\.isPaused).map(\.track.name)) }
    package var publishedNames: Set<String> { Set(entries.lazy.filter(\.isPublished).map(\.track.name)) }
    /// Model outputs in declaration order: what is resumed when a connection becomes ready.
    package var outputNames: [String] { entries.filter { $0.track.direction == .recvonly }.map(\.track.name) }

    package subscript(name: String) -> Entry? { entries.first { $0.track.name == name } }

    package func isPublished(_ name: String) -> Bool { self[name]?.isPublished ?? false }

    // MARK: Session

    package mutating func declare(_ tracks: [DeclaredTrack]) { entries = tracks.map { Entry(track: $0) } }

    package mutating func setMID(_ mid: String, of name: String) {
        if let index = index(name) { entries[index].mid = mid }
    }

    /// The connection is gone, the session may stay: everything that belonged to the connection ends.
    package mutating func leaveReady() {
        for index in entries.indices {
            entries[index].isPaused = false
            if entries[index].wasClaimed { entries[index].mayStillHoldSlot = true }
            entries[index].publication = .none
        }
    }

    /// The session is gone.
    package mutating func removeAll() { entries = [] }

    // MARK: Calls

    /// Checks `pause()`; the name becomes paused. Pausing twice is fine.
    package mutating func pause(_ name: String) throws(CoreError) { try setPaused(true, name, operation: .pauseTrack) }

    /// Checks `resume()`; the name is no longer paused.
    package mutating func resume(_ name: String) throws(CoreError) { try setPaused(false, name, operation: .resumeTrack) }

    package mutating func beginPublish(_ name: String, generation: Generation) throws(CoreError) -> PublishStart {
        let index = try requireInput(name, operation: .publishTrack)
        switch entries[index].publication {
        case .granted: return .alreadyPublished
        case .requested:
            throw CoreError(
                .invalidState, "publish() of track '\(name)' is already in progress; wait for it to return", operation: .publishTrack)
        case .none:
            entries[index].publication = .requested(generation)
            entries[index].wasClaimed = true
            defer { entries[index].mayStillHoldSlot = false }
            return .request(unpublishFirst: entries[index].mayStillHoldSlot)
        }
    }

    /// The platform granted the slot.
    ///
    /// - Throws: DISCONNECTED when the connection the request went out on is no longer the one in use.
    package mutating func publishGranted(_ name: String, generation: Generation) throws(CoreError) {
        guard let index = index(name), entries[index].publication == .requested(generation) else {
            throw CoreError(
                .disconnected, "the connection went while publish() of track '\(name)' waited; call reconnect() and publish again",
                operation: .publishTrack)
        }
        entries[index].publication = .granted(generation)
    }

    /// The request was refused, timed out, or its caller was cancelled. After a timeout or a cancellation the grant may still come,
    /// so the next claim gives the slot back first.
    package mutating func publishFailed(_ name: String, generation: Generation, slotMayBeHeld: Bool) {
        guard let index = index(name), entries[index].publication == .requested(generation) else { return }
        entries[index].publication = .none
        entries[index].mayStillHoldSlot = slotMayBeHeld
    }

    /// Checks `unpublish()`: `false` when there is nothing to do. Send the notification, then call `unpublished`; when
    /// sending fails the track stays published (T-18).
    package func needsUnpublish(_ name: String) throws(CoreError) -> Bool {
        _ = try requireInput(name, operation: .unpublishTrack)
        return isPublished(name)
    }

    /// - Parameter slotMayBeHeld: the notification was lost, so the next claim gives the slot back first.
    package mutating func unpublished(_ name: String, slotMayBeHeld: Bool = false) {
        guard let index = index(name) else { return }
        entries[index].publication = .none
        entries[index].mayStillHoldSlot = slotMayBeHeld
    }

    // MARK: -

    private func index(_ name: String) -> Int? { entries.firstIndex { $0.track.name == name } }

    private mutating func setPaused(_ isPaused: Bool, _ name: String, operation: CoreError.Operation) throws(CoreError) {
        let index = try require(name, operation: operation)
        guard entries[index].track.direction == .recvonly else {
            throw CoreError(
                .invalidState, "track '\(name)' sends to the model; only tracks from the model can be paused and resumed",
                operation: operation)
        }
        entries[index].isPaused = isPaused
    }

    private func require(_ name: String, operation: CoreError.Operation) throws(CoreError) -> Int {
        guard let index = index(name) else { throw CoreError(.transportError, "unknown track: \(name)", operation: operation) }
        return index
    }

    private func requireInput(_ name: String, operation: CoreError.Operation) throws(CoreError) -> Int {
        let index = try require(name, operation: operation)
        guard entries[index].track.direction == .sendonly else {
            throw CoreError(.invalidState, "track '\(name)' comes from the model; it can be received, not published", operation: operation)
        }
        return index
    }
}
