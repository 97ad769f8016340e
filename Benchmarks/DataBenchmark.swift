import RTCBase
import RTCTransport

/// Sustained messages over SCTP: two associations in memory, without DTLS and without a network.
enum DataBenchmark {
    static func run(_ options: BenchmarkOptions, into report: inout BenchmarkReport) throws {
        for size in [100, 16 << 10] {
            let name = "data/sctp-\(size)-bytes"
            guard options.includes(name) else { continue }
            let pair = try SCTPLoop()
            let count = (options.isSmoke ? 1 << 20 : 8 << 20) / max(size, 1024)
            let message = [UInt8](repeating: 7, count: size)
            let samples = try Stopwatch.samples(options.sampleCount, units: count * 1000) { try pair.send(message, times: count) }
            var target = message
            let copy = Stopwatch.samples(options.sampleCount, units: 1000 * 1000) {
                for _ in 0..<1000 {
                    message.withUnsafeBytes { source in target.withUnsafeMutableBytes { $0.copyMemory(from: source) } }
                    consume(target)
                }
            }
            report.add(name, unit: "us/message", samples: samples, reference: ("memcpy of the message", copy))
        }
    }
}

/// Two connected associations and the packets between them.
private final class SCTPLoop {
    private final class End {
        var association: SCTPAssociation?
        var outgoing: [[UInt8]] = []
        var received = 0
    }

    private let ends = [End(), End()]
    private var now = MonotonicTime(milliseconds: 1000)

    init() throws {
        SCTPStack.shared.tick(now: now)
        for end in ends {
            let association = try SCTPAssociation { [unowned end] packet in
                end.outgoing.append(Array(packet))
                return true
            }
            association.onMessage = { [unowned end] _, _, _ in end.received += 1 }
            end.association = association
        }
        for end in ends { end.association?.connect() }
        try run { [ends] in ends.allSatisfy { $0.association?.isUp ?? false } }
    }

    deinit { for end in ends { end.association?.close() } }

    /// Until the far end has all of them.
    func send(_ message: [UInt8], times: Int) throws {
        let goal = ends[1].received + times
        var sent = 0
        try run { [ends] in
            while sent < times {
                let result = message.withUnsafeBytes {
                    ends[0].association?.send(stream: 1, ppid: 53, ordered: true, reliability: .reliable, bytes: $0)
                }
                guard result == .sent else { break }
                sent += 1
            }
            return ends[1].received >= goal
        }
    }

    /// Exchanges packets, and lets time pass only when nothing is on its way.
    private func run(until isDone: () -> Bool) throws {
        var idle = 0
        while !isDone() {
            var isMoving = false
            for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                let packets = from.outgoing
                from.outgoing.removeAll(keepingCapacity: true)
                for packet in packets { packet.withUnsafeBytes { to.association?.receive($0) } }
                isMoving = isMoving || !packets.isEmpty
            }
            if isMoving {
                idle = 0
                continue
            }
            idle += 1
            guard idle < 3000 else { throw BenchmarkFailure("SCTP makes no progress") }
            now = now.adding(milliseconds: 10)
            SCTPStack.shared.tick(now: now)
        }
    }
}
