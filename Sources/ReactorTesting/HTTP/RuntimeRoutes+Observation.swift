// wire-protocol 3.5: health, metrics, events.

import Reactor
import ReactorCore
import Synchronization

extension RuntimeRoutes {
    func health() async -> HTTPServerResponse {
        let health = await service.health()
        return .json(
            health.isHealthy ? 200 : 503,
            .object([
                "status": .string(health.isHealthy ? "healthy" : "unhealthy"), "state": .string(health.state),
                "detail": health.detail.map(WireValue.string) ?? .null,
            ]))
    }

    func metrics() async -> HTTPServerResponse {
        var samples: [MetricSample] = []
        let answered = "Answers by route and status."
        for (key, count) in counts.all {
            samples.append(
                MetricSample(
                    name: "reactor_http_answers_total", help: answered, kind: .counter,
                    labels: ["route": key.route, "status": String(key.status)], value: Double(count)))
        }
        let counters = server.counters
        samples.append(
            MetricSample(name: "reactor_http_connections", help: "Open connections.", kind: .gauge, value: Double(server.connectionCount)))
        for discard in HTTPServerCounters.Discard.allCases {
            samples.append(
                MetricSample(
                    name: "reactor_http_discarded_total", help: "Requests and connections refused or broken off, by reason.",
                    kind: .counter, labels: ["reason": discard.rawValue], value: Double(counters.discards[discard] ?? 0)))
        }
        samples += [
            MetricSample(
                name: "reactor_upload_reserved_bytes", help: "Room taken by this session's uploads.", kind: .gauge,
                value: Double(uploads.reservedBytes)),
            MetricSample(name: "reactor_uploads", help: "Uploads of this session.", kind: .gauge, value: Double(uploads.count)),
            MetricSample(
                name: "reactor_events_total", help: "Transitions since the start.", kind: .counter, value: Double(events.lastID)),
            MetricSample(
                name: "reactor_event_subscribers", help: "Clients reading events.", kind: .gauge, value: Double(events.subscriberCount)),
        ]
        let state = await service.health()
        samples.append(
            MetricSample(
                name: "reactor_healthy", help: "1 while the runtime is healthy.", kind: .gauge, labels: ["state": state.state],
                value: state.isHealthy ? 1 : 0))
        samples += await service.metrics()
        return HTTPServerResponse(200, text: MetricSample.text(samples), type: "text/plain; version=0.0.4; charset=utf-8")
    }

    func subscribe(_ request: HTTPServerRequest) throws(RouteError) -> HTTPServerResponse {
        // A browser that comes back names the last one it saw, and that is later than what its URL says.
        let after = request.header("last-event-id") ?? request.target.value("since")
        var since = 0
        if let after {
            guard let number = Int(after) else {
                throw .invalid([
                    ValidationIssue(
                        type: "int_parsing", location: ["query", "since"],
                        message: "Input should be a valid integer, unable to parse string as an integer", input: .string(after))
                ])
            }
            since = number
        }
        let headers = [HTTPHeader("Content-Type", "text/event-stream; charset=utf-8"), HTTPHeader("Cache-Control", "no-store")]
        guard request.method != "HEAD" else { return HTTPServerResponse(200, headers: headers) }
        guard let stream = events.subscribe(after: since) else {
            throw .failure(RouteFailure(503, "Too many subscribers", retryAfterSeconds: 1))
        }
        return HTTPServerResponse(200, headers: headers, body: .stream(stream))
    }
}

extension MetricSample {
    /// The text format, one block per name, in the order given.
    static func text(_ samples: [MetricSample]) -> String {
        var names: [String] = []
        var byName: [String: [MetricSample]] = [:]
        for sample in samples {
            if byName[sample.name] == nil { names.append(sample.name) }
            byName[sample.name, default: []].append(sample)
        }
        var text = ""
        for name in names {
            guard let group = byName[name], let first = group.first else { continue }
            text += "# HELP \(name) \(first.help)\n# TYPE \(name) \(first.kind.rawValue)\n"
            for sample in group {
                let labels = sample.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value))\"" }
                let number = Int64(exactly: sample.value).map { String($0) } ?? (sample.value.isNaN ? "NaN" : "\(sample.value)")
                text += name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}") + " \(number)\n"
            }
        }
        return text
    }

    private static func escaped(_ value: String) -> String {
        // By scalars: a quote with a combining mark behind it is another Character.
        value.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

/// Answers by route and status, for the metrics.
final class RequestCounts: Sendable {
    struct Key: Hashable, Sendable {
        var route: String
        var status: Int
    }

    private let counts = Mutex<[Key: Int]>([:])

    func add(route: String, status: Int) { counts.withLock { $0[Key(route: route, status: status), default: 0] += 1 } }

    var all: [(key: Key, value: Int)] {
        counts.withLock { $0 }.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }
    }
}

/// The server behind the routes, which exist before it.
final class ServerReference: Sendable {
    private struct Reference { weak var server: HTTPServer? }

    private let reference = Mutex(Reference())

    func set(_ server: HTTPServer) { reference.withLock { $0.server = server } }

    var counters: HTTPServerCounters { reference.withLock { $0.server }?.counters ?? HTTPServerCounters() }
    var connectionCount: Int { reference.withLock { $0.server }?.connectionCount ?? 0 }
    /// `http://127.0.0.1:8080`, without a slash at the end.
    var url: String { reference.withLock { $0.server }?.url ?? "http://127.0.0.1" }
}
