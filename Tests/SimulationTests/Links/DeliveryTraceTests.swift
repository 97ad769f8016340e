import RTCBase
import RTCSimulation
import Testing

@Suite("DeliveryTrace")
struct DeliveryTraceTests {
    private static let start = MonotonicTime(milliseconds: 700)

    @Test("reads one number a line, with or without an end of the last one")
    func parsing() throws {
        for text in ["0\n0\n7\n20\n", "0\n0\n7\n20", "0\r\n0\r\n7\r\n\r\n20\r\n"] {
            let trace = try DeliveryTrace(parsing: Array(text.utf8))
            #expect(trace.opportunitiesPerRound == 4)
            #expect(trace.roundMilliseconds == 20)
            #expect(trace.meanBitsPerSecond == 4 * 12_000 * 50)
        }
    }

    @Test("refuses what is no trace", arguments: ["", "\n\n", "0\n0\n", "1\nx\n", "5\n4\n", "5\n-4\n", "4294967296\n", "9\n8"])
    func refusals(text: String) { #expect(throws: DeliveryTrace.ParseError.self) { try DeliveryTrace(parsing: Array(text.utf8)) } }

    @Test("finds an opportunity by time, in any round, and its time again")
    func search() throws {
        let trace = try DeliveryTrace(milliseconds: [0, 3, 3, 10])
        func first(_ milliseconds: Int64) -> Int {
            trace.opportunity(notBefore: Self.start.adding(milliseconds: milliseconds), start: Self.start)
        }
        #expect(first(-5) == 0)
        #expect(first(0) == 0)
        #expect(first(1) == 1)
        #expect(first(4) == 3)
        // 10 ends the first round and begins the second.
        #expect(first(10) == 3)
        #expect(first(11) == 5)
        #expect(first(20) == 7)
        for index in 0..<12 {
            let time = trace.time(of: index, start: Self.start)
            let found = trace.opportunity(notBefore: time, start: Self.start)
            #expect(found <= index)
            #expect(trace.time(of: found, start: Self.start) == time)
        }
    }

    @Test("knows its longest silence")
    func gap() throws {
        let trace = try DeliveryTrace(milliseconds: [2, 3, 40, 50])
        func gap(_ begin: Int64, _ end: Int64) -> Double {
            trace.longestGapMilliseconds(
                from: Self.start.adding(milliseconds: begin), to: Self.start.adding(milliseconds: end), start: Self.start)
        }
        #expect(gap(0, 500) == 37)
        #expect(gap(0, 30) == 27)
        #expect(gap(41, 60) == 9)
    }
}
