// Bodies of the routes under /sessions/{id}/transport/webrtc (wire-protocol 2.6, 2.7).

/// Answer of `GET .../ice_servers`.
package struct IceServersResponse: Hashable, Sendable {
    package var servers: [Server]

    package struct Server: Hashable, Sendable {
        package var uris: [String]
        package var username: String?
        package var password: String?
    }

    package init(parsing bytes: [UInt8]) throws(WireFormatError) {
        let body = try WireValue.parseBody(bytes)
        let entries = try body.optionalList("ice_servers") ?? []
        guard entries.count <= Self.maxServers else { throw .tooManyValues }
        servers = []
        for entry in entries {
            var uris: [String] = []
            for uri in try entry.optionalList("uris") ?? [] {
                guard let text = uri.stringValue else { throw .wrongType("uris") }
                uris.append(text)
            }
            let credentials = try entry.optionalObject("credentials")
            servers.append(
                Server(
                    uris: uris, username: try credentials?.optionalString("username"), password: try credentials?.optionalString("password")
                ))
        }
    }

    private static let maxServers = 64
}

/// Answer of `POST .../connections`.
package struct ConnectionResponse: Hashable, Sendable {
    package var connectionID: UInt32

    package init(parsing bytes: [UInt8]) throws(WireFormatError) {
        guard let id = try WireValue.parseBody(bytes).optionalUInt32("connection_id") else { throw .missing("connection_id") }
        connectionID = id
    }
}

/// Body of `POST` (first time) and `PUT` (reconnect) `.../sdp_params`: one mapping entry per declared track, in that order.
package struct SDPOfferBody: Sendable {
    package var offer: String
    package var trackMapping: [TrackMapping]
    package var clientInfo: ClientInfo

    package struct TrackMapping: Hashable, Sendable {
        package var track: DeclaredTrack
        package var mid: String

        package init(track: DeclaredTrack, mid: String) {
            self.track = track
            self.mid = mid
        }
    }

    package init(offer: String, trackMapping: [TrackMapping], clientInfo: ClientInfo) {
        self.offer = offer
        self.trackMapping = trackMapping
        self.clientInfo = clientInfo
    }

    package func encode() throws(WireFormatError) -> [UInt8] {
        let mapping = trackMapping.map { entry in
            WireValue.object([
                "name": .string(entry.track.name), "kind": .string(entry.track.kind.rawValue),
                "direction": .string(entry.track.direction.rawValue), "mid": .string(entry.mid),
            ])
        }
        return try JSONText.write(
            .object(["sdp_offer": .string(offer), "client_info": clientInfo.wireValue, "track_mapping": .list(mapping)]))
    }
}

/// Answer of `GET .../sdp_params` with status 200.
package struct SDPAnswerResponse: Hashable, Sendable {
    package var answer: String
    /// Replaces the connection id in use, when present.
    package var connectionID: UInt32?

    package init(parsing bytes: [UInt8]) throws(WireFormatError) {
        let body = try WireValue.parseBody(bytes)
        answer = try body.requiredString("sdp_answer")
        connectionID = try body.optionalUInt32("connection_id")
    }
}

/// Body of `POST .../ice_candidates`.
package struct IceCandidatesBody: Sendable {
    package var candidates: [Candidate]
    package var isFinal: Bool
    package var clientInfo: ClientInfo

    package struct Candidate: Hashable, Sendable {
        /// The attribute value, "candidate:..." without "a=".
        package var text: String
        package var mid: String?
        package var mLineIndex: Int?

        package init(text: String, mid: String?, mLineIndex: Int?) {
            self.text = text
            self.mid = mid
            self.mLineIndex = mLineIndex
        }
    }

    package init(candidates: [Candidate], isFinal: Bool, clientInfo: ClientInfo) {
        self.candidates = candidates
        self.isFinal = isFinal
        self.clientInfo = clientInfo
    }

    package func encode() throws(WireFormatError) -> [UInt8] {
        let list = candidates.map { candidate in
            var object: [String: WireValue] = ["candidate": .string(candidate.text)]
            if let mid = candidate.mid { object["sdp_mid"] = .string(mid) }
            if let index = candidate.mLineIndex { object["sdp_mline_index"] = .number(Double(index)) }
            return WireValue.object(object)
        }
        return try JSONText.write(
            .object(["candidates": .list(list), "is_final": .bool(isFinal), "client_info": clientInfo.wireValue]))
    }
}
