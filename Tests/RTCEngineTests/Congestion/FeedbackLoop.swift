import RTCBase
import RTCEngine
import RTCWire

/// A controller and what a receiver would tell it, by hand: packets in, feedback out when asked.
struct FeedbackLoop {
    var controller: CongestionController
    var now = MonotonicTime(milliseconds: 100_000)
    private(set) var nextNumber: Int64
    /// Arrival in 250 µs ticks by number; absent when lost.
    var arrivals: [Int64: Int64] = [:]

    init(limits: BitrateLimits = BitrateLimits(), firstNumber: Int64 = 65_530) {
        controller = CongestionController(limits: limits, now: now)
        nextNumber = firstNumber
    }

    /// Sends `count` packets `gap` milliseconds apart; they arrive 20 ms later unless `arrives` says no.
    mutating func send(_ count: Int, gap: Int64 = 2, bytes: Int = 1_200, probe: Int? = nil, arrives: (Int64) -> Bool = { _ in true }) {
        for _ in 0..<count {
            controller.onSent(SentPacket(number: nextNumber, byteCount: bytes, time: now, probe: probe))
            if arrives(nextNumber) { arrivals[nextNumber] = now.adding(milliseconds: 20).nanoseconds / 250_000 }
            nextNumber += 1
            now = now.adding(milliseconds: gap)
        }
    }

    func report(_ numbers: Range<Int64>) -> TransportFeedback {
        let first = numbers.lazy.compactMap { arrivals[$0] }.first ?? 0
        let reference = first / 256
        var previous = reference * 256
        let statuses = numbers.map { number -> PacketStatus in
            guard let arrival = arrivals[number] else { return .notReceived }
            defer { previous = arrival }
            return .received(delta250us: Int16(clamping: arrival - previous))
        }
        return TransportFeedback(
            senderSSRC: 1, mediaSSRC: 2, baseSequenceNumber: UInt16(truncatingIfNeeded: numbers.lowerBound),
            referenceTime64ms: Int32(truncatingIfNeeded: (reference << 40) >> 40), feedbackCount: 0, packets: statuses)
    }

    mutating func handle(_ numbers: Range<Int64>) { controller.handle(report(numbers), now: now) }

    /// Packets and reports every 50 ms for `seconds`, at `bitsPerSecond`.
    mutating func run(seconds: Double, bitsPerSecond: Double) {
        for _ in 0..<Int(seconds * 20) {
            let first = nextNumber
            send(max(1, Int(bitsPerSecond / 8 / 1_200 / 20)), gap: 0)
            now = now.adding(milliseconds: 50)
            handle(first..<nextNumber)
        }
    }
}
