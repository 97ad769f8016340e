import Foundation
import PeerTestSupport
import RTCBase
import Synchronization
import Testing

@testable import Reactor

/// Events, waiting, typed commands and messages, statistics and scopes, against a loopback runtime.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientSequenceTests {
    // MARK: Events

    @Test("C9.3 events holds everything in one order, and each subscriber sees all of it")
    func events() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        let (first, second) = (client.events, client.events)
        let declared = client.trackUpdates
        let received = Names()
        let subscription = client.onTrack { received.add($0.name) }
        try await client.connect()
        try await client.sendCommand("broadcast", ["n": 1])
        try await client.sendCommand("notice")
        try await client.disconnect()
        client.close()
        let seen = await first.reduce(into: []) { $0.append($1.text) }
        #expect(await second.reduce(into: []) { $0.append($1.text) } == seen)
        #expect(
            seen == [
                "connecting", "id \(FakeRuntime.localID)", "waiting", "tracks webcam main_video depth main_audio",
                "received main_video", "received depth", "received main_audio", "ready", "message news", "runtime sessionEnded",
                "tracks ", "disconnected", "id none",
            ])
        #expect(await declared.reduce(into: []) { $0.append($1.count) } == [4, 0])
        #expect(received.all == ["main_video", "depth", "main_audio"])
        withExtendedLifetime(subscription) {}
    }

    @Test("C9.3 a slow subscriber keeps the newest, a cancelled one ends alone, and none keeps the client")
    func subscribers() async throws {
        let runtime = try FakeRuntime()
        var client: Reactor? = try runtime.client()
        let slow = try #require(client).messages
        let cancelled = try #require(client).messages
        let reader = Task { await cancelled.reduce(0) { count, _ in count + 1 } }
        try await client?.connect()
        for number in 0..<300 { try await client?.sendCommand("broadcast", ["n": .number(Double(number))]) }
        reader.cancel()
        #expect(await reader.value <= 300)
        weak let weakClient = client
        client = nil
        #expect(weakClient == nil)
        let kept = await slow.reduce(into: []) { $0.append($1["data"]?["n"]?.intValue ?? -1) }
        #expect(kept == Array(44..<300))
    }

    // MARK: Waiting

    @Test("C9.6 waitForStatus and waitForTrack look at the present first, and see what comes")
    func waiting() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.waitForStatus(.disconnected, timeout: .zero)
        let ready = Task { try await client.waitForStatus(.ready, timeout: .seconds(30)) }
        let track = Task { try await client.waitForTrack("depth") }
        let missing = Task { await failure { try await client.waitForTrack("no_such", timeout: .seconds(30)) } }
        try await client.connect()
        try await ready.value
        #expect(try await track.value === client.track("depth"))
        let error = await missing.value
        #expect(error?.code == .notFound && error?.message.contains("main_video") == true)
        #expect(try await client.waitForTrack("depth", timeout: .zero).kind == .video)
        try await client.disconnect()
    }

    @Test("C9.6, C8, X-3, X-4 a wait that ends without its status: time, cancellation, close, closed before")
    func waitEnds() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        for timeout in [Duration.zero, .milliseconds(5), .seconds(-9)] {
            let error = await failure { try await client.waitForStatus(.ready, timeout: timeout) }
            #expect(error?.code == .requestTimeout && error?.operation == "wait_for_status")
        }
        #expect(await failure { try await client.waitForTrack("x", timeout: .zero) }?.code == .requestTimeout)
        let cancelled = Task { try await client.waitForStatus(.ready) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let limited = Task { try await client.waitForTrack("x", timeout: .seconds(60)) }
        limited.cancel()
        await #expect(throws: CancellationError.self) { try await limited.value }
        let pending = Task { await failure { try await client.waitForStatus(.ready) } }
        #expect(await eventually { client.state.hub.statusUpdates.subscriberCount == 1 })
        client.close()
        #expect(await pending.value?.code == .aborted)
        #expect(await failure { try await client.waitForStatus(.disconnected) }?.code == .invalidState)
        #expect(await failure { try await client.waitForTrack("x") }?.code == .invalidState)
    }

    // MARK: Types

    private struct Echo: ReactorCommand {
        struct Reply: Decodable, Sendable, Hashable { let word: String }
        static let commandName = "echo"
        let word: String
    }
    private struct Acknowledge: ReactorCommand { static let commandName = "ack" }
    private struct Release: ReactorCommand { static let commandName = "refuse" }
    private struct Broken: ReactorCommand {
        struct Reply: Decodable, Sendable { let absent: Int }
        static let commandName = "echo"
        let word: String
    }
    private struct News: ReactorMessage {
        static let messageType = "news"
        let n: Int
    }
    private struct Other: ReactorMessage { static let messageType = "other" }
    private struct Whole: Decodable, Sendable { let type: String }

    @Test("C9.4 typed commands: the reply as a type, nil for an acknowledgement, refusals and replies that do not fit")
    func typedCommands() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        #expect(try await client.send(Echo(word: "fox")) == Echo.Reply(word: "fox"))
        #expect(try await client.send(Acknowledge()) == nil)
        #expect(await failure { try await client.send(Release()) }?.code == .invalidCommand)
        let error = await failure { try await client.send(Broken(word: "a")) }
        #expect(error?.code == .decodeFailed && error?.message.contains("absent") == true && error?.operation == "send_command")
        try await client.disconnect()
    }

    @Test("C9.4 typed messages: only those of the type; one that does not fit is a failure and the loop goes on")
    func typedMessages() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        try await client.connect()
        // They subscribe when they are asked for, not when they are read.
        let newsSequence = client.messages(of: News.self)
        var other = client.messages(of: Other.self).makeAsyncIterator()
        var whole = client.messages(as: Whole.self).makeAsyncIterator()
        try await client.sendCommand("broadcast", ["n": 1])
        try await client.sendCommand("broadcast", ["n": "one"])
        try await client.sendCommand("broadcast", ["n": 3])
        try await client.disconnect()
        client.close()
        var news = newsSequence.makeAsyncIterator()
        let next1 = await news.next()
        #expect(try next1?.get().n == 1)
        let second = await news.next()
        #expect(throws: ReactorError.self) { try second?.get() }
        if case .failure(let error) = second {
            #expect(error.code == .decodeFailed && error.message.contains("'news'") && error.message.contains("n"))
        }
        let next2 = await news.next()
        #expect(try next2?.get().n == 3)
        let next3 = await news.next()
        #expect(next3 == nil)
        let next4 = await other.next()
        #expect(next4 == nil)
        let next5 = await whole.next()
        #expect(try next5?.get().type == "news")
    }

    // MARK: Statistics

    @Test("C9.7 statsUpdates: at once and again, rates of its own, over a reconnect, to the end with the client")
    func statistics() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        var readings = client.statsUpdates(every: .zero).makeAsyncIterator()
        try await client.connect()
        let first = await readings.next()
        #expect(first != nil && first?.incomingBitrateBPS == nil)
        // Another reader does not disturb the rates of this one.
        _ = try await client.stats()
        let second = await readings.next()
        #expect(second?.incomingBitrateBPS != nil)
        try await client.reconnect()
        var seen = await readings.next()
        while let stats = seen, stats.incomingBitrateBPS != nil { seen = await readings.next() }
        // The first of the new connection has nothing to compare with.
        #expect(seen != nil)
        let next6 = await readings.next()
        #expect(next6?.incomingBitrateBPS != nil)
        client.close()
        while await readings.next() != nil {}
    }

    @Test("C9.12 diagnose() names the first missing step, from nothing to pictures that are taken")
    func diagnosis() async throws {
        let runtime = try FakeRuntime()
        let client = try runtime.client()
        #expect(await client.diagnose().firstMissing == .connected)
        #expect(await client.diagnose(track: "main_video").firstMissing == .connected)
        try await client.connect()
        let track = try client.track("main_video")
        #expect(await client.diagnose(track: "nothing").firstMissing == .declared)
        #expect(await client.diagnose(track: "webcam").firstMissing == .published)
        #expect(await eventually { await client.diagnose(track: "main_video").firstMissing == .delivered })
        let first = await client.diagnose()
        #expect(first.firstMissing != nil && first.track != nil && first.track != "webcam")
        for await _ in try track.videoFrames { break }
        #expect(await client.diagnose(track: "main_video").firstMissing == nil)
        try await track.pause()
        #expect(await client.diagnose(track: "main_video").firstMissing == .resumed)
        client.close()
        #expect(await client.diagnose(track: "main_video").firstMissing == .connected)
    }

    // MARK: Scopes

    private func configuration(_ runtime: FakeRuntime) -> ReactorConfiguration {
        var configuration = ReactorConfiguration()
        configuration.apiURL = runtime.server.url
        configuration.local = true
        return configuration
    }

    @Test("C9.2 withReactor connects, and ends the session when its body returns, throws or is cancelled")
    func scoped() async throws {
        struct Refusal: Error {}
        let runtime = try FakeRuntime()
        let kept = Mutex<Reactor?>(nil)
        let word = try await withReactor(model: "owner/model", configuration: configuration(runtime)) { reactor in
            kept.withLock { $0 = reactor }
            #expect(reactor.status == .ready)
            return try await reactor.sendCommand("echo", ["word": "fox"])?.data?["word"]?.stringValue
        }
        #expect(word == "fox")
        #expect(kept.withLock { $0 }?.isClosed == true && runtime.endCount == 1)

        await #expect(throws: Refusal.self) {
            try await withReactor(model: "owner/model", configuration: configuration(runtime)) { _ in throw Refusal() }
        }
        #expect(runtime.endCount == 2)

        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let settings = configuration(runtime)
        let task = Task {
            try await withReactor(model: "owner/model", tokenProvider: StaticToken("t"), configuration: settings) { reactor in
                start.yield()
                for await _ in try reactor.track("depth").videoFrames {}
                try Task.checkCancellation()
            }
        }
        for await _ in started { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(runtime.endCount == 3)
    }

    @Test("C9.2 withReactor throws what connecting throws, and closes the client")
    func scopedFailure() async throws {
        let runtime = try FakeRuntime { $0.override = { _ in [.reply(401, "{}")] } }
        let settings = configuration(runtime)
        let error = await failure {
            try await withReactor(model: "owner/model", configuration: settings) { _ in Issue.record("the body ran") }
        }
        #expect(error?.code == .unauthorized)
    }

    // MARK: Metrics

    @Test("C9.10 metrics: changes of status, errors by code, commands by result, the time of connecting")
    func metrics() async throws {
        let meter = Meter()
        let runtime = try FakeRuntime()
        let client = try runtime.client { $0.metrics = meter }
        try await client.connect()
        try await client.sendCommand("ack")
        _ = try? await client.sendCommand("refuse")
        try await client.reconnect()
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { meter.count("reactor.errors code=DISCONNECTED") == 1 })
        #expect(meter.count("reactor.status status=ready") == 2)
        #expect(meter.count("reactor.reconnects") == 1)
        #expect(meter.count("reactor.commands result=ok") == 1)
        #expect(meter.count("reactor.commands result=invalid_command") == 1)
        #expect(meter.count("timer reactor.command.duration") == 1)
        #expect(meter.count("timer reactor.connect.duration step=total") == 2)
        #expect(meter.count("gauge reactor.events.dropped") > 0)
        client.close()
    }
}

private final class Names: Sendable {
    private let names = Mutex<[String]>([])
    func add(_ name: String) { names.withLock { $0.append(name) } }
    var all: [String] { names.withLock { $0 } }
}

private final class Meter: ReactorMetrics {
    private let counts = Mutex<[String: Int64]>([:])

    private func add(_ name: String, _ value: Int64, _ dimensions: [String: String]) {
        let text = ([name] + dimensions.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
        counts.withLock { $0[text, default: 0] += value }
    }

    func count(_ text: String) -> Int64 { counts.withLock { $0[text] ?? 0 } }
    func counter(_ name: String, _ value: Int64, dimensions: [String: String]) { add(name, value, dimensions) }
    func gauge(_ name: String, _ value: Double, dimensions: [String: String]) { add("gauge " + name, 1, dimensions) }
    func timer(_ name: String, _ value: Duration, dimensions: [String: String]) {
        if value > .zero { add("timer " + name, 1, dimensions) }
    }
}

extension ReactorEvent {
    fileprivate var text: String {
        switch self {
        case .status(let status): status.rawValue
        case .sessionID(let id): "id \(id ?? "none")"
        case .tracks(let tracks): "tracks \(tracks.map(\.name).joined(separator: " "))"
        case .trackReceived(let track): "received \(track.name)"
        case .message(let message): "message \(message["type"]?.stringValue ?? "")"
        case .runtimeMessage(let message): "runtime \(message["type"]?.stringValue ?? "")"
        case .error(let error): "error \(error.code)"
        }
    }
}
