import RTCBase
import Testing

@testable import RTCPeer

@Suite("ResolutionAdapter")
struct ResolutionAdapterTests {
    /// Pictures at a steady rate in virtual time, and an encoder whose quantizer depends on the bits it gets.
    private struct Player {
        var adapter: ResolutionAdapter
        var now = MonotonicTime(milliseconds: 1000)
        var rate: Int
        var width = 1280
        var height = 720
        var frameRate = 30
        /// The bits per pixel at which the picture looks well enough; less makes the quantizer rise.
        var detail = 0.03
        /// What the encoder makes of what it is allowed.
        var excess = 1.0
        var sizes: [ResolutionAdapter.Size] = []

        init(_ codec: VideoCodec = .vp9, rate: Int) {
            adapter = ResolutionAdapter(codec: codec, bitsPerSecond: rate)
            self.rate = rate
        }

        @discardableResult
        mutating func play(seconds: Double) -> ResolutionAdapter.Size {
            for _ in 0..<Int(seconds * Double(frameRate)) {
                adapter.setRate(bitsPerSecond: rate)
                let size = adapter.size(forWidth: width, height: height, now: now)
                let perPixel = Double(rate) / Double(frameRate * size.pixels)
                let quantizer = min(56, max(2, Int(40 * detail / perPixel)))
                adapter.onEncoded(
                    byteCount: Int(Double(rate / frameRate / 8) * excess), quantizer: quantizer, isKeyFrame: false)
                if sizes.last != size { sizes.append(size) }
                now = now.adding(nanoseconds: Int64(1_000_000_000 / frameRate))
            }
            return sizes.last ?? .init(width: 0, height: 0)
        }
    }

    private func size(_ width: Int, _ height: Int) -> ResolutionAdapter.Size { .init(width: width, height: height) }

    @Test("with enough bits the size is the pushed one throughout", arguments: [VideoCodec.vp8, .vp9])
    func enough(codec: VideoCodec) {
        var player = Player(codec, rate: 2_000_000)
        player.play(seconds: 60)
        #expect(player.sizes == [size(1280, 720)])
    }

    @Test(
        "a connection's first, low estimate does not change the size when it grows within two seconds", arguments: [VideoCodec.vp8, .vp9])
    func firstSeconds(codec: VideoCodec) {
        var player = Player(codec, rate: 300_000)
        player.play(seconds: 1.9)
        player.rate = 2_500_000
        player.play(seconds: 20)
        #expect(player.sizes == [size(1280, 720)])
    }

    @Test("when bits are short the size gives way in steps and comes back when they are there")
    func downAndUp() {
        var player = Player(rate: 2_000_000)
        player.play(seconds: 5)
        player.rate = 250_000
        let low = player.play(seconds: 8)
        #expect(low.pixels < 1280 * 720 / 2)
        player.rate = 2_000_000
        #expect(player.play(seconds: 15) == size(1280, 720))
        // Down without coming back in between, and up without going down.
        let smallest = player.sizes.map(\.pixels).min() ?? 0
        let turn = player.sizes.firstIndex { $0.pixels == smallest } ?? 0
        #expect(player.sizes[...turn].map(\.pixels) == player.sizes[...turn].map(\.pixels).sorted(by: >))
        #expect(player.sizes[turn...].map(\.pixels) == player.sizes[turn...].map(\.pixels).sorted())
    }

    @Test("few bits are enough for an easy picture")
    func easy() {
        var player = Player(rate: 250_000)
        player.detail = 0.004
        player.play(seconds: 30)
        #expect(player.sizes == [size(1280, 720)])
    }

    @Test("an encoder that cannot make as few bits as it is allowed gets a smaller picture")
    func overshoot() {
        var player = Player(rate: 600_000)
        player.detail = 0.1
        player.play(seconds: 4)
        player.excess = 1.6
        #expect(player.play(seconds: 6).pixels < 1280 * 720)
    }

    @Test("a rate that hovers at a threshold does not make the size swing")
    func hysteresis() {
        // Where the size just gives way, and a third above.
        var player = Player(rate: 500_000)
        player.detail = 0.05
        player.play(seconds: 10)
        for _ in 0..<60 {
            player.rate = player.rate == 500_000 ? 350_000 : 500_000
            player.play(seconds: 2)
        }
        #expect(player.sizes.count <= 3, "\(player.sizes)")
    }

    @Test("a step up that does not last is tried less and less often")
    func backoff() {
        // Bits for the larger size by the measure, but the picture is too hard for it.
        var player = Player(rate: 700_000)
        player.detail = 0.2
        for _ in 0..<300 {
            player.excess = player.sizes.last == size(1280, 720) ? 1.6 : 1
            player.play(seconds: 1)
        }
        let ups = zip(player.sizes, player.sizes.dropFirst()).filter { $1.pixels > $0.pixels }.count
        #expect(ups <= 12, "\(ups) in 300 s")
    }

    @Test(
        "steps have even sides, and none is so small that it shows nothing",
        arguments: [(1280, 720), (641, 361), (320, 180), (160, 90), (64, 48), (2, 2), (1, 1)])
    func bounds(width: Int, height: Int) {
        var player = Player(rate: 20_000)
        player.detail = 1
        player.width = width
        player.height = height
        player.play(seconds: 60)
        for size in player.sizes where size != self.size(width, height) {
            #expect(size.width % 2 == 0 && size.height % 2 == 0)
            #expect(size.pixels >= 160 * 90)
            #expect(size.width <= width && size.height <= height)
        }
    }

    @Test("another pushed size starts anew, at a size that the rate allows")
    func newSource() {
        var player = Player(rate: 150_000)
        player.width = 320
        player.height = 180
        player.detail = 0.05
        player.play(seconds: 5)
        #expect(player.sizes == [size(320, 180)])
        player.width = 1280
        player.height = 720
        #expect(player.play(seconds: 0.1).pixels < 1280 * 720 / 2)
    }

    @Test("a source of few pictures a second keeps its size on few bits")
    func slowSource() {
        var player = Player(rate: 150_000)
        player.frameRate = 5
        player.play(seconds: 60)
        #expect(player.sizes.last == size(1280, 720))
    }

    @Test("the ceiling grows with the size, and 720p can use more than 2.5 Mbit/s")
    func ceiling() {
        let sizes = [(160, 90), (640, 360), (1280, 720), (1920, 1080), (3840, 2160)]
        let rates = sizes.map { ResolutionAdapter.ceiling(width: $0.0, height: $0.1) }
        #expect(rates == rates.sorted())
        #expect(rates[0] >= 500_000 && rates[2] >= 4_000_000 && rates[4] <= 20_000_000)
    }
}
