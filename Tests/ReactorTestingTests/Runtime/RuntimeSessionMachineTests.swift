import RTCBase
import Testing

@testable import ReactorTesting

@Suite("RuntimeSessionMachine")
struct RuntimeSessionMachineTests {
    private static let first = ConnectionKey(id: 5000, generation: 1)
    private static let second = ConnectionKey(id: 5001, generation: 2)

    private func time(_ seconds: Double) -> MonotonicTime { MonotonicTime(milliseconds: Int64(seconds * 1000)) }

    // The macro takes no mutating call.
    private func timesOut(_ machine: inout RuntimeSessionMachine, _ seconds: Double) -> Bool {
        machine.handleTimeout(now: time(seconds))
    }
    private func shutsDown(_ machine: inout RuntimeSessionMachine) -> Bool { machine.shutDown() }

    private func started(at seconds: Double = 0, orphanTimeout: Duration = .seconds(60)) throws -> RuntimeSessionMachine {
        var machine = RuntimeSessionMachine(orphanTimeout: orphanTimeout)
        machine.modelLoaded()
        try machine.start(now: time(seconds))
        return machine
    }

    @Test("§3.1 a session goes from ready through waiting, streaming, orphaned and back, to closing and ready")
    func life() throws {
        var machine = try started()
        #expect(machine.state == .waiting)
        machine.connectionOpened(Self.first)
        #expect(machine.state == .streaming)
        machine.connectionClosed(Self.first, now: time(10))
        #expect(machine.state == .orphaned)
        machine.connectionOpened(Self.second)
        #expect(machine.state == .streaming && machine.nextDeadline == nil)
        try machine.stop()
        #expect(machine.state == .closing)
        machine.closed()
        #expect(machine.state == .ready)
        let events = machine.takeTransitions().map(\.event)
        #expect(
            events == [
                "initialization_success", "start_session", "connection_opened", "connection_closed", "connection_opened",
                "stop_session", "cleanup_complete",
            ])
        let again = machine.takeTransitions()
        #expect(again.isEmpty)
    }

    @Test("§3.1 start is refused in every state but ready, stop in every one that is not live")
    func refusals() throws {
        var machine = RuntimeSessionMachine()
        #expect(throws: RuntimeSessionMachine.Refusal.loading) { try machine.start(now: time(0)) }
        #expect(throws: RuntimeSessionMachine.Refusal.loading) { try machine.stop() }
        machine.modelLoaded()
        #expect(throws: RuntimeSessionMachine.Refusal.conflict(.ready)) { try machine.stop() }
        try machine.start(now: time(0))
        #expect(throws: RuntimeSessionMachine.Refusal.conflict(.waiting)) { try machine.start(now: time(0)) }
        machine.connectionOpened(Self.first)
        #expect(throws: RuntimeSessionMachine.Refusal.conflict(.streaming)) { try machine.start(now: time(0)) }
        machine.connectionClosed(Self.first, now: time(0))
        #expect(throws: RuntimeSessionMachine.Refusal.conflict(.orphaned)) { try machine.start(now: time(0)) }
        try machine.stop()
        #expect(throws: RuntimeSessionMachine.Refusal.conflict(.closing)) { try machine.start(now: time(0)) }
        #expect(throws: RuntimeSessionMachine.Refusal.conflict(.closing)) { try machine.stop() }
        machine.closed()
        #expect(shutsDown(&machine) == false)
        #expect(throws: RuntimeSessionMachine.Refusal.terminated) { try machine.start(now: time(0)) }
        #expect(throws: RuntimeSessionMachine.Refusal.terminated) { try machine.stop() }
    }

    @Test("§3.1 a session nobody comes to, or comes back to, ends after the orphan timeout, not before")
    func orphans() throws {
        var machine = try started(at: 5)
        #expect(machine.nextDeadline == time(65))
        #expect(timesOut(&machine, 64.9) == false && machine.state == .waiting)
        #expect(timesOut(&machine, 65) && machine.state == .closing)
        let last = machine.takeTransitions().last
        #expect(last?.detail == ["reason": "timed_out"])
        #expect(timesOut(&machine, 66) == false, "once")

        machine = try started(orphanTimeout: .milliseconds(250))
        machine.connectionOpened(Self.first)
        machine.connectionOpened(Self.second)
        machine.connectionClosed(Self.first, now: time(1))
        #expect(machine.state == .streaming && machine.nextDeadline == nil, "one client is still there")
        machine.connectionClosed(Self.second, now: time(2))
        #expect(machine.nextDeadline == time(2.25))
        #expect(timesOut(&machine, 3) && machine.state == .closing)
    }

    @Test("A connection that was never open changes nothing when it goes, and a second end of one is ignored")
    func closedConnections() throws {
        var machine = try started()
        machine.connectionClosed(Self.first, now: time(1))
        #expect(machine.state == .waiting)
        machine.connectionOpened(Self.first)
        machine.connectionOpened(Self.first)
        machine.connectionClosed(Self.first, now: time(2))
        machine.connectionClosed(Self.first, now: time(30))
        #expect(machine.nextDeadline == time(62))
        // A reconnect under the same id is another connection.
        machine.connectionOpened(ConnectionKey(id: 5000, generation: 9))
        machine.connectionClosed(Self.first, now: time(31))
        #expect(machine.state == .streaming)
    }

    @Test("Connections that end or open while the session closes do not bring it back")
    func closing() throws {
        var machine = try started()
        machine.connectionOpened(Self.first)
        try machine.stop()
        machine.connectionClosed(Self.first, now: time(1))
        machine.connectionOpened(Self.second)
        #expect(machine.state == .closing && machine.openConnections.isEmpty)
        machine.closed()
        try machine.start(now: time(2))
        #expect(machine.state == .waiting, "the next session starts without the old one's connections")
        machine.closed()
        #expect(machine.state == .waiting)
    }

    @Test("§9.3 shutting down ends a session first, from every state")
    func shutdown() throws {
        var machine = try started()
        #expect(shutsDown(&machine) && machine.state == .closing)
        #expect(shutsDown(&machine) == false)
        machine.closed()
        #expect(machine.state == .terminated)
        #expect(machine.nextDeadline == nil)
        _ = machine.takeTransitions()
        #expect(shutsDown(&machine) == false && machine.transitions.isEmpty, "it ends once")

        machine = try started()
        try machine.stop()
        #expect(shutsDown(&machine) == false, "somebody closes it already")
        machine.closed()
        #expect(machine.state == .terminated)
    }

    @Test("The list of transitions that nobody takes is bounded")
    func boundedTransitions() throws {
        var machine = try started()
        for _ in 0..<10_000 { machine.note("metric") }
        let kept = machine.takeTransitions().count
        #expect(kept == 256)
    }
}
