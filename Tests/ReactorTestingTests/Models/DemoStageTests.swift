import Testing

@testable import ReactorTesting

@Suite("Demo stage")
struct DemoStageTests {
    private func stage(_ prompt: String = "clear day in the hills") -> DemoStage {
        DemoStage(prompt: prompt, width: 96, height: 54, showsCounter: false)
    }

    private func picture(_ stage: inout DemoStage, at time: Double) -> Picture {
        var changed = stage
        let picture = Picture(width: 96, height: 54) { changed.paint(number: 0, milliseconds: 0, at: time, on: $0) }
        stage = changed
        return picture
    }

    private func art(_ prompt: String) -> SceneArt { SceneArt(plan: ScenePlan(prompt: prompt), width: 96, height: 54) }

    @Test("A new prompt fades in: at first the old scene, in the middle both, at last the new one alone")
    func fading() {
        var plain = stage()
        var fading = stage()
        fading.show(art("night in the city"), prompt: plain.prompt, backdrop: nil, at: 2)
        var fresh = DemoStage(prompt: "night in the city", width: 96, height: 54, showsCounter: false)
        fresh.show(art("night in the city"), prompt: plain.prompt, backdrop: nil, at: -100)
        #expect(picture(&fading, at: 2).distance(to: picture(&plain, at: 2)) < 2)
        let middle = picture(&fading, at: 2 + DemoStage.fadeSeconds / 2)
        let time = 2 + DemoStage.fadeSeconds / 2
        let (old, new) = (picture(&plain, at: time), picture(&fresh, at: time))
        #expect(middle.distance(to: old) < old.distance(to: new) * 0.6 && middle.distance(to: new) < old.distance(to: new) * 0.6)
        let end = 2 + DemoStage.fadeSeconds + 0.01
        #expect(picture(&fading, at: end) == picture(&fresh, at: end))
    }

    @Test("A prompt during a fade goes on from the picture of that moment")
    func interruptedFade() {
        var fading = stage()
        fading.show(art("night in the city"), prompt: "same", backdrop: nil, at: 2)
        let before = picture(&fading, at: 2.6)
        fading.show(art("snow in the forest"), prompt: "same", backdrop: nil, at: 2.6)
        #expect(picture(&fading, at: 2.6).distance(to: before) < 2)
        #expect(picture(&fading, at: 3.2).distance(to: before) > 5)
    }

    @Test("A change of speed moves nothing by itself, and counts from then on")
    func speed() {
        var changed = stage()
        changed.setSpeed(4, at: 3)
        #expect(changed.travelled(at: 3) == 3)
        #expect(changed.travelled(at: 4) == 7)
        changed.setSpeed(0, at: 4)
        #expect(changed.travelled(at: 60) == 7)
        changed.setSpeed(99, at: 61)
        #expect(changed.speed == DemoStage.fastest)
    }

    @Test("The chord is higher when the scene is faster, quiet when it stands, and another one at another prompt")
    func sound() {
        var slow = stage()
        var fast = stage()
        fast.setSpeed(2, at: 0)
        #expect(fast.sound.root > slow.sound.root * 1.1)
        slow.setSpeed(0, at: 0)
        #expect(slow.sound.loudness < fast.sound.loudness)
        #expect(Set(["ocean", "forest", "city", "desert", "lake", "snow"].map { stage($0).sound.root }).count > 1)
        #expect(stage("night").sound.isMinor && !stage("sunny day").sound.isMinor)
    }

    @Test("Caption and number lie on the picture, and a caption that is too long is cut")
    func caption() {
        func drawn(_ prompt: String, _ showsCounter: Bool) -> Picture {
            Picture(width: 160, height: 90) { canvas in
                var stage = DemoStage(prompt: prompt, width: 160, height: 90, showsCounter: showsCounter)
                stage.paint(number: 77, milliseconds: 123_456, at: 0, on: canvas)
            }
        }
        #expect(BlockReading(drawn("hills", true)) == BlockReading(counter: 77, clock: 123_456))
        #expect(BlockReading(drawn("hills", false)) == nil)
        let bare = Picture("hills")
        #expect(!drawn("hills", false).isSame(bare, rows: 0.8...1))
        #expect(drawn("hills", false).isSame(bare, rows: 0...0.8))
        let long = drawn(String(repeating: "hills ", count: 300), false)
        let (margin, right) = (8, 160 - 8)
        let plain = Picture(String(repeating: "hills ", count: 300))
        var (inMargin, inside) = (0, 0)
        for y in 72..<90 {
            for x in 0..<160 where long.pixels[y * 160 + x] != plain.pixels[y * 160 + x] {
                if (margin..<right).contains(x) { inside += 1 } else { inMargin += 1 }
            }
        }
        #expect(inMargin == 0 && inside > 200)
    }
}
