// What there is of one recording: the init segment and the closed chunks, oldest aged out, and the playlists over them
// (wire-protocol 2.9, 3.4). Pure.
//
// Chunks end on the grid of 4 s, and where a clip ended that somebody asked for: the open chunk is closed there, so that the
// clip is ready at once instead of when the chunk is full. While nobody asks for clips, chunk k is what the vendor's server has
// under that name, from 4 k to 4 k + 4 seconds. A playlist has the chunks that its range touches, with their real durations.

struct ChunkStore: Sendable {
    struct Chunk: Sendable {
        var start: Int
        var end: Int
        var bytes: [UInt8]
    }

    enum State: Hashable, Sendable {
        case open
        /// Nothing follows.
        case finished
        /// The encoder failed; what is there stays.
        case failed
    }

    enum Lookup: Hashable, Sendable {
        case playlist(String)
        /// Not yet; the range ends with this slot.
        case open(upTo: Int)
        case gone
    }

    let id: String
    private let settings: RecordingSettings
    private var initSegment: [UInt8]?
    private var chunks: [Chunk] = []
    /// The number of `chunks[0]`.
    private var firstIndex = 0
    private(set) var byteCount = 0
    private(set) var state = State.open

    init(id: String, settings: RecordingSettings) {
        self.id = id
        self.settings = settings
    }

    /// Where the next chunk begins.
    var end: Int { chunks.last?.end ?? 0 }
    var chunkCount: Int { firstIndex + chunks.count }

    /// From here on, until now, everything can be asked for.
    func oldestSlot(now: Int) -> Int {
        max(chunks.first?.start ?? 0, now - Int(settings.retainedSeconds * Double(RecordingGrid.slotsPerSecond)))
    }

    mutating func setInitSegment(_ bytes: [UInt8]) {
        initSegment = bytes
        byteCount += bytes.count
    }

    mutating func append(_ bytes: [UInt8], upTo end: Int) {
        chunks.append(Chunk(start: self.end, end: end, bytes: bytes))
        byteCount += bytes.count
        ageOut()
    }

    mutating func finish() { if state == .open { state = .finished } }
    mutating func fail() { if state == .open { state = .failed } }

    /// Seconds on the timeline; `start` is less than `end`.
    func lookup(start: Double, end: Double) -> Lookup {
        let first = RecordingGrid.slot(from: start)
        var last = max(first + 1, RecordingGrid.slot(upTo: end))
        if last > self.end {
            guard state != .open else { return .open(upTo: last) }
            // A range that reaches over the end of the session has what there was.
            last = self.end
        }
        guard first < last, let oldest = chunks.first, first >= oldest.start else { return .gone }
        let from = chunks.partitioningIndex { $0.end > first }
        let to = chunks.partitioningIndex { $0.start >= last }
        return .playlist(playlist(from..<to))
    }

    func segment(_ name: String) -> SegmentAnswer {
        if name == "init.mp4" {
            return initSegment.map { .bytes($0, isInit: true) } ?? .noSuchSegment
        }
        guard let index = Self.index(ofName: name), index < firstIndex + chunks.count else { return .noSuchSegment }
        guard index >= firstIndex else { return .unknownRecording }
        return .bytes(chunks[index - firstIndex].bytes, isInit: false)
    }

    private func playlist(_ range: Range<Int>) -> String {
        var lines = [
            "#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:\(RecordingGrid.chunkSeconds)", "#EXT-X-PLAYLIST-TYPE:VOD",
            "#EXT-X-MAP:URI=\"\(path("init.mp4"))\"",
        ]
        for position in range {
            let chunk = chunks[position]
            lines.append("#EXTINF:\(ClipMarker.text(RecordingGrid.seconds(chunk.end - chunk.start))),")
            lines.append(path(Self.name(firstIndex + position)))
        }
        lines.append("#EXT-X-ENDLIST\n")
        return lines.joined(separator: "\n")
    }

    private func path(_ name: String) -> String { "/clips/chunks/\(ClipMarker.urlPart(id))/\(name)" }

    private mutating func ageOut() {
        let kept = Int((settings.retainedSeconds + settings.slackSeconds) * Double(RecordingGrid.slotsPerSecond))
        while chunks.count > 1, end - chunks[0].end >= kept || byteCount > settings.retainedBytes {
            byteCount -= chunks.removeFirst().bytes.count
            firstIndex += 1
        }
    }

    private static func name(_ index: Int) -> String {
        let digits = String(index)
        return "chunk_" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits + ".m4s"
    }

    private static func index(ofName text: String) -> Int? {
        guard text.utf8.count <= 32, text.hasPrefix("chunk_"), text.hasSuffix(".m4s") else { return nil }
        guard let index = Int(text.dropFirst(6).dropLast(4)), index >= 0, name(index) == text else { return nil }
        return index
    }
}

extension Array {
    /// The first position for which the condition holds, which then holds for all behind it.
    fileprivate func partitioningIndex(_ holds: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
