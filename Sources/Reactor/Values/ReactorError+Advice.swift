internal import ReactorCore

extension CoreError {
    /// What the caller can do about a failure whose text comes from the far end or the network; nil where the text says so itself,
    /// as those of local refusals do.
    var advice: String? {
        switch code {
        case .unauthorized: "the token or key is missing, wrong, expired or not for this model; get a new one"
        case .rateLimited: "wait before the next try, as long as retryAfter says when it is there"
        case .serverError: "the server failed; try again later"
        case .versionMismatch: "the server speaks another version of the protocol; update this package"
        case .conflict where status != nil:
            "somebody holds it: end the session of the earlier run, or join it with connect(sessionID:)"
        case .notFound where status != nil: "the session, the file or the address is not known there; check apiURL and the id"
        case .networkError: "check the address and the network, and that the server runs"
        case .transportError where operation == .connect || operation == .reconnect:
            "no media path works between here and there; check that UDP or a relay is allowed, and try again"
        case .disconnected: "call reconnect(), or set a ReconnectPolicy"
        case .requestTimeout where operation == .sendCommand: "the model may still execute it; try again or raise commandTimeout"
        case .requestTimeout: "try again; a server that is up answers sooner"
        case .sessionTerminal: "the session is over; connect() makes a new one"
        case .recorderDisabled: "this session is not recorded; ask for another, or start the model with its recorder"
        case .decodeFailed where status != nil || operation == .connect || operation == .downloadClip:
            "the far end is no Reactor server of a version this one knows; check apiURL"
        case .badRequest where status != nil: "the server did not accept what was sent; its words say what"
        default: platformAdvice
        }
    }

    private var platformAdvice: String? {
        switch ReactorError.Code(rawValue: code.rawValue) {
        case .invalidCommand: "requestSchema() lists the commands and their arguments"
        case .unresolvedUpload: "upload the file in this session first, and pass the FileRef that came back"
        case .publishRefused: "another client publishes the track; wait until it gives the slot back"
        case .handlerFailed: "the model failed at it; its log says more"
        default: nil
        }
    }

    /// The text with the advice, once.
    var advisedMessage: String {
        guard let advice, !message.hasSuffix(advice) else { return message }
        return "\(message); \(advice)"
    }
}
