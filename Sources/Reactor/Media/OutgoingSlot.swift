internal import RTCBase
internal import RTCPeer
internal import Synchronization

/// Where a track's pushes go: made when the session has told the kind of the track, and kept over reconnects.
final class OutgoingSlot: Sendable {
    private let slot = Mutex<LocalTrack?>(nil)

    /// Nil before the first session that declares the track as one that sends.
    var current: LocalTrack? { slot.withLock { $0 } }

    /// The one of this kind; another session may declare the name as another kind, and then starts anew.
    func track(name: String, kind: MediaKind) -> LocalTrack {
        slot.withLock { slot in
            if let track = slot, track.kind == kind { return track }
            let track = LocalTrack(name: name, kind: kind)
            slot = track
            return track
        }
    }
}

extension Track {
    nonisolated func local(_ kind: MediaKind) -> LocalTrack { outgoing.track(name: name, kind: kind) }
}
