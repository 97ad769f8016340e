// wire-protocol 3.1: starting and stopping.

import ReactorCore

extension RuntimeRoutes {
    func startSession(_ request: HTTPServerRequest) async throws(RouteError) -> HTTPServerResponse {
        let start = try StartRequest(members: try request.jsonObject(.dictionary) ?? [:])
        return .json(200, try await asked { () throws(RouteFailure) in try await service.startSession(start) })
    }

    func stopSession(_ request: HTTPServerRequest) async throws(RouteError) -> HTTPServerResponse {
        var body = BodyReader(try request.jsonObject(.model) ?? [:])
        let moderates = body.bool("moderate", default: false)
        let reason = body.optionalString("reason") ?? ""
        if reason.unicodeScalars.count > Self.maxReasonCharacters {
            body.fail(
                "reason", "string_too_long", "String should have at most \(Self.maxReasonCharacters) characters", .string(reason),
                ["max_length": .number(Double(Self.maxReasonCharacters))])
        }
        try body.check()
        try await asked { () throws(RouteFailure) in try await service.stopSession(moderates: moderates, reason: reason) }
        return HTTPServerResponse(200)
    }

    private static let maxReasonCharacters = 64
}

extension StartRequest {
    /// Unknown members are ignored, `null` reads as absent. `extra_args` has no effect here, as in the platform's runtime.
    init(members: [String: WireValue]) throws(RouteError) {
        let members = members.filter { !$0.value.isNull }
        switch members["generation"] {
        case nil, .string("streamed")?: break
        case .string("stepped")?: throw Self.bad("generation 'stepped' is not offered by this runtime; leave it out or say 'streamed'")
        case .string(let other)?: throw Self.bad("generation must be one of 'streamed', 'stepped', not '\(other.prefix(64))'")
        case _?: throw Self.bad("generation must be a string")
        }
        if let steps = members["steps"] {
            guard let count = steps.intValue, count > 0 else { throw Self.bad("steps must be a positive integer") }
            guard count <= 10_000 else { throw Self.bad("steps must be at most 10000") }
        }
        if let extra = members["extra_args"], extra.objectValue == nil { throw Self.bad("extra_args must be an object") }
        if let id = members["session_id"] {
            guard let text = id.stringValue, SessionDescriptor.isSafePathComponent(text), text.utf8.count <= 128 else {
                throw Self.bad("session_id must be a UUID")
            }
            sessionID = text.lowercased()
        }
        if let input = members["starting_input"] { try readStartingInput(input) }
    }

    private mutating func readStartingInput(_ input: WireValue) throws(RouteError) {
        guard let members = input.objectValue else { throw Self.bad("starting_input must be an object") }
        switch members["state"] {
        case nil, .null?: break
        case .object(let state)?: startingState = state
        case _?: throw Self.bad("starting_input.state must be an object")
        }
        switch members["commands"] {
        case nil, .null?: break
        case .list(let commands)?:
            guard commands.count <= Self.maxCommands else {
                throw Self.bad("starting_input.commands has more than \(Self.maxCommands) entries")
            }
            for (index, entry) in commands.enumerated() {
                guard let name = entry["command"]?.stringValue, !name.isEmpty else {
                    throw Self.bad("starting_input.commands[\(index)] has no command")
                }
                let data = entry["data"] ?? .null
                guard data.isNull || data.objectValue != nil else {
                    throw Self.bad("starting_input.commands[\(index)].data must be an object")
                }
                startingCommands.append(Command(name: name, data: data.isNull ? .object([:]) : data))
            }
        case _?: throw Self.bad("starting_input.commands must be a list")
        }
    }

    private static func bad(_ detail: String) -> RouteError { .failure(RouteFailure(400, detail)) }

    private static let maxCommands = 256
}
