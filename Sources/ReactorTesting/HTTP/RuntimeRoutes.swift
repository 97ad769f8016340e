// From a request to its route and from what the route says to an answer.

import Reactor
import ReactorCore

struct RuntimeRoutes: Sendable {
    let service: any RuntimeService
    let recordings: any RecordingSource
    let uploads: UploadStore
    let events: EventLog
    let counts: RequestCounts
    let server: ServerReference

    /// On the server's thread: only uploads take large bodies.
    func plan(_ request: HTTPServerRequest) -> HTTPBodyPlan {
        guard request.method == "PUT", case .upload(let id)? = Route(request.target.path) else { return .collect }
        do {
            return .stream(try uploads.receive(id: id, contentLength: request.contentLength ?? (request.isChunked ? nil : 0)))
        } catch {
            counts.add(route: "upload", status: error.status)
            return .refuse(.error(error))
        }
    }

    func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
        guard request.method != "OPTIONS" else { return CORS.preflight(request) }
        guard let route = Route(request.target.path) else {
            counts.add(route: "none", status: 404)
            return .error(404, "Not Found")
        }
        guard route.methods.contains(request.method) else {
            counts.add(route: route.label, status: 405)
            return .error(405, "Method Not Allowed", headers: [HTTPHeader("Allow", route.methods.joined(separator: ", "))])
        }
        let response: HTTPServerResponse
        do {
            response = try await respond(to: request, on: route)
        } catch {
            response = error.response
        }
        counts.add(route: route.label, status: response.status)
        return response
    }

    private func respond(to request: HTTPServerRequest, on route: Route) async throws(RouteError) -> HTTPServerResponse {
        switch route {
        case .startSession: try await startSession(request)
        case .session: .json(200, await service.descriptor())
        case .stopSession: try await stopSession(request)
        case .schema: .json(200, try await asked { () throws(RouteFailure) in try await service.schema() })
        case .iceServers(let session): try await iceServers(session)
        case .connections(let session): try await registerConnection(request, session)
        case .sdpParams(let session, let connection):
            request.method == "GET" || request.method == "HEAD"
                ? try await pollAnswer(session, connection) : try await offer(request, session, connection)
        case .iceCandidates(let session, let connection): try await addCandidates(request, session, connection)
        case .uploads(let session): try await reserveUpload(request, session)
        case .upload: try finishUpload(request)
        case .clips: try playlist(request)
        case .segment(let recording, let name): try segment(request, recording, name)
        case .steps: throw .failure(RouteFailure(404, "No step results for this session"))
        case .health: await health()
        case .metrics: await metrics()
        case .events: try subscribe(request)
        }
    }

    /// Turns the service's failures into the routes' errors.
    func asked<Value>(_ body: () async throws(RouteFailure) -> Value) async throws(RouteError) -> Value {
        do {
            return try await body()
        } catch {
            throw .failure(error)
        }
    }
}

extension Route {
    /// For the metrics: the same for all ids.
    var label: String {
        switch self {
        case .startSession: "start_session"
        case .session: "session"
        case .stopSession: "stop_session"
        case .schema: "schema"
        case .iceServers: "ice_servers"
        case .connections: "connections"
        case .sdpParams: "sdp_params"
        case .iceCandidates: "ice_candidates"
        case .uploads: "uploads"
        case .upload: "upload"
        case .clips: "clips"
        case .segment: "clip_chunks"
        case .steps: "steps"
        case .health: "health"
        case .metrics: "metrics"
        case .events: "events"
        }
    }
}
