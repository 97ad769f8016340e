import RTCBase
import RTCEngine
import Testing

@Suite("MediaSynchronizer")
struct MediaSynchronizerTests {
    private let epoch = NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000)
    private var synchronizer = MediaSynchronizer(kinds: [.video, .audio, nil])

    /// Video comes 300 ms late, sound 20 ms; both have timestamps that start anywhere.
    private mutating func arrive(_ range: Range<Int64>, videoDelay: Int64 = 300) {
        for index in range {
            let made = start.adding(milliseconds: index * 20)
            synchronizer.noteArrival(
                section: 0, ssrc: 1, timestamp: UInt32(truncatingIfNeeded: 4_294_960_000 + index * 1800),
                arrival: made.adding(milliseconds: videoDelay + index % 3))
            synchronizer.noteArrival(
                section: 1, ssrc: 2, timestamp: UInt32(truncatingIfNeeded: 77 + index * 960),
                arrival: made.adding(milliseconds: 20 + index % 3))
        }
    }

    @Test("SYN-01 first by arrival, from reports as soon as both have one")
    mutating func reports() throws {
        #expect(synchronizer.audioOffset(ofVideo: 0) == nil)
        arrive(0..<50)
        let before = try #require(synchronizer.audioOffset(ofVideo: 0))
        #expect(!before.isFromReports && abs(before.nanoseconds) < 5_000_000)
        #expect(synchronizer.senderTime(section: 0, timestamp: 0) == nil)
        synchronizer.handleReport(section: 0, ssrc: 1, ntp: epoch, rtpTimestamp: UInt32(truncatingIfNeeded: 4_294_960_000))
        arrive(50..<60)
        #expect(synchronizer.audioOffset(ofVideo: 0)?.isFromReports == false)
        synchronizer.handleReport(section: 1, ssrc: 2, ntp: epoch.adding(nanoseconds: 1_000_000_000), rtpTimestamp: 77 + 48_000)
        arrive(60..<120)
        let after = try #require(synchronizer.audioOffset(ofVideo: 0))
        #expect(after.isFromReports && abs(after.nanoseconds - 280_000_000) < 5_000_000)
        #expect(synchronizer.audioOffset(ofVideo: 1) == nil)
        #expect(synchronizer.audioOffset(ofVideo: 2) == nil)
    }

    @Test("SYN-03 times come from timestamps, across their wrap, not from arrival")
    mutating func times() throws {
        synchronizer.handleReport(section: 0, ssrc: 1, ntp: epoch, rtpTimestamp: .max - 89_999)
        let times = (0..<30).map { index in
            synchronizer.senderTime(section: 0, timestamp: UInt32.max - 89_999 &+ UInt32(index) * 9000)?.nanoseconds(since: epoch)
        }
        for (index, time) in times.enumerated() { #expect(abs(try #require(time) - Int64(index) * 100_000_000) <= 1) }
    }

    @Test("another source begins anew; sections that do not exist do no harm")
    mutating func sources() {
        arrive(0..<10)
        synchronizer.handleReport(section: 0, ssrc: 1, ntp: epoch, rtpTimestamp: 0)
        #expect(synchronizer.senderTime(section: 0, timestamp: 0) == epoch)
        synchronizer.noteArrival(section: 0, ssrc: 9, timestamp: 5, arrival: start)
        #expect(synchronizer.senderTime(section: 0, timestamp: 0) == nil)
        for section in [-1, 2, 3] {
            synchronizer.handleReport(section: section, ssrc: 1, ntp: epoch, rtpTimestamp: 0)
            synchronizer.noteArrival(section: section, ssrc: 1, timestamp: 0, arrival: start)
            #expect(synchronizer.senderTime(section: section, timestamp: 0) == nil)
        }
    }
}
