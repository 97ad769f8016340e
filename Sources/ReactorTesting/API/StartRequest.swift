// What `POST /start_session` asks for besides the session itself (wire-protocol 3.1).

import ReactorCore

/// A start whose shape is checked.
struct StartRequest: Hashable, Sendable {
    /// Becomes the id of the recording only.
    var sessionID: String?
    var startingState: [String: WireValue] = [:]
    var startingCommands: [Command] = []

    /// Sent as if by the first client; `starting_input.commands`.
    struct Command: Hashable, Sendable {
        var name: String
        var data: WireValue
    }

    var hasStartingInput: Bool { !startingState.isEmpty || !startingCommands.isEmpty }
}

extension RuntimeService {
    func startSession(_ request: StartRequest) async throws(RouteFailure) -> WireValue {
        guard !request.hasStartingInput else { throw RouteFailure(400, "starting_input is not offered by this runtime") }
        return try await startSession(sessionID: request.sessionID)
    }

    func metrics() async -> [MetricSample] { [] }
}

/// One line of `GET /metrics`, in the Prometheus text format.
struct MetricSample: Hashable, Sendable {
    enum Kind: String, Sendable { case counter, gauge }

    /// With its unit: `reactor_upload_bytes`. A counter ends in `_total`.
    var name: String
    var help: String
    var kind: Kind
    var labels: [String: String] = [:]
    var value: Double
}
