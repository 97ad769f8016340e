// The bodies of the session and signalling routes (wire-protocol 3.1, 3.2).

internal import Reactor
internal import ReactorCore

enum RuntimeBodies {
    /// The id of every local session.
    static let sessionID = "00000000-0000-0000-0000-000000000000"

    /// Answer of `/start_session` and `/session`.
    static func descriptor(
        name: String, tracks: [LocalTrack], state: RuntimeSessionMachine.State, recordsSessions: Bool, chunkSeconds: Int
    ) -> WireValue {
        let transport = WireValue.object(["protocol": "webrtc", "version": "1.0"])
        return .object([
            "session_id": .string(sessionID),
            "state": .string(state.rawValue),
            "cluster": "local",
            "model": .object(["name": .string(name)]),
            "server_info": .object(["server_version": .string(ReactorSDK.version)]),
            "selected_transport": transport,
            "transports": .list([transport]),
            "recording": .object(["enabled": .bool(recordsSessions), "chunk_seconds": .number(Double(chunkSeconds))]),
            "step_results": .object(["enabled": .bool(false)]),
            "generation": "streamed",
            "capabilities": .object([
                "protocol_version": "v0",
                "tracks": .list(
                    tracks.map {
                        .object([
                            "name": .string($0.name), "kind": .string($0.kind.rawValue), "direction": .string($0.direction.rawValue),
                        ])
                    }),
                "commands": .list([]),
            ]),
        ])
    }

    /// Answer of `POST .../connections`.
    static func registration(id: Int, tracks: [LocalTrack]) -> WireValue {
        var map: [String: WireValue] = [:]
        for track in tracks {
            map[track.name] = .object([
                "kind": .string(track.kind.rawValue), "direction": .string(track.modelDirection), "rate": .number(track.rate),
            ])
        }
        return .object(["connection_id": .number(Double(id)), "track_map": .object(map)])
    }

    /// Answer of `GET .../ice_servers`.
    static func iceServers(_ servers: [LocalRuntime.ICEServer]) -> WireValue {
        let list = servers.map { server -> WireValue in
            var entry: [String: WireValue] = ["uris": .list(server.urls.map(WireValue.string))]
            if let username = server.username, let password = server.password {
                entry["credentials"] = .object(["username": .string(username), "password": .string(password)])
            }
            return .object(entry)
        }
        return .object(["ice_servers": .list(list)])
    }
}
