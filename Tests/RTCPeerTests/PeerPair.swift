import PeerTestSupport
import RTCBase
import RTCPeer

/// Two `PeerConnection`s that talk to each other over loopback: one offers, one answers.
final class PeerPair: Sendable {
    let offerer: PeerConnection
    let answerer: PeerConnection
    let offererEvents = EventLog()
    let answererEvents = EventLog()
    let offer: LocalOffer
    let answer: LocalAnswer
    let applied: AppliedAnswer

    /// - Parameters:
    ///   - editOffer, editAnswer: what signalling makes of the texts.
    ///   - beforeOffer: what the answering end hears before the offer, given the offer as it was made.
    init(
        tracks: [TrackDeclaration] = [], farTracks: [TrackDeclaration] = [], remoteTracks: [String: RemoteTrack] = [:],
        farRemoteTracks: [String: RemoteTrack] = [:], localTracks: [String: LocalTrack] = [:],
        farLocalTracks: [String: LocalTrack] = [:], offering: PeerConfiguration = PeerConfiguration(),
        answering: PeerConfiguration = PeerPair.silentConfiguration, editOffer: (String) -> String = { $0 },
        editAnswer: (String) -> String = { $0 }, beforeOffer: (PeerConnection, String) async throws -> Void = { _, _ in }
    ) async throws {
        offerer = try await PeerConnection(configuration: offering, tracks: tracks, remoteTracks: remoteTracks, localTracks: localTracks) {
            [offererEvents] in offererEvents.append($0)
        }
        answerer = try await PeerConnection(
            configuration: answering, tracks: farTracks, remoteTracks: farRemoteTracks, localTracks: farLocalTracks
        ) {
            [answererEvents] in answererEvents.append($0)
        }
        offer = try await offerer.makeOffer()
        try await beforeOffer(answerer, offer.sdp)
        answer = try await answerer.makeAnswer(to: editOffer(offer.sdp))
        applied = try await offerer.apply(answer: editAnswer(answer.sdp))
    }

    /// An end that opens no channels of its own.
    static var silentConfiguration: PeerConfiguration {
        var configuration = PeerConfiguration()
        configuration.channels = []
        return configuration
    }

    /// These channels are open at both ends.
    func waitUntilOpen(_ labels: Set<String> = ["data", "control"]) async -> Bool {
        await eventually {
            labels.isSubset(of: offererEvents.openedLabels) && labels.isSubset(of: answererEvents.openedLabels)
        }
    }

    func end() async {
        await offerer.close()
        await answerer.close()
    }
}

extension String {
    /// The values of `a=candidate` lines, and the text without them.
    var splitCandidates: (candidates: [String], rest: String) {
        let lines = split(separator: "\r\n").map(String.init)
        let candidates = lines.filter { $0.hasPrefix("a=candidate:") }
        let rest = lines.filter { !$0.hasPrefix("a=candidate:") && $0 != "a=end-of-candidates" }
        return (candidates, rest.map { $0 + "\r\n" }.joined())
    }
}
