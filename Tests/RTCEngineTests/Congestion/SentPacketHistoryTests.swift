import RTCBase
import RTCEngine
import Testing

@Suite("SentPacketHistory")
struct SentPacketHistoryTests {
    private let start = MonotonicTime(milliseconds: 1_000)

    private func packet(_ number: Int64, bytes: Int = 100, at milliseconds: Int64 = 0) -> SentPacket {
        SentPacket(number: number, byteCount: bytes, time: start.adding(milliseconds: milliseconds))
    }

    @Test("outstanding bytes are those no feedback spoke of, each told once")
    func outstanding() {
        var history = SentPacketHistory()
        var isKept = true
        for number in 10..<20 where !history.append(packet(Int64(number))) { isKept = false }
        #expect(isKept)
        #expect(history.outstandingBytes == 1_000)
        let check2 = history.mark(12, .acknowledged, now: start)?.state == .outstanding
        #expect(check2)
        let check3 = history.mark(12, .acknowledged, now: start)?.state == .acknowledged
        #expect(check3)
        let check4 = history.mark(13, .lost, now: start)?.state == .outstanding
        #expect(check4)
        #expect(history.outstandingBytes == 800)
        // An arrival is final: a later report that calls it lost changes nothing.
        _ = history.mark(12, .lost, now: start)
        #expect(history[12]?.state == .acknowledged)
        let check5 = history.mark(13, .acknowledged, now: start)?.state == .lost
        #expect(check5)
    }

    @Test("what is old is not waited for, and still known")
    func expiry() {
        var history = SentPacketHistory()
        for number in 0..<10 { _ = history.append(packet(Int64(number), at: Int64(number) * 100)) }
        history.expire(sentBefore: start.adding(milliseconds: 500))
        #expect(history.outstandingBytes == 500)
        let check6 = history.mark(3, .acknowledged, now: start.adding(milliseconds: 900))?.state == .expired
        #expect(check6)
        let check7 = history.mark(4, .acknowledged, now: start.adding(milliseconds: 20_000)) == nil
        #expect(check7)
    }

    @Test("bounded: the oldest of too many is forgotten and no longer outstanding")
    func bound() {
        var history = SentPacketHistory()
        for number in 0..<10_000 { _ = history.append(packet(Int64(number))) }
        #expect(history.outstandingBytes == Int64(SentPacketHistory.capacity) * 100)
        #expect(history[5_000] == nil)
        #expect(history[9_999] != nil)
        let check8 = history.firstOutstanding()?.number == 10_000 - Int64(SentPacketHistory.capacity)
        #expect(check8)
    }

    @Test("numbers that do not follow are refused")
    func order() {
        var history = SentPacketHistory()
        let check9 = history.append(packet(5))
        #expect(check9)
        let check10 = !history.append(packet(5))
        #expect(check10)
        let check11 = !history.append(packet(4))
        #expect(check11)
        let check12 = !history.append(packet(-1))
        #expect(check12)
        let check13 = !history.append(packet(6, bytes: -1))
        #expect(check13)
        let check14 = history.append(packet(1_000_000))
        #expect(check14)
        #expect(history.outstandingBytes == 200)
    }

    @Test("the low 16 bits mean the number nearest to the newest")
    func unwrapping() {
        var history = SentPacketHistory()
        #expect(history.unwrap(7) == nil)
        _ = history.append(packet(65_540))
        #expect(history.unwrap(4) == 65_540)
        #expect(history.unwrap(65_535) == 65_535)
        #expect(history.unwrap(10) == 65_546)
    }
}
