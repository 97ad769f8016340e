import Dispatch
import PeerTestSupport
import ReactorCore
import Synchronization
import Testing

@testable import Reactor

/// Claims of slots against a loopback runtime: granted, refused, lost, given back.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct ClientPublishTests {
    private func connected(
        configure: (inout FakeRuntime.Options) -> Void = { _ in }, client: (inout ReactorConfiguration) -> Void = { _ in }
    ) async throws -> (FakeRuntime, Reactor, Track) {
        let runtime = try FakeRuntime(configure)
        let client = try runtime.client(configure: client)
        try await client.connect()
        return (runtime, client, try client.track("webcam"))
    }

    private static func push(_ track: Track) throws { try track.pushFrame([UInt8](repeating: 128, count: 16 * 16 * 4), 16, 16) }

    @Test("T-12, T-14, X-13 publish() claims the slot; before it and after unpublish() a push throws; twice does nothing")
    func publishAndUnpublish() async throws {
        let (runtime, client, track) = try await connected()
        #expect(!track.published)
        #expect(await failure { try Self.push(track) }?.code == .invalidState)
        try await track.publish()
        #expect(track.published)
        #expect(throws: Never.self) { try Self.push(track) }
        try await track.publish()
        #expect(runtime.publishing == ["publish webcam"])
        try track.unpublish()
        #expect(!track.published)
        #expect(await failure { try Self.push(track) }?.code == .invalidState)
        try track.unpublish()
        #expect(await eventually { runtime.publishing == ["publish webcam", "unpublish webcam"] })
        try await track.publish()
        #expect(track.published)
        #expect(runtime.publishing == ["publish webcam", "unpublish webcam", "publish webcam"])
        try await client.disconnect()
        #expect(!track.published)
    }

    @Test("T-15, T-25 on tracks that are received publish() and unpublish() throw invalidState, and nothing is asked")
    func received() async throws {
        let (runtime, client, _) = try await connected()
        for name in ["main_video", "main_audio"] {
            let track = try client.track(name)
            #expect(await failure { try await track.publish() }?.code == .invalidState)
            #expect(await failure { try track.unpublish() }?.code == .invalidState)
        }
        #expect(runtime.publishing.isEmpty)
        try await client.disconnect()
    }

    @Test("T-17 unpublish() returns at once while the far end says nothing")
    func stalled() async throws {
        let (runtime, client, track) = try await connected()
        try await track.publish()
        try runtime.peer.post { $0.goSilent() }
        let began = ContinuousClock.now
        try track.unpublish()
        #expect(ContinuousClock.now - began < .milliseconds(100))
        #expect(!track.published)
        #expect(runtime.publishing == ["publish webcam"])
        try runtime.peer.post { $0.speakAgain() }
        #expect(await eventually { runtime.publishing == ["publish webcam", "unpublish webcam"] })
        try await client.disconnect()
    }

    @Test("T-18 when the notification cannot be sent unpublish() throws, and the track stays published")
    func channelClosed() async throws {
        let (runtime, client, track) = try await connected()
        try await track.publish()
        try runtime.peer.post { $0.closeChannel("control") }
        #expect(await eventually { client.state.read { !$0.isControlOpen } })
        let error = await failure { try track.unpublish() }
        #expect(error?.code == .invalidState)
        #expect(error?.operation == "unpublish_track")
        #expect(track.published)
        #expect(client.status == .ready)
        #expect(throws: Never.self) { try Self.push(track) }
        client.close()
        #expect(!track.published)
    }

    @Test("8.4 a refused claim throws the platform's code, is an error event, and leaves the track as it was")
    func refused() async throws {
        let (runtime, client, track) = try await connected()
        runtime.brain.answerPublish(.refusal)
        let events = Mutex<[ReactorError]>([])
        let subscription = client.onError { error in events.withLock { $0.append(error) } }
        let error = await failure { try await track.publish() }
        #expect(error?.code == .publishRefused)
        #expect(error?.operation == "publish_track")
        #expect(error?.recoverable == false)
        let words = "control request 'publish_track' failed (publish_refused): track already published; another client publishes"
        #expect(error?.message.hasPrefix(words) == true)
        #expect(!track.published)
        #expect(await eventually { events.withLock { $0.count } == 1 })
        #expect(events.withLock { $0.first?.code } == .publishRefused)
        #expect(events.withLock { $0.first?.operation } == "publish_track")
        // Refused is not held: nothing is given back, and the next try is a plain one.
        runtime.brain.answerPublish(.byRule)
        try await track.publish()
        #expect(runtime.publishing == ["publish webcam", "publish webcam"])
        subscription.cancel()
        try await client.disconnect()
    }

    @Test("8.4 no answer in time: requestTimeout and an error event; the slot is given back, now and before the next claim")
    func timedOut() async throws {
        let (runtime, client, track) = try await connected(client: { $0.commandTimeout = .milliseconds(200) })
        runtime.brain.answerPublish(.silence)
        let trace = Trace(client)
        let error = await failure { try await track.publish() }
        #expect(error?.code == .requestTimeout)
        #expect(error?.recoverable == true)
        #expect(!track.published)
        #expect(await eventually { trace.all == ["error REQUEST_TIMEOUT"] })
        #expect(await eventually { runtime.publishing == ["publish webcam", "unpublish webcam"] })
        runtime.brain.answerPublish(.byRule)
        try await track.publish()
        #expect(track.published)
        #expect(runtime.publishing.suffix(2) == ["unpublish webcam", "publish webcam"])
        try await client.disconnect()
    }

    @Test("an answer of another kind is decodeFailed, and the track is not published")
    func unreadable() async throws {
        let (runtime, client, track) = try await connected()
        runtime.brain.answerPublish(.nonsense)
        #expect(await failure { try await track.publish() }?.code == .decodeFailed)
        #expect(!track.published)
        #expect(client.status == .ready)
        #expect(await eventually { runtime.publishing == ["publish webcam", "unpublish webcam"] })
        try await client.disconnect()
    }

    @Test("a second publish() while one waits throws invalidState; the first goes on")
    func twice() async throws {
        let (runtime, client, track) = try await connected(client: { $0.commandTimeout = .seconds(20) })
        runtime.brain.answerPublish(.silence)
        let first = Task { try await track.publish() }
        #expect(await eventually { runtime.publishing == ["publish webcam"] })
        #expect(await failure { try await track.publish() }?.code == .invalidState)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        try await client.disconnect()
    }

    @Test("C8 publish() cancelled while it waits: CancellationError at once, unpublished, the slot given back")
    func cancelled() async throws {
        let (runtime, client, track) = try await connected()
        runtime.brain.answerPublish(.silence)
        let trace = Trace(client)
        let publishing = Task { try await track.publish() }
        #expect(await eventually { runtime.publishing == ["publish webcam"] })
        let began = ContinuousClock.now
        publishing.cancel()
        await #expect(throws: CancellationError.self) { try await publishing.value }
        #expect(ContinuousClock.now - began < .seconds(1))
        #expect(!track.published)
        #expect(await eventually { runtime.publishing == ["publish webcam", "unpublish webcam"] })
        #expect(trace.all.isEmpty)
        // A task cancelled before the call asks for nothing.
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await track.publish()
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(runtime.publishing.count == 2)
        try await client.disconnect()
    }

    @Test("C8 publish() cancelled at any moment: either it is published and returned, or it threw and nothing is held")
    func cancelledAnywhere() async throws {
        let (runtime, client, track) = try await connected()
        for round in 0..<60 {
            let publishing = Task { try await track.publish() }
            for _ in 0..<round * 3 { await Task.yield() }
            publishing.cancel()
            switch await publishing.result {
            case .success:
                #expect(track.published)
                try track.unpublish()
            case .failure(let error):
                #expect(error is CancellationError, "\(error)")
                #expect(!track.published)
            }
            #expect(!track.published)
        }
        // What follows the last word of either kind: nothing is held.
        #expect(try await client.sendCommand("ack") == nil)
        _ = try await client.requestSchema()
        #expect(runtime.brain.slots.isEmpty)
        try await client.disconnect()
    }

    @Test("X-5 the connection goes while publish() waits: disconnected, and the loss is the only error event")
    func lostMeanwhile() async throws {
        let (runtime, client, track) = try await connected()
        runtime.brain.answerPublish(.silence)
        let trace = Trace(client)
        let publishing = Task { try await track.publish() }
        #expect(await eventually { runtime.publishing == ["publish webcam"] })
        try runtime.peer.post { $0.sayGoodbye() }
        let error = await failure { try await publishing.value }
        #expect(error?.code == .disconnected)
        #expect(error?.recoverable == true)
        #expect(!track.published)
        #expect(await eventually { trace.all == ["error DISCONNECTED", "disconnected"] })
        client.close()
    }

    @Test("X-4 close() while publish() waits: aborted, and the message names the call")
    func closedMeanwhile() async throws {
        let (runtime, client, track) = try await connected()
        runtime.brain.answerPublish(.silence)
        let publishing = Task { try await track.publish() }
        #expect(await eventually { runtime.publishing == ["publish webcam"] })
        client.close()
        let error = await failure { try await publishing.value }
        #expect(error?.code == .aborted)
        #expect(error?.message.contains("publish_track") == true)
    }

    @Test("R-26, 6.4 after a reconnect the track is not published; publish() gives the old slot back before it claims a new one")
    func reconnect() async throws {
        let (runtime, client, track) = try await connected()
        try await track.publish()
        try await client.reconnect()
        #expect(!track.published)
        #expect(await failure { try Self.push(track) }?.code == .invalidState)
        // The runtime has not noticed and would refuse a plain claim.
        #expect(runtime.brain.slots == ["webcam"])
        try await track.publish()
        #expect(track.published)
        #expect(runtime.publishing == ["publish webcam", "unpublish webcam", "publish webcam"])
        #expect(throws: Never.self) { try Self.push(track) }
        // A loss, with the same rule.
        try runtime.peer.post { $0.sayGoodbye() }
        #expect(await eventually { client.status == .disconnected })
        #expect(!track.published)
        #expect(await failure { try Self.push(track) }?.code == .invalidState)
        try await client.reconnect()
        try await track.publish()
        #expect(track.published)
        try await client.disconnect()
    }

    @Test("a track that the server refused cannot be published: transportError, and nothing is asked")
    func rejectedSection() async throws {
        // The mid of the first declared track.
        let (runtime, client, track) = try await connected(configure: { $0.peer.rejectedMids = ["0"] })
        #expect(await failure { try await track.publish() }?.code == .transportError)
        #expect(!track.published)
        #expect(runtime.publishing.isEmpty)
        try await client.disconnect()
    }

    @Test("T-13 no reader ever sees a published track with another status than ready, over losses, reconnects and ends")
    func publishedOnlyWhenReady() async throws {
        let (runtime, client, track) = try await connected()
        let isDone = SharedFlag(false)
        let violations = Counter()
        let sightings = Counter()
        let readers = (0..<2).map { _ in
            Task.detached {
                while !isDone.value {
                    let (status, published) = client.state.read { ($0.status, $0.published) }
                    if !published.isEmpty { _ = sightings.next() }
                    if !published.isEmpty, status != .ready { _ = violations.next() }
                    await Task.yield()
                }
            }
        }
        for round in 0..<12 {
            // The loss may meet the claim, its answer, or a published track.
            async let claim: Void? = try? track.publish()
            for _ in 0..<round * 4 { await Task.yield() }
            switch round % 4 {
            case 0: try runtime.peer.post { $0.sayGoodbye() }
            case 1: try await client.reconnect()
            case 2: try await client.disconnect()
            default:
                await claim
                try? track.unpublish()
                try runtime.peer.post { $0.abortAssociation() }
            }
            _ = await claim
            if round % 4 != 1 {
                #expect(await eventually { client.status == .disconnected })
                #expect(!track.published)
            }
            if client.status == .disconnected {
                if client.sessionID == nil { try await client.connect() } else { try await client.reconnect() }
            }
            try await track.publish()
            #expect(track.published)
            try track.unpublish()
        }
        try await track.publish()
        client.close()
        #expect(!track.published)
        isDone.value = true
        for reader in readers { await reader.value }
        #expect(violations.value == 0)
        #expect(sightings.value > 0)
    }
}

extension Track {
    fileprivate nonisolated func pushFrame(_ pixels: [UInt8], _ width: UInt32, _ height: UInt32) throws {
        try pixels.withUnsafeBytes { try pushFrame($0, width: width, height: height) }
    }
}
