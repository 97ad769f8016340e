import Testing

@testable import ReactorTesting

@Suite("Demo scene")
struct SceneTests {
    @Test("The words of a prompt choose light, land, water and weather")
    func words() {
        let ocean = ScenePlan(prompt: "A calm ocean at sunset")
        #expect(ocean.daylight == .sunset && ocean.hasWater && ocean.land == .none && ocean.words == ["ocean", "sunset"])
        let city = ScenePlan(prompt: "rainy city, night")
        #expect(city.daylight == .night && city.land == .city && city.weather == .rain && !city.hasWater)
        let forest = ScenePlan(prompt: "pine forests by a lake in winter")
        #expect(forest.land == .forest && forest.hasWater && forest.weather == .snow)
        #expect(ScenePlan(prompt: "rain").daylight == .overcast)
        let colours = ScenePlan(prompt: "purple mountains under a pink sky")
        #expect(colours.landTint == 0.75 && colours.skyTint == 0.9)
    }

    @Test("A prompt without a known word has colours of its own, the same each time")
    func unknownWords() {
        let plans = ["xyzzy", "plugh", "a teapot", ""].map(ScenePlan.init)
        #expect(plans.allSatisfy { $0.daylight == .dream && $0.words.isEmpty })
        #expect(Set(plans.map { $0.palette.hexTexts }).count == plans.count)
        #expect(ScenePlan(prompt: "xyzzy") == plans[0])
    }

    @Test("The same moment gives the same picture, another one does not")
    func deterministic() {
        let first = Picture("a lake in the mountains at night in the rain", time: 3.2)
        #expect(first == Picture("a lake in the mountains at night in the rain", time: 3.2))
        #expect(first != Picture("a lake in the mountains at night in the rain", time: 3.3))
    }

    @Test("What is seen has the colours of the words")
    func colours() {
        let sunset = Picture("ocean at sunset").mean(0.5...0.6)
        #expect(sunset.red > sunset.blue + 60)
        let day = Picture("hills, clear day").mean(0...0.2)
        #expect(day.blue > day.red + 60)
        let night = Picture("night in the hills").mean(0...1)
        #expect(night.red + night.green + night.blue < 200)
        let snow = Picture("snow on the hills").mean(0.8...1)
        let grass = Picture("grass on the hills").mean(0.8...1)
        #expect(snow.red > grass.red + 40 && grass.green > grass.blue)
    }

    @Test("Land passes while the scene travels, and stands while it does not")
    func travelling() {
        let resting = Picture("clear day in the hills", time: 1, travelled: 1)
        #expect(resting.isSame(Picture("clear day in the hills", time: 1.5, travelled: 1), rows: 0.75...1))
        #expect(!resting.isSame(Picture("clear day in the hills", time: 1, travelled: 2), rows: 0.75...1))
    }

    @Test(
        "Every kind of scene fills the whole picture, at any size and far into its life",
        arguments: [(64, 48), (66, 50), (160, 90), (90, 160)], [0, 17.31, 1e6])
    func everyScene(size: (Int, Int), time: Double) {
        let prompts = ["", "city", "forest lake", "snowy mountains", "desert night", "storm over the sea", "hills at sunset, rain"]
        for prompt in prompts {
            let picture = Picture(prompt, time: time, width: size.0, height: size.1)
            #expect(picture.pixels.allSatisfy { $0 >> 24 == 0xFF })
            #expect(!picture.pixels.contains(0xFF12_3456), "\(prompt) leaves holes at \(size)")
        }
    }

    @Test("A backdrop takes the place of the sky, the whole of it, whatever its shape")
    func backdrop() throws {
        let red = try #require(PixelImage(width: 7, height: 31, pixels: [UInt32](repeating: 0xFFE0_1010, count: 217)))
        let sky = Picture("clear day in the hills", backdrop: red).mean(0...0.3)
        #expect(sky.red > 200 && sky.green < 40 && sky.blue < 40)
        let low = Picture("clear day in the hills", backdrop: red).mean(0.55...0.6)
        #expect(low.green > 100, "it melts into the horizon")
    }

    @Test("A picture that covers another shape is cut evenly, not squeezed")
    func covering() throws {
        let pixels = (0..<4 * 100).map { $0 % 100 < 40 ? UInt32(0xFF00_00FF) : $0 % 100 < 60 ? 0xFF00_FF00 : 0xFFFF_0000 }
        let wide = try #require(PixelImage(width: 100, height: 4, pixels: pixels))
        let square = wide.covering(width: 4, height: 4)
        #expect(square.allSatisfy { $0 == 0xFF00_FF00 })
    }
}
