import Foundation
import Reactor
import Testing

extension Interop {
    /// The life of a session: who ends it, who joins it, and what a reconnect keeps.
    @Suite("Session")
    struct SessionTests {
        @Test("disconnect() ends the session on the server")
        func disconnectEnds() async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                #expect(reactor.sessionID == RuntimeProcess.sessionID)
                #expect(await eventually(within: 2) { await runtime.sessionState() == "streaming" })
                try await reactor.disconnect()
                #expect(reactor.status == .disconnected)
                #expect(reactor.sessionID == nil)
                #expect(await eventually(within: 2) { await runtime.sessionState() == "ready" })
                // Once more does no harm.
                try await reactor.disconnect()
                reactor.close()
                try await reactor.disconnect()
            }
        }

        @Test("close() leaves the session on the server, and a new client can adopt it")
        func closeLeavesSession() async throws {
            try await withRuntime { runtime in
                let first = try client(runtime.url)
                try await first.connect()
                let session = try #require(first.sessionID)
                #expect(await eventually(within: 2) { await runtime.sessionState() == "streaming" })
                first.close()
                #expect(first.status == .disconnected)
                // The runtime does not act on our close_notify; it notices when its own checks fail.
                let begin = Stopwatch()
                #expect(await eventually(within: 15) { await runtime.sessionState() == "orphaned" })
                measured("close_noticed_by_server", begin.milliseconds, "ms")
                let second = try client(runtime.url)
                try await second.connect(sessionID: session)
                #expect(second.status == .ready)
                #expect(await eventually(within: 2) { await runtime.sessionState() == "streaming" })
                let report = StreamReport()
                let track = try second.track("main_video")
                let watching = Task { try await report.watch(track) }
                #expect(await eventually(within: 5) { report.frames > 10 })
                watching.cancel()
                // A session that was joined is not ended by leaving it.
                try await second.disconnect()
                #expect(await eventually(within: 15) { await runtime.sessionState() == "orphaned" })
                try await runtime.stopSession()
                second.close()
            }
        }

        @Test("A second client adopts a running session; both receive, and its disconnect() takes nothing from the first")
        func twoClients() async throws {
            try await withRuntime { runtime in
                let first = try client(runtime.url)
                try await first.connect()
                let second = try client(runtime.url)
                try await second.connect(sessionID: first.sessionID)
                let reports = [StreamReport(), StreamReport()]
                let tracks = [try first.track("main_video"), try second.track("main_video")]
                let watching = zip(reports, tracks).map { report, track in Task { try await report.watch(track) } }
                #expect(await eventually(within: 5) { reports.allSatisfy { $0.frames > 30 } }, "\(reports.map(\.frames))")
                for (index, reactor) in [first, second].enumerated() {
                    let reply = try await reactor.sendCommand("echo", ["payload": .string("client \(index)")])
                    #expect(reply?.data?["payload"]?.stringValue == "client \(index)")
                }
                try await second.disconnect()
                second.close()
                let before = reports[0].frames
                #expect(await eventually(within: 3) { reports[0].frames > before + 30 })
                #expect(first.status == .ready)
                #expect(reports[0].snapshot.unreadable == 0)
                #expect(reports[1].snapshot.unreadable == 0)
                watching.forEach { $0.cancel() }
                try await first.disconnect()
                first.close()
            }
        }

        @Test("reconnect() keeps the session, and frames and commands flow again")
        func reconnects() async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                let statuses = Recorder<ReactorStatus>()
                let subscription = reactor.onStatus { statuses.add($0) }
                try await reactor.connect()
                let session = reactor.sessionID
                let report = StreamReport()
                let track = try reactor.track("main_video")
                let watching = Task { try await report.watch(track) }
                #expect(await eventually(within: 5) { report.frames > 10 })
                try await reactor.sendCommand("set_prompt", ["prompt": "kept"])
                var times: [Double] = []
                var firstFrames: [Double] = []
                for _ in 0..<5 {
                    let begin = Stopwatch()
                    try await reactor.reconnect()
                    times.append(begin.milliseconds)
                    #expect(reactor.status == .ready)
                    #expect(reactor.sessionID == session)
                    let before = report.frames
                    #expect(await eventually(within: 5) { report.frames > before })
                    firstFrames.append(begin.milliseconds)
                    #expect(await eventually(within: 5) { report.frames > before + 10 })
                }
                // The model counts prompts per session: this one is its second.
                let reply = try await reactor.sendCommand("set_prompt", ["prompt": "still"])
                #expect(reply?.data?["count"]?.intValue == 2)
                measured("reconnect_p50", percentile(times, 0.5), "ms")
                measured("reconnect_first_frame_p50", percentile(firstFrames, 0.5), "ms")
                #expect(report.snapshot.unreadable == 0, "\(report.snapshot.unreadableSizes)")
                #expect(report.snapshot.black <= 6, "at most one for each connection")
                // The same track object and the same sequence go on.
                #expect(try reactor.track("main_video") === track)
                watching.cancel()
                subscription.cancel()
                try await reactor.disconnect()
                #expect(await eventually(within: 2) { await runtime.sessionState() == "ready" })
                reactor.close()
            }
        }

        @Test("reconnect() after the connection was lost brings the session back")
        func reconnectsAfterLoss() async throws {
            try await withRuntime { runtime in
                try await RelayProcess.with(runtime, ["--outage", "2:8"]) { relay in
                    let reactor = try client(relay.url)
                    try await reactor.connect()
                    let session = reactor.sessionID
                    let lost = Stopwatch()
                    #expect(await eventually(within: 12) { reactor.status == .disconnected })
                    measured("outage_8s_noticed_after_connect", lost.milliseconds, "ms")
                    // The session is kept for this.
                    #expect(reactor.sessionID == session)
                    try await Task.sleep(for: .seconds(max(0, 10.5 - lost.seconds)))
                    try await reactor.reconnect()
                    #expect(reactor.status == .ready)
                    let report = StreamReport()
                    let track = try reactor.track("main_video")
                    let watching = Task { try await report.watch(track) }
                    #expect(await eventually(within: 5) { report.frames > 10 })
                    watching.cancel()
                    try await reactor.disconnect()
                    reactor.close()
                }
            }
        }

        @Test("T-40, T-41 pause() stops the frames, resume() starts them again")
        func pauseAndResume() async throws {
            try await withRuntime { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                let report = StreamReport()
                let track = try reactor.track("main_video")
                let watching = Task { try await report.watch(track) }
                #expect(await eventually(within: 5) { report.frames > 10 })
                for _ in 0..<3 {
                    try await track.pause()
                    #expect(track.paused)
                    #expect(reactor.pausedTracks == ["main_video"])
                    // What is on its way still comes.
                    try await Task.sleep(for: .milliseconds(500))
                    let paused = report.frames
                    try await Task.sleep(for: .seconds(1))
                    #expect(report.frames == paused)
                    let begin = Stopwatch()
                    try await track.resume()
                    #expect(!track.paused)
                    #expect(await eventually(within: 3) { report.frames > paused })
                    measured("resume_first_frame", begin.milliseconds, "ms")
                    #expect(await eventually(within: 3) { report.frames > paused + 20 })
                }
                #expect(report.snapshot.unreadable == 0)
                watching.cancel()
                try await reactor.disconnect()
                reactor.close()
            }
        }

        @Test("A connect that is cancelled at any moment throws CancellationError, and ends what it began")
        func cancelledConnect() async throws {
            try await withRuntime { runtime in
                await ProcessUsage.warmUp()
                let start = ProcessUsage.now
                for milliseconds in [0, 2, 5, 10, 15, 20, 30, 40, 60, 80] {
                    let reactor = try client(runtime.url)
                    let connecting = Task { try await reactor.connect() }
                    try await Task.sleep(for: .milliseconds(milliseconds))
                    let begin = Stopwatch()
                    connecting.cancel()
                    let outcome = await connecting.result
                    #expect(begin.seconds < 1, "cancelled after \(milliseconds) ms")
                    switch outcome {
                    case .success:
                        // It was done already.
                        #expect(reactor.status == .ready)
                        try await reactor.disconnect()
                    case .failure(let error):
                        #expect(error is CancellationError, "cancelled after \(milliseconds) ms: \(error)")
                        #expect(reactor.status == .disconnected)
                    }
                    #expect(
                        await eventually(within: 6) { await runtime.sessionState() == "ready" },
                        "cancelled after \(milliseconds) ms, and the session stays")
                    reactor.close()
                }
                let end = await ProcessUsage.settled(to: start)
                #expect(end.isWithin(start), "at the end: \(end)\nat the start: \(start)")
            }
        }

        @Test("close() from within a handler and during connect fails the calls in flight and leaves nothing")
        func closeDuringConnect() async throws {
            await ProcessUsage.warmUp()
            let start = ProcessUsage.now
            for milliseconds in [0, 5, 20, 50] {
                // close() leaves sessions alone, also one whose creation was on its way: each round has a runtime of its own.
                try await withRuntime { runtime in
                    let reactor = try client(runtime.url)
                    let connecting = Task { try await reactor.connect() }
                    try await Task.sleep(for: .milliseconds(milliseconds))
                    reactor.close()
                    let outcome = await connecting.result
                    if case .failure(let error) = outcome {
                        #expect((error as? ReactorError)?.code == .aborted || (error as? ReactorError)?.code == .invalidState, "\(error)")
                    }
                    #expect(reactor.status == .disconnected)
                }
            }
            let end = await ProcessUsage.settled(to: start)
            #expect(end.isWithin(start), "at the end: \(end)\nat the start: \(start)")
        }
    }
}
