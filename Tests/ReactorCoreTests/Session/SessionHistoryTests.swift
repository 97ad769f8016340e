import Testing

@testable import ReactorCore

/// Thousands of made-up histories: the app calls anything at any time, the server and the network fail at any step, and answers come
/// back late. A failure prints its seed; `SessionHistory(seed:)` replays it.
@Suite struct SessionHistoryTests {
    @Test("SW-03, C2, C8 any history ends in a legal state, answers every caller once, and leaves no session behind")
    func histories() {
        for seed in 0..<UInt64(10_000) {
            var history = SessionHistory(seed: seed)
            history.run()
            #expect(history.violations.isEmpty, "seed \(seed): \(history.violations.prefix(3))")
            if !history.violations.isEmpty { return }
        }
    }

    @Test("the histories reach what they are meant to reach")
    func coverage() {
        var seen: Set<String> = []
        for seed in 0..<UInt64(500) {
            var history = SessionHistory(seed: seed)
            history.run()
            seen.formUnion(history.reached)
        }
        #expect(
            seen.isSuperset(of: [
                "ready", "loss", "late session ended", "joined reconnect", "cancelled", "aborted", "closed", "left by close", "stale",
            ]), "\(seen.sorted())")
    }
}

/// The machine, a make-believe shell that executes its actions in random order of completion, and the rules.
private struct SessionHistory {
    private var random: HistoryBits
    private var machine: SessionMachine
    private let isLocal: Bool
    private(set) var violations: [String] = []
    private(set) var reached: Set<String> = []

    /// Attempts whose task runs: the events still to come, and whether they were told to stop.
    private var attempts: [Generation: RunningAttempt] = [:]
    private var pendingEnds: [(id: String, token: EndToken)] = []
    private var waitingCalls: Set<CallID> = []
    private var openTransports: Set<Generation> = []
    private var liveSessions: Set<String> = []
    private var sessionsLeftByClose: Set<String> = []
    private var status = SessionStatus.disconnected
    private var isClosed = false
    private var lastCall: UInt64 = 0
    private var lastSession = 0

    private struct RunningAttempt {
        var attempt: Attempt
        var step = 0
        var isCancelled = false
    }

    init(seed: UInt64) {
        random = HistoryBits(seed: seed)
        isLocal = seed % 2 == 0
        machine = SessionMachine(isLocal: isLocal)
    }

    mutating func run() {
        for _ in 0..<(5 + random.next(below: 60)) { step() }
        drain()
        if !isClosed {
            call { .disconnectCalled($0) }
            drain()
        }
        checkEnd()
    }

    private mutating func step() {
        switch random.next(below: 20) {
        case 0...2: call { .connectCalled($0, sessionID: nil, connectionID: nil) }
        case 3: call { .connectCalled($0, sessionID: "adopted", connectionID: 5) }
        case 4, 5: call { .reconnectCalled($0) }
        case 6: call { .disconnectCalled($0) }
        case 7 where random.next(below: 6) == 0: send(.closeCalled)
        case 8: if let waiting = random.pick(waitingCalls.sorted { $0.number < $1.number }) { send(.cancelled(waiting)) }
        case 9: lose()
        case 10: send(.endAnnounced(reason: "r", someGeneration()))
        case 11: finishEnd()
        default: advanceAttempt()
        }
    }

    private mutating func drain() {
        var rounds = 0
        while (!attempts.isEmpty || !pendingEnds.isEmpty) && rounds < 1000 {
            advanceAttempt()
            finishEnd()
            rounds += 1
        }
    }

    // MARK: The world outside

    private mutating func call(_ make: (CallID) -> SessionMachine.Event) {
        lastCall += 1
        let id = CallID(lastCall)
        waitingCalls.insert(id)
        send(make(id))
    }

    private mutating func advanceAttempt() {
        guard let generation = random.pick(attempts.keys.sorted()), var running = attempts[generation] else { return }
        if running.isCancelled {
            // A create request that is out may still be answered.
            if running.attempt.purpose == .create, running.step == 0, random.next(below: 2) == 0 { create(generation) }
            attempts[generation] = nil
            send(.stepFailed(CoreError(.aborted, "cancelled"), generation))
            return
        }
        if random.next(below: 8) == 0 {
            attempts[generation] = nil
            send(.stepFailed(CoreError(.serverError, "step \(running.step)"), generation))
            return
        }
        let purpose = running.attempt.purpose
        let step = running.step
        running.step += 1
        attempts[generation] = running
        switch step {
        case 0:
            switch purpose {
            case .create: create(generation)
            case .adopt(let id): send(.sessionAdopted(id: id, generation))
            case .reconnect: send(.connectionRegistered(9, generation))
            }
        case 1: if case .reconnect = purpose { break } else { send(.capabilitiesReceived(SessionMachineTests.capabilities, generation)) }
        case 2: send(.connectionRegistered(8, generation))
        case 3: send(.tracksReceived(SessionMachineTests.received, generation))
        default:
            attempts[generation] = nil
            send(.transportReady(generation))
        }
    }

    private mutating func create(_ generation: Generation) {
        lastSession += 1
        let id = "s\(lastSession)"
        liveSessions.insert(id)
        send(.sessionCreated(id: id, generation))
    }

    private mutating func lose() {
        let generation = someGeneration()
        if machine.readyGeneration == generation { reached.insert("loss") }
        send(.transportLost(cause: "Failed", generation))
    }

    private mutating func finishEnd() {
        guard !pendingEnds.isEmpty else { return }
        let end = pendingEnds.remove(at: random.next(below: pendingEnds.count))
        liveSessions.remove(end.id)
        send(.endFinished(end.token))
    }

    /// Mostly one that exists; sometimes an old or a future one.
    private mutating func someGeneration() -> Generation {
        if let ready = machine.readyGeneration, random.next(below: 3) > 0 { return ready }
        return Generation(UInt64(random.next(below: 12)))
    }

    // MARK: The shell

    private mutating func send(_ event: SessionMachine.Event) {
        let wasClosed = isClosed
        let staleBefore = machine.staleEvents
        let statusBefore = machine.status
        if event == .closeCalled {
            isClosed = true
            reached.insert("closed")
            sessionsLeftByClose = liveSessions
            if attempts.values.contains(where: { $0.attempt.purpose == .create && $0.step == 0 }) { reached.insert("left by close") }
        }
        if case .sessionCreated(let id, _) = event, isClosed { sessionsLeftByClose.insert(id) }
        let actions = machine.handle(event)
        if machine.staleEvents > staleBefore {
            reached.insert("stale")
            if !actions.isEmpty || machine.status != statusBefore { violations.append("\(event) is stale and did \(actions)") }
        }
        if case .transportReady = event, actions.count(where: { $0.isSuccess }) > 1 { reached.insert("joined reconnect") }
        for action in actions { execute(action, wasClosed: wasClosed, isLate: event.isSessionCreated) }
        if machine.status != status, !isClosed { violations.append("status \(machine.status) was not emitted") }
    }

    private mutating func execute(_ action: SessionMachine.Action, wasClosed: Bool, isLate: Bool) {
        switch action {
        case .emitStatus(let new):
            checkTransition(to: new)
            status = new
            if new == .ready { reached.insert("ready") }
        case .emitSessionID, .emitCapabilities, .emitTrackReceived, .emitError:
            if isClosed { violations.append("\(action) after close") }
        case .startAttempt(let attempt):
            if isLocal, !pendingEnds.isEmpty { violations.append("local attempt while an end is under way") }
            if attempts.values.contains(where: { !$0.isCancelled }) { violations.append("two attempts at once") }
            attempts[attempt.generation] = RunningAttempt(attempt: attempt)
            openTransports.insert(attempt.generation)
        case .cancelAttempt(let generation): attempts[generation]?.isCancelled = true
        case .closeTransport(let generation):
            if openTransports.remove(generation) == nil { violations.append("transport \(generation) closed twice") }
        case .endSession(let id, let token):
            if !liveSessions.contains(id) { violations.append("ended \(id), which is not a live session of ours") }
            if isLate { reached.insert("late session ended") }
            pendingEnds.append((id, token))
            sessionsLeftByClose.remove(id)
        case .failPending, .sendResumesAndPing: if wasClosed { violations.append("\(action) after close") }
        case .resolve(let call, let outcome):
            if waitingCalls.remove(call) == nil { violations.append("\(call) resolved twice") }
            note(outcome)
        case .finish: break
        }
    }

    private mutating func note(_ outcome: CallOutcome) {
        switch outcome {
        case .cancelled: reached.insert("cancelled")
        case .failure(let error) where error.code == .aborted: reached.insert("aborted")
        default: break
        }
    }

    // MARK: The rules

    private mutating func checkTransition(to new: SessionStatus) {
        if isClosed { violations.append("status event after close") }
        switch (status, new) {
        case (.disconnected, .connecting), (.connecting, .waiting), (.waiting, .ready): break
        case (let old, .disconnected) where old != .disconnected: break
        default: violations.append("status \(status) -> \(new)")
        }
    }

    private mutating func checkEnd() {
        if machine.status != .disconnected { violations.append("ended as \(machine.status)") }
        if machine.sessionID != nil { violations.append("a session id is left") }
        if !waitingCalls.isEmpty { violations.append("callers left waiting: \(waitingCalls)") }
        if !openTransports.isEmpty { violations.append("transports left open: \(openTransports)") }
        if !attempts.isEmpty { violations.append("attempts left running") }
        let forgotten = liveSessions.subtracting(sessionsLeftByClose)
        if !forgotten.isEmpty { violations.append("sessions left behind: \(forgotten)") }
        if !isClosed, !liveSessions.isEmpty { violations.append("sessions left without a close: \(liveSessions)") }
    }
}

extension SessionMachine.Action {
    fileprivate var isSuccess: Bool {
        if case .resolve(_, .success) = self { return true }
        return false
    }
}

extension SessionMachine.Event {
    fileprivate var isSessionCreated: Bool {
        if case .sessionCreated = self { return true }
        return false
    }
}

/// splitmix64: the same bits for the same seed on every machine.
private struct HistoryBits {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next(below bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        bits ^= bits >> 31
        return bound <= 0 ? 0 : Int(bits % UInt64(bound))
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[next(below: elements.count)]
    }
}
