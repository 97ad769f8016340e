import RTCBase
import RTCTransport
import Testing

@Suite("SCTPProgress")
struct SCTPProgressTests {
    private let limit: Int64 = 10_000_000_000

    @Test("DC-01 outstanding data without a new acknowledgement is a stall after the limit, not before")
    func stall() {
        var progress = SCTPProgress()
        receive(sack(5), &progress)
        #expect(!isStalled(&progress, 0))
        #expect(!isStalled(&progress, 9))
        receive(sack(5), &progress)
        #expect(!isStalled(&progress, 9.9))
        #expect(!isStalled(&progress, 9.99))
        #expect(isStalled(&progress, 10))
    }

    @Test("a new acknowledgement starts the time again, also across the wrap of the TSN")
    func advance() {
        var progress = SCTPProgress()
        receive(sack(0xffff_fffe), &progress)
        #expect(!isStalled(&progress, 0))
        receive(sack(1), &progress)
        #expect(!isStalled(&progress, 9))
        #expect(!isStalled(&progress, 18))
        receive(sack(0xffff_ffff), &progress)
        #expect(isStalled(&progress, 19), "an older acknowledgement is no progress")
    }

    @Test("nothing outstanding is no stall however long it lasts")
    func idle() {
        var progress = SCTPProgress()
        for second in stride(from: 0.0, to: 100, by: 1) { #expect(!isStalled(&progress, second, isOutstanding: false)) }
        #expect(!isStalled(&progress, 100))
        #expect(!isStalled(&progress, 109))
    }

    @Test("a SACK behind other chunks is found; malformed packets are passed over")
    func chunks() {
        var progress = SCTPProgress()
        let header = [UInt8](repeating: 0, count: 12)
        let heartbeatAck: [UInt8] = [5, 0, 0, 7, 1, 2, 3, 0]
        receive(sack(1), &progress)
        _ = isStalled(&progress, 0)
        receive(header + heartbeatAck + sack(2)[12...], &progress)
        _ = isStalled(&progress, 9)
        #expect(!isStalled(&progress, 11))
        #expect(!progress.sawAbort)
        receive(header + [6, 0, 0, 4], &progress)
        #expect(progress.sawAbort)

        var generator = SplitMix(seed: 3)
        for count in 0..<300 {
            receive((0..<count).map { _ in UInt8.random(in: 0...7, using: &generator) }, &progress)
            receive(header + [3, 0, 0, 16] + [UInt8](repeating: 0, count: count % 12), &progress)
        }
    }

    @Test("what the peer only sends when it got something from us is counted: SACK and HEARTBEAT ACK, nothing else")
    func answers() {
        var progress = SCTPProgress()
        let header = [UInt8](repeating: 0, count: 12)
        receive(sack(1), &progress)
        #expect(progress.answers == 1)
        receive(header + [5, 0, 0, 4] + sack(2)[12...], &progress)
        #expect(progress.answers == 3)
        // DATA, HEARTBEAT and FORWARD TSN come from a peer that hears nothing as well.
        for type in [0, 4, 192] as [UInt8] { receive(header + [type, 0, 0, 4], &progress) }
        #expect(progress.answers == 3)
    }

    private func receive(_ bytes: some Sequence<UInt8>, _ progress: inout SCTPProgress) {
        Array(bytes).withUnsafeBytes { progress.noteReceived($0) }
    }

    private func isStalled(_ progress: inout SCTPProgress, _ seconds: Double, isOutstanding: Bool = true) -> Bool {
        progress.isStalled(
            isOutstanding: isOutstanding, now: MonotonicTime(nanoseconds: Int64(seconds * 1e9)), limitNanoseconds: limit)
    }

    private func sack(_ tsn: UInt32) -> [UInt8] {
        [UInt8](repeating: 0, count: 12) + [3, 0, 0, 16] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: tsn >> $0) }
            + [0, 1, 0, 0, 0, 0, 0, 0]
    }
}
