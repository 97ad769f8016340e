// wire-protocol 3.2: ICE servers, connections, offers, answers, candidates.
//
// Differences on purpose (wire-protocol 12): an answer stays readable (9), a failed negotiation is a 4xx (9), a direction that
// is none is a 422 (25). The offer's `ice_servers`, `ice_credentials` and `port_range`, which no client sends, are ignored.

import ReactorCore

extension RuntimeRoutes {
    func iceServers(_ session: String) async throws(RouteError) -> HTTPServerResponse {
        try await requireSession(session)
        return .json(200, await service.iceServers())
    }

    func registerConnection(_ request: HTTPServerRequest, _ session: String) async throws(RouteError) -> HTTPServerResponse {
        _ = try request.jsonObject(.dictionary)
        try await requireSession(session)
        return .json(201, try await asked { () throws(RouteFailure) in try await service.registerConnection() })
    }

    func offer(_ request: HTTPServerRequest, _ session: String, _ connection: String) async throws(RouteError) -> HTTPServerResponse {
        let id = try Self.connectionID(connection)
        let offer = try OfferRequest(members: try request.requiredJSONObject())
        try await requireSession(session)
        try await asked { () throws(RouteFailure) in try await service.offer(offer, connection: id) }
        return .json(202, .object(["connection_id": .number(Double(id))]))
    }

    func pollAnswer(_ session: String, _ connection: String) async throws(RouteError) -> HTTPServerResponse {
        let id = try Self.connectionID(connection)
        try await requireSession(session)
        guard let answer = try await asked({ () throws(RouteFailure) in try await service.answer(connection: id) }) else {
            return HTTPServerResponse(202)
        }
        return .json(200, .object(["sdp_answer": .string(answer), "connection_id": .number(Double(id))]))
    }

    func addCandidates(_ request: HTTPServerRequest, _ session: String, _ connection: String) async throws(RouteError) -> HTTPServerResponse
    {
        let id = try Self.connectionID(connection)
        var body = BodyReader(try request.requiredJSONObject())
        var candidates: [IceCandidatesBody.Candidate] = []
        body.objects("candidates", body.required("candidates"), maxCount: Self.maxCandidates) { entry in
            let text = entry.requiredString("candidate") ?? ""
            let mid = entry.optionalString("sdp_mid")
            let line = entry.integer("sdp_mline_index", entry.raw("sdp_mline_index"))
            candidates.append(IceCandidatesBody.Candidate(text: text, mid: mid, mLineIndex: line))
        }
        let isFinal = body.bool("is_final", default: false)
        try body.check()
        try await requireSession(session)
        let complete = candidates
        try await asked { () throws(RouteFailure) in
            try await service.addCandidates(complete, isFinal: isFinal, connection: id)
        }
        return HTTPServerResponse(202)
    }

    func requireSession(_ id: String) async throws(RouteError) {
        try await asked { () throws(RouteFailure) in try await service.requireSession(id) }
    }

    private static func connectionID(_ text: String) throws(RouteError) -> Int {
        try ValidationIssue.pathInteger(text, "cid", in: 1001...9999)
    }

    /// As many as the runtime buffers for one connection.
    private static let maxCandidates = 256
}

extension OfferRequest {
    init(members: [String: WireValue]) throws(RouteError) {
        var body = BodyReader(members)
        let sdp = body.requiredString("sdp_offer") ?? ""
        var mapping: [SDPOfferBody.TrackMapping] = []
        // One m-line each, and the data section is one of 128.
        body.objects("track_mapping", body.raw("track_mapping"), maxCount: 127) { entry in
            let name = entry.requiredString("name")
            let kind = entry.word("kind", of: ["video", "audio"])
            let direction = entry.word("direction", of: ["sendonly", "recvonly"])
            let mid = entry.requiredString("mid")
            if let name, let mid, let kind = kind.flatMap(DeclaredTrack.Kind.init),
                let direction = direction.flatMap(DeclaredTrack.Direction.init)
            {
                mapping.append(SDPOfferBody.TrackMapping(track: DeclaredTrack(name: name, kind: kind, direction: direction), mid: mid))
            }
        }
        try body.check()
        self.init(sdp: sdp, trackMapping: mapping)
    }
}
