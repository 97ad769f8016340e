/// How far a track's media has come, and which step is the first that has not happened: ``Reactor/diagnose(track:)``.
public struct Diagnosis: Sendable, CustomStringConvertible {
    /// What has to happen before media flows. A track that is received needs ``connected``, ``declared``, ``subscribed``,
    /// ``resumed``, ``received``, ``decoded`` and ``delivered``; one that is sent ``connected``, ``declared``, ``subscribed``,
    /// ``published``, ``sent`` and ``acknowledged``.
    public enum Step: String, Sendable, CaseIterable {
        /// The status is `.ready`.
        case connected
        /// The session declares a track of this name.
        case declared
        /// The app has published the track.
        case published
        /// The server agreed to carry the track's media on this connection.
        case subscribed
        /// The track is not paused.
        case resumed
        /// The first packet went out.
        case sent
        /// The first packet came in.
        case received
        /// The server reported having received packets.
        case acknowledged
        /// The first frame was decoded.
        case decoded
        /// The app took a frame.
        case delivered
    }

    /// The track that this is about; nil when it is about the connection alone.
    public let track: String?
    /// The steps that have happened, in order, up to the first that has not.
    public let passed: [Step]
    /// The first step that has not happened; nil when all have.
    public let firstMissing: Step?
    private let advice: String

    init(track: String?, passed: [Step], firstMissing: Step?, advice: String) {
        self.track = track
        self.passed = passed
        self.firstMissing = firstMissing
        self.advice = advice
    }

    /// One sentence for people: what is missing, and what to do about it.
    public var description: String {
        let subject = track.map { "track '\($0)'" } ?? "the connection"
        guard let firstMissing else { return "\(subject): everything has happened (\(passed.map(\.rawValue).joined(separator: ", ")))" }
        return "\(subject): not \(firstMissing.rawValue) yet; \(advice)"
    }
}
