import RTCBase
import RTCSimulation
import RTCWire
import Testing

@Suite("SyntheticFrame")
struct SyntheticFrameTests {
    @Test("tells its number, and any wrong byte is noticed", arguments: VideoCodec.allCases, [true, false])
    func roundTrip(codec: VideoCodec, isKeyFrame: Bool) {
        var bytes = SyntheticFrame.bytes(number: 4_711, codec: codec, isKeyFrame: isKeyFrame, count: 200)
        let number = SyntheticFrame.number(of: bytes.span.bytes)
        #expect(bytes.count == 200)
        #expect(number == 4_711)
        if codec == .vp8 {
            let isKey = VP8Descriptor.isKeyFrame(bytes.span.bytes)
            #expect(isKey == isKeyFrame)
        }
        bytes[150] ^= 1
        let broken = SyntheticFrame.number(of: bytes.span.bytes)
        #expect(broken == nil)
    }
}
