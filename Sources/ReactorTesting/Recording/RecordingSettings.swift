/// What a runtime records and how much of it is kept.
struct RecordingSettings: Hashable, Sendable {
    /// Wire-protocol 3.4: the longest clip.
    var clipMaxSeconds = 300.0
    /// Of a recording that goes on, at least this much can be asked for; what is older goes after another `slackSeconds`.
    var retainedSeconds = 1800.0
    /// Between an answer to a request and the loading of what it promised.
    var slackSeconds = 60.0
    /// Of one recording, in coded bytes. Over it the oldest chunks go, however short the rest is.
    var retainedBytes = 128 << 20
    /// Of all recordings of a runtime together; over it the finished ones go, the oldest first.
    var libraryBytes = 512 << 20
    /// Wire-protocol 9.4: how long a finished recording is kept.
    var finishedSeconds = 300.0
    /// Nil takes what the size of the picture needs.
    var videoBitsPerSecond: Int?
    var soundBitsPerSecond = 64_000

    init() {}
}

/// The grid that recordings lie on (wire-protocol 3.4): 30 slots a second, in chunks of 4 s.
enum RecordingGrid {
    static let slotsPerSecond = 30
    static let chunkSeconds = 4
    static let slotsPerChunk = slotsPerSecond * chunkSeconds
    static let soundRate = 48_000
    static let samplesPerSlot = soundRate / slotsPerSecond
    /// A slot in the video track's time scale.
    static let ticksPerSlot = Int(FragmentedMP4Writer.videoTimescale) / slotsPerSecond

    static func seconds(_ slot: Int) -> Double { Double(slot) / Double(slotsPerSecond) }

    /// The slot that a marker of three decimals begins in.
    static func slot(from seconds: Double) -> Int { slot((seconds * Double(slotsPerSecond) + rounding).rounded(.down)) }

    /// The first slot behind a range that ends with a marker of three decimals.
    static func slot(upTo seconds: Double) -> Int { slot((seconds * Double(slotsPerSecond) - rounding).rounded(.up)) }

    private static func slot(_ value: Double) -> Int { value.isNaN ? 0 : Int(min(max(value, 0), 1e12)) }

    /// A marker is off by up to half a thousandth, which is 0.015 slots.
    private static let rounding = 0.02
}
