internal import RTCBase
internal import RTCEngine
internal import RTCTransport

// Streams out: from the encode threads into the engine.
extension PeerCore {
    func setPublishing(_ on: Bool, track: String) throws(PeerError) {
        guard !isClosed, let session else { throw PeerError(.invalidState, "the connection is not up") }
        guard session.sections.contains(where: { $0.trackName == track && $0.accepted && $0.sends }) else {
            throw PeerError(.negotiation, "track \"\(track)\" cannot be sent on this connection")
        }
    }

    func setBitrateLimits(min: Int?, start: Int?, max: Int?) throws(PeerError) {
        guard !isClosed else { throw PeerError(.invalidState, "the connection is closed") }
    }

    func setBitrateLimits(track: String, min: Int?, max: Int?) throws(PeerError) {
        guard !isClosed else { throw PeerError(.invalidState, "the connection is closed") }
    }
}
