import Testing

@testable import ReactorCore

@Suite struct RequestCorrelatorTests {
    private let second: Int64 = 1_000_000_000

    @Test("ids count from 1 per channel and go on after the connection is replaced")
    func ids() throws {
        var data = RequestCorrelator<Int>(channel: .data)
        var control = RequestCorrelator<Int>(channel: .control)
        #expect(try data.register(.command(type: "a"), waiter: 1, nowNanoseconds: 0) == "data_1")
        #expect(try data.register(.command(type: "b"), waiter: 2, nowNanoseconds: 0) == "data_2")
        #expect(try control.register(.schema, waiter: 3, nowNanoseconds: 0) == "ctrl_1")
        #expect(data.takeAll().map(\.waiter).sorted() == [1, 2])
        #expect(data.isEmpty)
        #expect(try data.register(.command(type: "c"), waiter: 4, nowNanoseconds: 0) == "data_3")
    }

    @Test("R-35 replies in reverse order find their own calls, each once")
    func reverseOrder() throws {
        var correlator = RequestCorrelator<Int>(channel: .data)
        let ids = try (0..<5).map { try correlator.register(.command(type: "x"), waiter: $0, nowNanoseconds: 0) }
        for (index, id) in ids.enumerated().reversed() { #expect(correlator.take(id)?.waiter == index) }
        #expect(correlator.take(ids[0]) == nil)
        #expect(correlator.take("data_99") == nil)
    }

    @Test("a call expires at its deadline, not before; its late reply is unknown")
    func deadlines() throws {
        var correlator = RequestCorrelator<Int>(channel: .control)
        let slow = try correlator.register(.clip, waiter: 1, nowNanoseconds: 0)
        _ = try correlator.register(.schema, waiter: 2, nowNanoseconds: second, timeoutNanoseconds: second)
        #expect(correlator.nextDeadline() == 2 * second)
        #expect(correlator.takeExpired(nowNanoseconds: 2 * second - 1).isEmpty)
        #expect(correlator.takeExpired(nowNanoseconds: 2 * second).map(\.waiter) == [2])
        #expect(correlator.nextDeadline() == 10 * second)
        #expect(correlator.takeExpired(nowNanoseconds: 10 * second).map(\.waiter) == [1])
        #expect(!correlator.isPending(slow))
        #expect(correlator.nextDeadline() == nil)
    }

    @Test("X-21 huge and negative timeouts do not trap")
    func extremes() throws {
        var correlator = RequestCorrelator<Int>(channel: .data)
        _ = try correlator.register(.schema, waiter: 1, nowNanoseconds: .max - 5, timeoutNanoseconds: .max)
        _ = try correlator.register(.schema, waiter: 2, nowNanoseconds: 7, timeoutNanoseconds: .min)
        #expect(correlator.takeExpired(nowNanoseconds: 7).map(\.waiter) == [2])
        #expect(correlator.nextDeadline() == .max)
    }

    @Test("calls in flight are bounded")
    func bound() throws {
        var correlator = RequestCorrelator<Int>(channel: .data)
        for number in 0..<4096 { _ = try correlator.register(.schema, waiter: number, nowNanoseconds: 0) }
        let error = #expect(throws: CoreError.self) { try correlator.register(.schema, waiter: 0, nowNanoseconds: 0) }
        #expect(error?.code == .invalidState)
    }
}
