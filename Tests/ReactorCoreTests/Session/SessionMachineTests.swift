import Testing

@testable import ReactorCore

@Suite struct SessionMachineTests {
    typealias Event = SessionMachine.Event
    typealias Action = SessionMachine.Action

    static let capabilities = Capabilities(tracks: [
        DeclaredTrack(name: "webcam", kind: .video, direction: .sendonly),
        DeclaredTrack(name: "main_video", kind: .video, direction: .recvonly),
        DeclaredTrack(name: "main_audio", kind: .audio, direction: .recvonly),
    ])
    static let received = [
        SessionMachine.ReceivedTrack(name: "main_video", mid: "1"), SessionMachine.ReceivedTrack(name: "main_audio", mid: "2"),
    ]
    static let g1 = Generation(1)
    static let g2 = Generation(2)
    static let refused = CoreError(.conflict, "no")

    static func create(_ generation: Generation) -> Action { .startAttempt(Attempt(generation: generation, purpose: .create)) }
    static func again(_ generation: Generation, connectionID: UInt32? = 7) -> Action {
        .startAttempt(
            Attempt(generation: generation, purpose: .reconnect(sessionID: "s", capabilities: capabilities), connectionID: connectionID))
    }

    /// connect() by call 1 up to ready, with connection id 7.
    static let connect: [(Event, [Action])] = [
        (.connectCalled(CallID(1), sessionID: nil, connectionID: nil), [.emitStatus(.connecting), create(g1)]),
        (.sessionCreated(id: "s", g1), [.emitSessionID("s"), .emitStatus(.waiting)]),
        (.capabilitiesReceived(capabilities, g1), [.emitCapabilities(capabilities)]),
        (.connectionRegistered(7, g1), []),
        (.tracksReceived(received, g1), received.map(Action.emitTrackReceived)),
        (
            .transportReady(g1),
            [.emitStatus(.ready), .sendResumesAndPing(["main_video", "main_audio"]), .resolve(CallID(1), .success)]
        ),
    ]

    private func run(_ steps: [(Event, [Action])], isLocal: Bool = false) -> SessionMachine {
        var machine = SessionMachine(isLocal: isLocal)
        for (index, step) in steps.enumerated() {
            let actions = machine.handle(step.0)
            #expect(actions == step.1, "step \(index): \(step.0)")
        }
        return machine
    }

    private static func failure(_ code: ErrorCode, _ message: String, _ operation: CoreError.Operation) -> CallOutcome {
        .failure(CoreError(code, message, operation: operation))
    }

    @Test("connect() emits connecting, session id, waiting, capabilities, tracks, ready, then resumes and returns")
    func connectSucceeds() {
        let machine = run(Self.connect)
        #expect(machine.status == .ready)
        #expect(machine.sessionID == "s")
        #expect(machine.connectionID == 7)
        #expect(machine.readyGeneration == Self.g1)
        #expect(machine.tracks["main_video"]?.mid == "1")
        #expect(machine.tracks["webcam"]?.mid == nil)
    }

    @Test("C8 a connect that runs out of its own limit ends at once; a session its request still creates is ended")
    func timedOut() {
        let late = CoreError(.requestTimeout, "timed out", operation: .connect)
        let machine = run([
            (.connectCalled(CallID(1), sessionID: nil, connectionID: nil), [.emitStatus(.connecting), Self.create(Self.g1)]),
            (
                .timedOut(late, Self.g1),
                [
                    .cancelAttempt(Self.g1), .emitError(late), .closeTransport(Self.g1), .emitStatus(.disconnected),
                    .resolve(CallID(1), .failure(late)),
                ]
            ),
            (.sessionCreated(id: "s", Self.g1), [.endSession(id: "s", EndToken(1))]),
            (.stepFailed(CoreError(.aborted, "cancelled"), Self.g1), []),
            (.timedOut(late, Self.g1), []),
            (.endFinished(EndToken(1)), []),
        ])
        #expect(machine.status == .disconnected)
        #expect(machine.sessionID == nil)
    }

    @Test("R-17 connect(sessionID:) adopts, and R-18 disconnect() leaves that session alone")
    func adopt() {
        _ = run([
            (
                .connectCalled(CallID(1), sessionID: "a", connectionID: 9),
                [
                    .emitStatus(.connecting),
                    .startAttempt(Attempt(generation: Self.g1, purpose: .adopt(sessionID: "a"), connectionID: 9)),
                ]
            ),
            (.sessionAdopted(id: "a", Self.g1), [.emitSessionID("a"), .emitStatus(.waiting)]),
            (.capabilitiesReceived(Self.capabilities, Self.g1), [.emitCapabilities(Self.capabilities)]),
            (
                .transportReady(Self.g1),
                [.emitStatus(.ready), .sendResumesAndPing(["main_video", "main_audio"]), .resolve(CallID(1), .success)]
            ),
            (
                .disconnectCalled(CallID(2)),
                [
                    .failPending(.disconnected, message: "disconnect() was called"), .closeTransport(Self.g1),
                    .emitStatus(.disconnected), .emitSessionID(nil), .resolve(CallID(2), .success),
                ]
            ),
        ])
    }

    @Test("connect() failing before a session: error, then disconnected, no session event")
    func connectFailsEarly() {
        let error = Self.refused.during(.connect)
        let machine = run([
            Self.connect[0],
            (
                .stepFailed(Self.refused, Self.g1),
                [.emitError(error), .closeTransport(Self.g1), .emitStatus(.disconnected), .resolve(CallID(1), .failure(error))]
            ),
            (.disconnectCalled(CallID(2)), [.resolve(CallID(2), .success)]),
        ])
        #expect(machine.sessionID == nil)
    }

    @Test("connect() failing after the session was created ends it; a later disconnect() tells that the id is gone")
    func connectFailsLate() {
        let error = Self.refused.during(.connect)
        let machine = run(
            Self.connect.prefix(3) + [
                (
                    .stepFailed(Self.refused, Self.g1),
                    [
                        .emitError(error), .closeTransport(Self.g1), .endSession(id: "s", EndToken(1)), .emitStatus(.disconnected),
                        .resolve(CallID(1), .failure(error)),
                    ]
                ),
                (.endFinished(EndToken(1)), []),
                (.disconnectCalled(CallID(2)), [.emitSessionID(nil), .resolve(CallID(2), .success)]),
            ])
        #expect(machine.sessionID == nil)
        #expect(machine.tracks.entries.isEmpty)
    }

    @Test("connection loss: error without operation, pending calls fail, transport closes, status; the session stays for reconnect()")
    func lossAndReconnect() {
        let message = "peer connection state: Disconnected"
        let machine = run(
            Self.connect + [
                (
                    .transportLost(cause: "Disconnected", Self.g1),
                    [
                        .emitError(CoreError(.disconnected, message)), .failPending(.disconnected, message: message),
                        .closeTransport(Self.g1), .emitStatus(.disconnected),
                    ]
                ),
                (.reconnectCalled(CallID(2)), [.emitStatus(.connecting), .emitStatus(.waiting), Self.again(Self.g2)]),
                (.tracksReceived(Self.received, Self.g2), Self.received.map(Action.emitTrackReceived)),
                (
                    .transportReady(Self.g2),
                    [.emitStatus(.ready), .sendResumesAndPing(["main_video", "main_audio"]), .resolve(CallID(2), .success)]
                ),
            ])
        #expect(machine.sessionID == "s")
    }

    @Test("an announced end is named in the loss")
    func announcedEnd() {
        var machine = run(Self.connect)
        #expect(machine.handle(.endAnnounced(reason: "over", Self.g1)).isEmpty)
        let actions = machine.handle(.transportLost(cause: "Closed", Self.g1))
        #expect(actions.first == .emitError(CoreError(.disconnected, "peer connection state: Closed (the session ended: over)")))
    }

    @Test("R-22, R-23 reconnect() from ready cycles the status and keeps session and connection id")
    func reconnectFromReady() {
        _ = run(
            Self.connect + [
                (
                    .reconnectCalled(CallID(2)),
                    [
                        .failPending(.disconnected, message: "reconnect() replaces the connection"), .closeTransport(Self.g1),
                        .emitStatus(.disconnected), .emitStatus(.connecting), .emitStatus(.waiting), Self.again(Self.g2),
                    ]
                )
            ])
    }

    @Test("a failing reconnect() keeps the session id, and another reconnect() is possible")
    func reconnectFails() {
        let error = Self.refused.during(.reconnect)
        let machine = run(
            Self.connect + [
                (
                    .transportLost(cause: "Failed", Self.g1),
                    [
                        .emitError(CoreError(.disconnected, "peer connection state: Failed")),
                        .failPending(.disconnected, message: "peer connection state: Failed"), .closeTransport(Self.g1),
                        .emitStatus(.disconnected),
                    ]
                ),
                (.reconnectCalled(CallID(2)), [.emitStatus(.connecting), .emitStatus(.waiting), Self.again(Self.g2)]),
                (
                    .stepFailed(Self.refused, Self.g2),
                    [.emitError(error), .closeTransport(Self.g2), .emitStatus(.disconnected), .resolve(CallID(2), .failure(error))]
                ),
                (.reconnectCalled(CallID(3)), [.emitStatus(.connecting), .emitStatus(.waiting), Self.again(Generation(3))]),
            ])
        #expect(machine.sessionID == "s")
    }

    @Test("disconnect(): pending fail, transport closes, session ends, then status and session id, then the call returns")
    func disconnect() {
        let machine = run(
            Self.connect + [
                (
                    .disconnectCalled(CallID(2)),
                    [
                        .failPending(.disconnected, message: "disconnect() was called"), .closeTransport(Self.g1),
                        .endSession(id: "s", EndToken(1)),
                    ]
                ),
                (.disconnectCalled(CallID(3)), []),
                (.cancelled(CallID(2)), []),
                (
                    .connectCalled(CallID(4), sessionID: nil, connectionID: nil),
                    [
                        .resolve(
                            CallID(4),
                            Self.failure(.invalidState, "connect() while disconnect() is in progress; wait for it to return", .connect))
                    ]
                ),
                (
                    .endFinished(EndToken(1)),
                    [
                        .emitStatus(.disconnected), .emitSessionID(nil), .resolve(CallID(2), .success), .resolve(CallID(3), .success),
                    ]
                ),
                (
                    .reconnectCalled(CallID(5)),
                    [.resolve(CallID(5), Self.failure(.invalidState, "reconnect() without a session", .reconnect))]
                ),
            ])
        #expect(machine.connectionID == nil && machine.capabilities == nil)
    }

    @Test("X-2 disconnect() without a session returns at once; after close() too")
    func disconnectHarmless() {
        _ = run([
            (.disconnectCalled(CallID(1)), [.resolve(CallID(1), .success)]),
            (.closeCalled, [.finish]),
            (.closeCalled, []),
            (.disconnectCalled(CallID(2)), [.resolve(CallID(2), .success)]),
        ])
    }

    @Test("X-1 connect() while not disconnected throws and names the status")
    func connectTwice() {
        _ = run(
            Self.connect + [
                (
                    .connectCalled(CallID(2), sessionID: nil, connectionID: nil),
                    [.resolve(CallID(2), Self.failure(.invalidState, "connect() while status is ready", .connect))]
                )
            ])
        _ = run([
            Self.connect[0],
            (
                .connectCalled(CallID(2), sessionID: nil, connectionID: nil),
                [.resolve(CallID(2), Self.failure(.invalidState, "connect() while status is connecting", .connect))]
            ),
            (
                .reconnectCalled(CallID(3)),
                [
                    .resolve(
                        CallID(3),
                        Self.failure(.invalidState, "reconnect() while connect() is in progress; wait for it to return", .reconnect))
                ]
            ),
        ])
    }

    @Test("a second reconnect() joins the one in progress; cancelling one caller leaves the other; the last one stops the attempt")
    func reconnectJoins() {
        let prefix: [(Event, [Action])] =
            Self.connect + [
                (
                    .reconnectCalled(CallID(2)),
                    [
                        .failPending(.disconnected, message: "reconnect() replaces the connection"), .closeTransport(Self.g1),
                        .emitStatus(.disconnected), .emitStatus(.connecting), .emitStatus(.waiting), Self.again(Self.g2),
                    ]
                ),
                (.reconnectCalled(CallID(3)), []),
                (.cancelled(CallID(2)), [.resolve(CallID(2), .cancelled)]),
            ]
        _ = run(
            prefix + [
                (
                    .transportReady(Self.g2),
                    [.emitStatus(.ready), .sendResumesAndPing(["main_video", "main_audio"]), .resolve(CallID(3), .success)]
                )
            ])
        let machine = run(
            prefix + [
                (
                    .cancelled(CallID(3)),
                    [
                        .cancelAttempt(Self.g2), .closeTransport(Self.g2), .emitStatus(.disconnected), .resolve(CallID(3), .cancelled),
                    ]
                ),
                (.stepFailed(Self.refused, Self.g2), []),
            ])
        #expect(machine.sessionID == "s")
    }

    @Test("C8 a cancelled connect() tears down and ends the session it created, without waiting for that")
    func connectCancelled() {
        _ = run(
            Self.connect.prefix(4) + [
                (
                    .cancelled(CallID(1)),
                    [
                        .cancelAttempt(Self.g1), .closeTransport(Self.g1), .endSession(id: "s", EndToken(1)),
                        .emitStatus(.disconnected), .resolve(CallID(1), .cancelled),
                    ]
                ),
                (.stepFailed(Self.refused, Self.g1), []),
                (.endFinished(EndToken(1)), []),
            ])
    }

    @Test("C8 a session that comes to be after its connect() was cancelled is ended")
    func lateSession() {
        let machine = run([
            Self.connect[0],
            (
                .cancelled(CallID(1)),
                [.cancelAttempt(Self.g1), .closeTransport(Self.g1), .emitStatus(.disconnected), .resolve(CallID(1), .cancelled)]
            ),
            (.sessionCreated(id: "late", Self.g1), [.endSession(id: "late", EndToken(1))]),
            (.stepFailed(Self.refused, Self.g1), []),
            (.endFinished(EndToken(1)), []),
        ])
        #expect(machine.sessionID == nil)
    }

    @Test("disconnect() during connect() aborts it and waits for a session whose create request is out")
    func disconnectDuringConnect() {
        _ = run([
            Self.connect[0],
            (
                .disconnectCalled(CallID(2)),
                [
                    .cancelAttempt(Self.g1), .closeTransport(Self.g1),
                    .resolve(CallID(1), Self.failure(.aborted, "connect was aborted: disconnect() was called", .connect)),
                ]
            ),
            (.sessionCreated(id: "late", Self.g1), [.endSession(id: "late", EndToken(1))]),
            (.stepFailed(Self.refused, Self.g1), []),
            (.endFinished(EndToken(1)), [.emitStatus(.disconnected), .resolve(CallID(2), .success)]),
        ])
    }

    @Test("R-30 close() ends nothing on the server and emits nothing; calls in flight are aborted")
    func close() {
        let machine = run(
            Self.connect + [
                (
                    .closeCalled,
                    [.failPending(.aborted, message: "the client was closed"), .closeTransport(Self.g1), .finish]
                ),
                (.transportLost(cause: "Closed", Self.g1), []),
                (
                    .connectCalled(CallID(2), sessionID: nil, connectionID: nil),
                    [.resolve(CallID(2), Self.failure(.invalidState, "connect() on a closed client; create a new one", .connect))]
                ),
            ])
        #expect(machine.isClosed && machine.status == .disconnected && machine.sessionID == nil && machine.tracks.entries.isEmpty)
        _ = run([
            Self.connect[0],
            (
                .closeCalled,
                [
                    .cancelAttempt(Self.g1), .closeTransport(Self.g1),
                    .resolve(CallID(1), Self.failure(.aborted, "connect was aborted: the client was closed", .connect)), .finish,
                ]
            ),
            (.sessionCreated(id: "late", Self.g1), []),
            (.stepFailed(Self.refused, Self.g1), []),
        ])
    }

    @Test("close() during disconnect(): the caller is aborted, the end of the session goes on")
    func closeDuringDisconnect() {
        _ = run(
            Self.connect + [
                (
                    .disconnectCalled(CallID(2)),
                    [
                        .failPending(.disconnected, message: "disconnect() was called"), .closeTransport(Self.g1),
                        .endSession(id: "s", EndToken(1)),
                    ]
                ),
                (
                    .closeCalled,
                    [.resolve(CallID(2), Self.failure(.aborted, "disconnect was aborted: the client was closed", .disconnect)), .finish]
                ),
                (.endFinished(EndToken(1)), []),
            ])
    }

    @Test("locally a new connect() waits until the end of the old session is done")
    func localWaits() {
        let lost: (Event, [Action]) = (
            .transportLost(cause: "Failed", Self.g1),
            [
                .emitError(CoreError(.disconnected, "peer connection state: Failed")),
                .failPending(.disconnected, message: "peer connection state: Failed"), .closeTransport(Self.g1),
                .emitStatus(.disconnected),
            ]
        )
        let call = Event.connectCalled(CallID(2), sessionID: nil, connectionID: nil)
        _ = run(
            Self.connect + [
                lost,
                (call, [.endSession(id: "s", EndToken(1)), .emitStatus(.connecting)]),
                (.endFinished(EndToken(1)), [Self.create(Self.g2)]),
            ], isLocal: true)
        _ = run(
            Self.connect + [
                lost,
                (call, [.endSession(id: "s", EndToken(1)), .emitStatus(.connecting), Self.create(Self.g2)]),
            ], isLocal: false)
    }

    @Test("R-29 a client that rejoins its own session after a loss still ends it on disconnect()")
    func rejoin() {
        var machine = run(Self.connect)
        _ = machine.handle(.transportLost(cause: "Failed", Self.g1))
        let actions = machine.handle(.connectCalled(CallID(2), sessionID: "s", connectionID: nil))
        #expect(
            actions == [.emitStatus(.connecting), .startAttempt(Attempt(generation: Self.g2, purpose: .adopt(sessionID: "s")))])
        #expect(machine.handle(.sessionAdopted(id: "s", Self.g2)) == [.emitSessionID("s"), .emitStatus(.waiting)])
        _ = machine.handle(.capabilitiesReceived(Self.capabilities, Self.g2))
        _ = machine.handle(.transportReady(Self.g2))
        #expect(machine.handle(.disconnectCalled(CallID(3))).contains(.endSession(id: "s", EndToken(1))))
    }

    @Test("a connection that comes up before the session is known fails the call instead of leaving it waiting")
    func skippedStep() {
        var machine = run([Self.connect[0]])
        let actions = machine.handle(.transportReady(Self.g1))
        guard case .resolve(CallID(1), .failure(let error))? = actions.last else {
            Issue.record("not resolved: \(actions)")
            return
        }
        #expect(error.code == .internalError && error.operation == .connect)
    }

    @Test("SW-03 everything an older connection reports late is ignored and counted")
    func stale() {
        var machine = run(
            Self.connect + [
                (
                    .reconnectCalled(CallID(2)),
                    [
                        .failPending(.disconnected, message: "reconnect() replaces the connection"), .closeTransport(Self.g1),
                        .emitStatus(.disconnected), .emitStatus(.connecting), .emitStatus(.waiting), Self.again(Self.g2),
                    ]
                )
            ])
        let before = machine.staleEvents
        let late: [Event] = [
            .transportLost(cause: "Failed", Self.g1), .transportReady(Self.g1), .stepFailed(Self.refused, Self.g1),
            .sessionCreated(id: "x", Self.g1), .sessionAdopted(id: "x", Self.g1), .capabilitiesReceived(Self.capabilities, Self.g1),
            .connectionRegistered(1, Self.g1), .tracksReceived(Self.received, Self.g1), .endAnnounced(reason: "x", Self.g1),
            .endFinished(EndToken(99)),
        ]
        for event in late { #expect(machine.handle(event) == [], "\(event)") }
        #expect(machine.staleEvents == before + UInt64(late.count))
        #expect(machine.status == .waiting)
        #expect(machine.connectionID == 7)
    }

    @Test("R-26, T-13 leaving ready clears published and paused; the next publish gives the slot back first")
    func tracksOverReconnect() throws {
        var machine = run(Self.connect)
        let first = try machine.withTracks { table throws(CoreError) in try table.beginPublish("webcam", generation: Self.g1) }
        #expect(first == .request(unpublishFirst: false))
        try machine.withTracks { table throws(CoreError) in
            try table.publishGranted("webcam", generation: Self.g1)
            try table.pause("main_video")
        }
        #expect(machine.tracks.isPublished("webcam"))
        _ = machine.handle(.transportLost(cause: "Failed", Self.g1))
        #expect(!machine.tracks.isPublished("webcam"))
        #expect(machine.tracks.pausedNames.isEmpty)
        _ = machine.handle(.reconnectCalled(CallID(2)))
        _ = machine.handle(.transportReady(Self.g2))
        let second = try machine.withTracks { table throws(CoreError) in try table.beginPublish("webcam", generation: Self.g2) }
        #expect(second == .request(unpublishFirst: true))
    }

    @Test("calls over the connection say what they need")
    func requireReady() {
        var machine = SessionMachine(isLocal: false)
        let error = #expect(throws: CoreError.self) { try machine.requireReady(for: .sendCommand, call: "sendCommand()") }
        #expect(error?.code == .invalidState)
        #expect(
            error?.message == "sendCommand() needs status ready, and it is disconnected; wait for connect() or reconnect() to return")
        _ = machine.handle(.closeCalled)
        #expect(throws: CoreError.self) { try machine.requireReady(for: .sendCommand, call: "sendCommand()") }
        #expect(throws: Never.self) { try run(Self.connect).requireReady(for: .sendCommand, call: "sendCommand()") }
    }
}
