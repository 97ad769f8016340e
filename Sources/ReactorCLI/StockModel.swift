internal import ReactorTesting

/// Which stock model a command serves, and how.
struct StockModel {
    enum Kind: String, CaseIterable { case demo, echo, probe }

    let kind: Kind
    let width: Int
    let height: Int
    let framesPerSecond: Double
    /// Of the demo model's first scene.
    let prompt: String
    private let showsCounter: Bool

    init(_ words: inout Arguments, kind: Kind) throws {
        self.kind = kind
        (width, height) = try Self.size(words.takeOption("--size") ?? "640x360")
        framesPerSecond = try words.takeNumber("--fps", in: 1...120) ?? 30
        prompt = try words.takeOption("--prompt") ?? "a calm ocean at sunset"
        showsCounter = !words.takeFlag("--no-counter")
    }

    func makeModel() -> any LocalModel {
        switch kind {
        case .demo:
            DemoModel(
                prompt: prompt, width: width, height: height, framesPerSecond: framesPerSecond, showsCounter: showsCounter)
        case .echo: EchoModel()
        case .probe: ProbeModel(width: width, height: height, framesPerSecond: framesPerSecond)
        }
    }

    /// Even sides that the models take as they are.
    private static func size(_ text: String) throws -> (Int, Int) {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard sides.count == 2, let width = sides[0], let height = sides[1], (64...3840).contains(width), (48...2160).contains(height),
            width.isMultiple(of: 2), height.isMultiple(of: 2)
        else {
            throw UsageError("--size takes WIDTHxHEIGHT in even numbers from 64x48 to 3840x2160, such as 640x360, not '\(text)'")
        }
        return (width, height)
    }
}
