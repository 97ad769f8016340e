// From the words of a prompt to what the scene shows. A prompt without a known word gets colours and a landscape of its own,
// made from the text.

/// What a scene consists of.
struct ScenePlan: Hashable, Sendable {
    enum Daylight: String, Sendable, CaseIterable { case day, sunset, night, overcast, dream }
    enum Land: String, Sendable, CaseIterable { case hills, mountains, forest, desert, city, none }
    enum Weather: String, Sendable { case clear, rain, snow }

    var daylight = Daylight.day
    var land = Land.hills
    var hasWater = false
    var weather = Weather.clear
    /// From 0 to 1.
    var cloudiness = 0.45
    /// Hues that the prompt names, in turns: one before a word for land is the land's, any other the sky's.
    var skyTint: Double?
    var landTint: Double?
    /// The known words, in the prompt's order.
    var words: [String] = []
    let noise: SceneNoise

    init(prompt: String) {
        noise = SceneNoise(prompt)
        var light: Daylight?
        var land: Land?
        var named: Double?
        for word in Self.words(of: prompt) {
            guard let traits = Self.vocabulary[word] ?? (word.hasSuffix("s") ? Self.vocabulary[String(word.dropLast())] : nil) else {
                continue
            }
            words.append(word)
            for trait in traits {
                switch trait {
                case .light(let value): light = value
                case .land(let value):
                    land = value
                    (landTint, named) = (named ?? landTint, nil)
                case .water: hasWater = true
                case .weather(let value): weather = value
                case .clouds(let value): cloudiness = value
                case .tint(let value):
                    skyTint = named ?? skyTint
                    named = value
                }
            }
        }
        skyTint = named ?? skyTint
        if words.isEmpty {
            self.land = Land.allCases[noise.under(Land.allCases.count - 1, 1)]
            hasWater = noise.unit(2) < 0.5
            daylight = .dream
            return
        }
        // Rain falls from a grey sky unless the prompt says otherwise.
        daylight = light ?? (weather == .rain ? .overcast : .day)
        self.land = land ?? (hasWater ? .none : .hills)
    }

    var palette: Palette { Palette(self) }

    private enum Trait {
        case light(Daylight)
        case land(Land)
        case water
        case weather(Weather)
        case clouds(Double)
        case tint(Double)
    }

    /// Lower case, at most 64 of them.
    private static func words(of prompt: String) -> [String] {
        prompt.lowercased().split { !$0.isLetter }.prefix(64).map(String.init)
    }

    private static let vocabulary: [String: [Trait]] = {
        let groups: [(String, [Trait])] = [
            ("sunset sunrise dawn dusk evening golden twilight autumn", [.light(.sunset)]),
            ("night midnight moon moonlit moonlight starry star stars dark", [.light(.night), .clouds(0.2)]),
            ("neon cyberpunk", [.light(.night), .land(.city)]),
            ("fog foggy mist misty cloudy overcast gloomy grey gray", [.light(.overcast), .clouds(0.8)]),
            ("day noon morning sunny summer bright spring", [.light(.day)]),
            ("clear cloudless", [.clouds(0)]),
            ("cloud clouds", [.clouds(0.75)]),
            ("forest wood woods tree trees jungle pine", [.land(.forest)]),
            ("mountain mountains alps peak peaks cliff canyon volcano", [.land(.mountains)]),
            ("hill hills valley countryside meadow field grass", [.land(.hills)]),
            ("desert dune dunes sand sahara", [.land(.desert), .clouds(0.1)]),
            ("city town skyline skyscraper building street tokyo york paris london berlin", [.land(.city)]),
            ("ocean sea lake river water wave waves beach coast harbour harbor island", [.water]),
            ("rain rainy drizzle", [.weather(.rain), .clouds(0.85)]),
            ("storm stormy thunderstorm", [.weather(.rain), .light(.overcast), .clouds(1)]),
            ("snow snowy winter ice blizzard arctic", [.weather(.snow), .clouds(0.6)]),
            ("red", [.tint(0)]), ("orange", [.tint(0.07)]), ("yellow", [.tint(0.15)]), ("green", [.tint(0.33)]),
            ("turquoise", [.tint(0.48)]), ("blue", [.tint(0.6)]), ("purple violet", [.tint(0.75)]), ("pink magenta", [.tint(0.9)]),
        ]
        var table: [String: [Trait]] = [:]
        for (words, traits) in groups {
            for word in words.split(separator: " ") { table[String(word)] = traits }
        }
        return table
    }()
}
