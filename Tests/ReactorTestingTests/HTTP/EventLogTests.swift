import ReactorCore
import Testing

@testable import ReactorTesting

@Suite("Events", .serialized)
struct EventLogTests {
    /// One event of a stream, taken apart.
    private static func event(_ text: String) throws -> (id: Int, data: WireValue) {
        // Chunk sizes come in between.
        let lines = text.replacing("\r\n", with: "\n").split(separator: "\n")
        guard let id = lines.first(where: { $0.hasPrefix("id: ") }).flatMap({ Int($0.dropFirst(4)) }),
            let data = lines.first(where: { $0.hasPrefix("data: ") })
        else { throw RawHTTP.Failure(description: "no event: \(text)") }
        return (id, try JSONText.parse(Array(data.dropFirst(6).utf8)))
    }

    private static func subscribe(_ port: Int, _ target: String, headers: [String] = []) throws -> RawHTTP {
        let http = try RawHTTP(port: port)
        http.send((["GET \(target) HTTP/1.1", "Host: x"] + headers).joined(separator: "\r\n") + "\r\n\r\n")
        let head = try http.header()
        guard head.status == 200, head.headers["content-type"]?.hasPrefix("text/event-stream") == true else {
            throw RawHTTP.Failure(description: "\(head.status) \(head.headers)")
        }
        return http
    }

    private static func next(_ http: RawHTTP) throws -> (id: Int, data: WireValue) {
        while true {
            let text = try http.text(upTo: "\n\n")
            if text.contains("id: ") { return try event(text) }
        }
    }

    @Test("a subscriber gets what was and what comes, in the captured shape")
    func shape() async throws {
        let events = EventLog()
        events.record(event: "start_session", from: "ready", to: "waiting", detail: ["params": .object([:])])
        try await TestRuntime.with(events: events) { runtime in
            let port = runtime.port
            let first = try await onThread {
                let client = Kept(try Self.subscribe(port, "/events"))
                return (client, try Self.next(client.http))
            }
            #expect(first.1.id == 1)
            #expect(Set(first.1.data.objectValue?.keys.map { $0 } ?? []) == ["type", "event", "from", "to", "ts", "detail"])
            #expect(first.1.data["type"]?.stringValue == "transition" && first.1.data["event"]?.stringValue == "start_session")
            #expect(first.1.data["from"]?.stringValue == "ready" && first.1.data["to"]?.stringValue == "waiting")
            #expect((first.1.data["ts"]?.numberValue ?? 0) > 1.6e12)
            events.record(event: "connection_opened", from: "waiting", to: "streaming", detail: ["conn_id": .number(7930)])
            let second = try await onThread { try Self.next(first.0.http) }
            #expect(second.id == 2 && second.data["detail"]?["conn_id"]?.intValue == 7930)
        }
    }

    @Test("since and Last-Event-ID leave out what is known, and the field wins")
    func since() async throws {
        let events = EventLog(capacity: 10)
        for index in 1...50 { events.record(event: "e\(index)", from: "ready", to: "ready") }
        try await TestRuntime.with(events: events) { runtime in
            let port = runtime.port
            let ids = try await onThread {
                try [
                    Self.next(Self.subscribe(port, "/events")).id, Self.next(Self.subscribe(port, "/events?since=47")).id,
                    Self.next(Self.subscribe(port, "/events?since=3", headers: ["Last-Event-ID: 49"])).id,
                    Self.next(Self.subscribe(port, "/events?since=-5")).id, Self.next(Self.subscribe(port, "/events?since=51")).id,
                ]
            }
            #expect(ids == [41, 48, 50, 41, 41])
            #expect(try await onThread { try RawHTTP(port: port).request("GET", "/events?since=x").status } == 422)
            #expect(try await onThread { try RawHTTP(port: port).request("HEAD", "/events").status } == 200)
        }
    }

    @Test("subscribers are bounded, and one that leaves makes room")
    func bounded() async throws {
        let events = EventLog(maxSubscribers: 2)
        try await TestRuntime.with(events: events) { runtime in
            let port = runtime.port
            var clients = try await onThread { try (0..<2).map { _ in Kept(try Self.subscribe(port, "/events")) } }
            let refused = try await onThread { try RawHTTP(port: port).request("GET", "/events") }
            #expect(refused.status == 503 && refused.headers["retry-after"] == "1")
            clients.removeLast()
            #expect(await becomesTrue { events.subscriberCount == 1 })
            clients.append(try await onThread { Kept(try Self.subscribe(port, "/events")) })
            #expect(events.subscriberCount == 2)
            withExtendedLifetime(clients) {}
        }
    }

    @Test("a subscriber that does not read loses its connection, the others nothing")
    func slowSubscriber() async throws {
        let events = EventLog(maxPendingBytes: 256 << 10)
        try await TestRuntime.with(events: events) { runtime in
            let port = runtime.port
            let slow = try await onThread { Kept(try Self.subscribe(port, "/events")) }
            let detail: [String: WireValue] = ["text": .string(String(repeating: "x", count: 15_000))]
            var rounds = 0
            // The system's buffers take several megabytes first.
            while events.subscriberCount == 1, rounds < 5000 {
                events.record(event: "metric", from: "ready", to: "ready", detail: detail)
                rounds += 1
                await Task.yield()
            }
            #expect(events.subscriberCount == 0, "after \(rounds) events")
            let last = rounds
            let good = try await onThread { Kept(try Self.subscribe(port, "/events?since=\(last)")) }
            events.record(event: "last", from: "ready", to: "ready")
            #expect(try await onThread { try Self.next(good.http).data["event"]?.stringValue } == "last")
            #expect(events.subscriberCount == 1)
            #expect(await becomesTrue { runtime.http.connectionCount == 1 })
            #expect(runtime.http.counters.discards[.slowReader] == 1)
            withExtendedLifetime(slow) {}
        }
    }

    @Test("details beyond the bound are left out, and so is what JSON cannot say")
    func largeDetail() async throws {
        let events = EventLog()
        events.record(event: "a", from: "x", to: "y", detail: ["text": .string(String(repeating: "x", count: 1 << 20))])
        events.record(event: "b", from: "x", to: "y", detail: ["n": .number(.nan)])
        try await TestRuntime.with(events: events) { runtime in
            let port = runtime.port
            let details = try await onThread {
                let http = try Self.subscribe(port, "/events")
                return try [Self.next(http).data["detail"], Self.next(http).data["detail"]]
            }
            #expect(details == [.object(["truncated": .bool(true)]), .object(["truncated": .bool(true)])])
        }
    }

    @Test("a silent stream shows signs of life")
    func keepAlive() async throws {
        var limits = HTTPServerLimits()
        limits.keepAlive = .milliseconds(50)
        try await TestRuntime.with(limits: limits) { runtime in
            let port = runtime.port
            let lines = try await onThread {
                let http = try Self.subscribe(port, "/events")
                return try (0..<4).map { _ in try http.text(upTo: "\n\n") }
            }
            #expect(lines.filter { $0.contains(": keep-alive") }.count >= 3)
        }
    }
}
