// An entry for fuzzing, compiled in every build so that it cannot rot. In: any bytes. Out: nothing; neither role may trap.

import RTCBase
import RTCWire

package enum NegotiationFuzz {
    /// Reads `bytes` as a description, answers it, and applies it as the answer to an offer of ours.
    package static func description(_ bytes: [UInt8]) {
        guard let description = try? SessionDescription(parsing: String(decoding: bytes, as: UTF8.self)) else { return }
        let tracks = [
            TrackDeclaration(name: "v", kind: .video, direction: .sendonly, isTwoWay: true),
            TrackDeclaration(name: "a", kind: .audio, direction: .recvonly, channels: 2),
        ]
        let configuration = OfferConfiguration(tracks: tracks, cname: "fuzz")
        let transport = LocalTransportParameters(
            usernameFragment: "abcd", password: "0123456789abcdefghijkl", fingerprint: Fingerprint(algorithm: "sha-256", value: "00"))
        var generator = SeededGenerator(seed: UInt64(bytes.count))
        let answered = try? AnswerBuilder.answer(
            description, configuration: configuration, transport: transport, sessionID: "1", using: &generator)
        if let (answer, session) = answered {
            precondition(answer.sections.count == description.sections.count && !session.fingerprints.isEmpty)
            _ = PeerEngine(session: session, localSSRC: 1, cname: "fuzz", pool: FrameBufferPool(maxCached: 1))
        }
        var builder = OfferBuilder(configuration: configuration, sessionID: "1", using: &generator)
        if let session = try? AnswerApplier.apply(description, to: builder.offer(transport), configuration: configuration) {
            _ = PeerEngine(session: session, localSSRC: 1, cname: "fuzz", pool: FrameBufferPool(maxCached: 1))
        }
    }
}
