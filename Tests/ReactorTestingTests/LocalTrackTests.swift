import Reactor
import ReactorTesting
import Testing

@Suite("LocalTrack")
struct LocalTrackTests {
    @Test("A track without a rate has the usual one of its kind")
    func usualRates() {
        #expect(LocalTrack("main_video", kind: .video, direction: .recvonly).rate == 30)
        #expect(LocalTrack("mic", kind: .audio, direction: .sendonly).rate == 48_000)
        #expect(LocalTrack("slow", kind: .video, direction: .recvonly, rate: 12).rate == 12)
    }
}
