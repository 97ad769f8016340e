import Foundation
import RTCBase
import RTCEngine
import RTCSimulation
import RTCWire

/// Offers and answers that the negotiation tests start from.
enum NegotiationFixtures {
    static let tracks = [
        TrackDeclaration(name: "webcam", kind: .video, direction: .sendonly),
        TrackDeclaration(name: "mic", kind: .audio, direction: .sendonly),
        TrackDeclaration(name: "main_video", kind: .video, direction: .recvonly),
        TrackDeclaration(name: "main_audio", kind: .audio, direction: .recvonly),
    ]
    static let configuration = OfferConfiguration(tracks: tracks, cname: "our-cname")
    static let fingerprint = Fingerprint(algorithm: "sha-256", value: hash(32))
    static let transport = LocalTransportParameters(
        usernameFragment: "abcd", password: "0123456789abcdefghijkl", fingerprint: fingerprint,
        candidates: ["candidate:1 1 udp 2122260223 192.0.2.1 50000 typ host"])

    static func hash(_ count: Int) -> String {
        (0..<count).map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined(separator: ":")
    }

    static func builder(_ configuration: OfferConfiguration = configuration) -> OfferBuilder {
        var generator = SplitMix64(seed: 1)
        return OfferBuilder(configuration: configuration, sessionID: "4611686018427387904", using: &generator)
    }

    static func offer(_ configuration: OfferConfiguration = configuration) -> SessionDescription {
        var builder = builder(configuration)
        return builder.offer(transport)
    }

    /// What a willing peer answers.
    static func answer(to offer: SessionDescription) -> SessionDescription {
        var answer = offer
        answer.sessionID = "99"
        for index in answer.sections.indices {
            answer.sections[index].iceUsernameFragment = "wxyz"
            answer.sections[index].icePassword = "remote-password-of-24-ch"
            answer.sections[index].fingerprints = [Fingerprint(algorithm: "sha-256", value: hash(32))]
            answer.sections[index].setup = .active
            answer.sections[index].candidates = index == 0 ? ["candidate:7 1 udp 2122194687 192.0.2.2 60702 typ host"] : []
            answer.sections[index].endOfCandidates = true
            answer.sections[index].sources = []
            answer.sections[index].sourceGroups = []
            answer.sections[index].mediaStreamIDs = []
            switch answer.sections[index].direction {
            case .sendonly: answer.sections[index].direction = .recvonly
            case .recvonly: answer.sections[index].direction = .sendonly
            default: break
            }
        }
        return answer
    }

    static func apply(
        _ answer: SessionDescription, to offer: SessionDescription? = nil, _ configuration: OfferConfiguration = configuration
    ) throws(NegotiationError) -> NegotiatedSession {
        try AnswerApplier.apply(answer, to: offer ?? self.offer(configuration), configuration: configuration)
    }

    private static var shared: URL {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return ProcessInfo.processInfo.environment["REACTOR_SHARED"].map { URL(filePath: $0) }
            ?? package.deletingLastPathComponent().appending(path: "shared")
    }

    /// Nil when the shared folder is not there.
    static func capture(_ name: String) -> String? {
        try? String(contentsOf: shared.appending(path: "spec/captures/\(name)"), encoding: .utf8)
    }
    static var hasCaptures: Bool { capture("sdk-1.13-offer.sdp") != nil }

    /// Descriptions that other stacks wrote.
    static var corpora: [String] {
        let folder = shared.appending(path: "vectors/corpora/sdp")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.compactMap { try? String(contentsOf: $0, encoding: .utf8) }
    }
}
