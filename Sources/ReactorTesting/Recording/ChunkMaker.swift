// From pictures and sound on the recording's timeline to closed chunks. A chunk begins with a key frame and ends on the grid of 4 s
// or where a clip ends. It closes when something comes that lies behind its end: the pictures are exact then; sound that is late
// goes into the next chunk, with its own decode time. Worker thread.

internal import RTCBase
internal import RTCCodec

final class ChunkMaker {
    struct Batch: Sendable {
        enum Item: Sendable {
            case picture(PlanarFrame, slot: Int)
            /// A clip ends here: nothing that comes later lies before.
            case cut(Int)
        }

        /// In order of their slots.
        var items: [Item] = []
        var sound: [SoundBlock] = []
        /// What has been recorded, in slots.
        var recorded = 0
        /// Nothing follows.
        var isLast = false
    }

    struct Made: Sendable {
        /// With the first chunk.
        var initSegment: [UInt8]?
        var bytes: [UInt8]
        /// The slot behind the chunk.
        var end: Int
    }

    private let hasVideo: Bool
    private let settings: RecordingSettings
    private var pictures: PictureEncoder?
    private var sound: SoundEncoder?
    private var writer: FragmentedMP4Writer?
    /// Where the open chunk begins.
    private var start = 0
    private var sequence: UInt32 = 0
    private var made: [Made] = []

    /// Sets up the encoders when something comes.
    init(hasVideo: Bool, hasSound: Bool, settings: RecordingSettings) throws(CodecError) {
        self.hasVideo = hasVideo
        self.settings = settings
        if hasSound { sound = try SoundEncoder(bitsPerSecond: settings.soundBitsPerSecond) }
    }

    /// - Returns: the chunks that this closes.
    func process(_ batch: Batch) throws(CodecError) -> [Made] {
        made.removeAll()
        if let sound {
            for block in batch.sound { try sound.append(block) }
        }
        for item in batch.items {
            switch item {
            case .picture(let picture, let slot): try append(picture, slot: slot)
            case .cut(let slot):
                try closeFull(before: slot)
                try close(at: slot)
            }
        }
        // Time goes on without pictures while there is sound.
        try closeFull(before: batch.isLast ? batch.recorded : batch.recorded - Self.lateSlots)
        if batch.isLast {
            try sound?.flush()
            try close(at: batch.recorded)
        }
        return made
    }

    private func append(_ picture: PlanarFrame, slot: Int) throws(CodecError) {
        try closeFull(before: slot)
        guard slot >= start else { return assertionFailure("a picture before the chunk") }
        let encoder = try encoder(for: picture)
        if encoder.isEmpty {
            try encoder.begin(picture, slot: slot, chunkStart: start)
        } else {
            try encoder.append(picture, slot: slot)
        }
    }

    private func encoder(for picture: PlanarFrame) throws(CodecError) -> PictureEncoder {
        if let pictures { return pictures }
        let new = try PictureEncoder(first: picture, bitsPerSecond: settings.videoBitsPerSecond)
        pictures = new
        return new
    }

    /// Closes the chunks that end at a slot of the grid, up to this one.
    private func closeFull(before slot: Int) throws(CodecError) {
        while true {
            let end = (start / RecordingGrid.slotsPerChunk + 1) * RecordingGrid.slotsPerChunk
            guard end <= slot else { return }
            try close(at: end)
        }
    }

    private func close(at end: Int) throws(CodecError) {
        guard end > start, pictures != nil || !hasVideo else { return }
        if let pictures, pictures.isEmpty { try pictures.begin(nil, slot: start, chunkStart: start) }
        let video = pictures?.takeRun(upTo: end)
        // A track that has been silent for a while is silent up to where its next sound may still begin.
        try sound?.fill(upTo: (end - Self.lateSlots) * RecordingGrid.samplesPerSlot)
        let heard = sound?.takeRun(upTo: end * RecordingGrid.samplesPerSlot)

        var initSegment: [UInt8]?
        let writer: FragmentedMP4Writer
        if let known = self.writer {
            writer = known
        } else {
            writer = FragmentedMP4Writer(video: pictures?.track, hasSound: sound != nil)
            self.writer = writer
            initSegment = writer.initSegment()
        }
        sequence &+= 1
        made.append(Made(initSegment: initSegment, bytes: writer.segment(sequence: sequence, video: video, sound: heard), end: end))
        start = end
    }

    /// 0.4 s: later than this no picture comes, and no sound that continues what there is (`RecordingTimeline`).
    private static let lateSlots = 12
}
