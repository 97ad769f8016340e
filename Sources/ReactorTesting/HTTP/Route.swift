// The paths of the local runtime (wire-protocol 3.1 to 3.5).

enum Route: Hashable, Sendable {
    case startSession, session, stopSession, schema
    case iceServers(session: String)
    case connections(session: String)
    case sdpParams(session: String, connection: String)
    case iceCandidates(session: String, connection: String)
    case uploads(session: String)
    case upload(id: String)
    case clips
    case segment(recording: String, name: String)
    case steps(session: String)
    case health, metrics, events

    init?(_ path: [String]) {
        switch path.count {
        case 1:
            switch path[0] {
            case "start_session": self = .startSession
            case "session": self = .session
            case "stop_session": self = .stopSession
            case "schema": self = .schema
            case "clips": self = .clips
            case "health": self = .health
            case "metrics": self = .metrics
            case "events": self = .events
            default: return nil
            }
        case 2 where path[0] == "uploads" && !path[1].isEmpty: self = .upload(id: path[1])
        case 4 where path[0] == "clips" && path[1] == "chunks": self = .segment(recording: path[2], name: path[3])
        case 3...7 where path[0] == "sessions" && !path[1].isEmpty:
            guard let route = Self.sessionRoute(path[1], Array(path[2...])) else { return nil }
            self = route
        default: return nil
        }
    }

    private static func sessionRoute(_ session: String, _ rest: [String]) -> Route? {
        if rest == ["uploads"] { return .uploads(session: session) }
        if rest[0] == "steps", rest.count <= 3 { return .steps(session: session) }
        guard rest.count >= 3, rest[0] == "transport", rest[1] == "webrtc" else { return nil }
        switch (rest[2], rest.count) {
        case ("ice_servers", 3): return .iceServers(session: session)
        case ("connections", 3): return .connections(session: session)
        case ("connections", 5) where rest[4] == "sdp_params": return .sdpParams(session: session, connection: rest[3])
        case ("connections", 5) where rest[4] == "ice_candidates": return .iceCandidates(session: session, connection: rest[3])
        default: return nil
        }
    }

    /// What this route answers besides OPTIONS.
    var methods: [String] {
        switch self {
        case .startSession, .stopSession, .connections, .iceCandidates, .uploads: ["POST"]
        case .session, .schema, .iceServers, .clips, .segment, .steps, .health, .metrics, .events: ["GET", "HEAD"]
        case .sdpParams: ["GET", "HEAD", "POST", "PUT"]
        case .upload: ["PUT"]
        }
    }
}
