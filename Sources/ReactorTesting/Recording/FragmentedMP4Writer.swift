// Fragmented MP4 as the recordings are served in it (wire-protocol 2.9; ISO/IEC 14496-12 §8.8 and §8.16). In: coded pictures and
// sound with durations. Out: the init segment and one media segment per chunk. Pure: no IO, no codec.
//
// The vendor's recorder writes H.264 and AAC (`avc1`, `mp4a`). This one writes VP9 and Opus (`vp09` with `vpcC`, VP Codec ISO
// Media File Format Binding 1.0; `Opus` with `dOps`, Encapsulation of Opus in ISO Base Media File Format), which are the codecs
// that the engine has; ffmpeg and Chromium play both in this container. Brands, boxes, flags and time scales are the vendor's.

/// The boxes of one recording; a value that only knows which tracks there are.
struct FragmentedMP4Writer: Hashable, Sendable {
    struct VideoTrack: Hashable, Sendable {
        var width: Int
        var height: Int
        var bitsPerSecond: Int
    }

    /// Samples of one track, one after the other, with their bytes in one block.
    struct Run: Sendable {
        struct Sample: Hashable, Sendable {
            var byteCount: Int
            /// In the track's time scale.
            var duration: UInt32
            var isSync: Bool
        }

        /// Of the first sample, in the track's time scale.
        var decodeTime: UInt64
        var samples: [Sample]
        var data: [UInt8]

        var duration: UInt64 { samples.reduce(0) { $0 + UInt64($1.duration) } }
    }

    let video: VideoTrack?
    /// Mono at 48 kHz.
    let hasSound: Bool

    /// Nil for a recording without pictures.
    init(video: VideoTrack?, hasSound: Bool) {
        self.video = video
        self.hasSound = hasSound
    }

    /// As `MediaSource.isTypeSupported` wants it: `vp09.00.21.08,opus`.
    var codecs: String {
        var names: [String] = []
        if let video {
            let level = Self.level(of: video)
            names.append("vp09.00.\(level).08")
        }
        if hasSound { names.append("opus") }
        return names.joined(separator: ",")
    }

    /// A media segment: `styp`, a `sidx` per track, `moof`, `mdat`. A run without samples leaves its track out.
    ///
    /// - Parameter sequence: counts the segments of a recording, from 1.
    func segment(sequence: UInt32, video: Run?, sound: Run?) -> [UInt8] {
        let runs = [(Self.videoID, Self.videoTimescale, video), (Self.soundID, Self.soundTimescale, sound)].compactMap { id, scale, run in
            run.flatMap { $0.samples.isEmpty ? nil : Track(id: id, timescale: scale, run: $0) }
        }
        let moof = Self.moof(sequence: sequence, tracks: runs)
        let dataBytes = runs.reduce(0) { $0 + $1.run.data.count }

        var writer = MP4BoxWriter()
        writer.box("styp") { writer in
            writer.writeType("msdh")
            writer.write(UInt32(0))
            writer.writeType("msdh")
            writer.writeType("msix")
        }
        for (index, track) in runs.enumerated() {
            Self.writeIndex(
                of: track, following: runs.count - 1 - index, referencedBytes: moof.count + 8 + dataBytes, to: &writer)
        }
        writer.write(moof)
        writer.box("mdat") { writer in
            for track in runs { writer.write(track.run.data) }
        }
        return writer.bytes
    }

    private struct Track {
        var id: UInt32
        var timescale: UInt32
        var run: Run
    }

    /// §8.16.3. `first_offset` skips the indexes of the other tracks.
    private static func writeIndex(of track: Track, following: Int, referencedBytes: Int, to writer: inout MP4BoxWriter) {
        writer.fullBox("sidx", version: 1) { writer in
            writer.write(track.id)
            writer.write(track.timescale)
            writer.write(track.run.decodeTime)
            writer.write(UInt64(following * indexBytes))
            writer.write(UInt16(0))
            writer.write(UInt16(1))
            writer.write(UInt32(truncatingIfNeeded: referencedBytes) & 0x7fff_ffff)
            writer.write(UInt32(truncatingIfNeeded: track.run.duration))
            writer.write(UInt32(track.run.samples[0].isSync ? 0x9000_0000 : 0))  // starts with an access point of type 1
        }
    }

    private static func moof(sequence: UInt32, tracks: [Track]) -> [UInt8] {
        var writer = MP4BoxWriter()
        var offsetFields: [Int] = []
        writer.box("moof") { writer in
            writer.fullBox("mfhd") { $0.write(sequence) }
            for track in tracks {
                writer.box("traf") { writer in
                    offsetFields.append(writeFragment(track, to: &writer))
                }
            }
        }
        // Samples are found from the beginning of the moof on; the data begins behind it and the head of the mdat.
        var offset = writer.count + 8
        for (field, track) in zip(offsetFields, tracks) {
            writer.overwrite(UInt32(truncatingIfNeeded: offset), at: field)
            offset += track.run.data.count
        }
        return writer.bytes
    }

    /// Returns where the data offset of the `trun` is.
    private static func writeFragment(_ track: Track, to writer: inout MP4BoxWriter) -> Int {
        let samples = track.run.samples
        let defaults = samples[samples.count - 1]
        writer.fullBox("tfhd", flags: 0x02_0038) { writer in  // from the moof's start; default duration, size and flags
            writer.write(track.id)
            writer.write(defaults.duration)
            writer.write(UInt32(truncatingIfNeeded: defaults.byteCount))
            writer.write(sampleFlags(isSync: defaults.isSync))
        }
        writer.fullBox("tfdt", version: 1) { $0.write(track.run.decodeTime) }
        let hasDurations = samples.contains { $0.duration != defaults.duration }
        let hasFlags = samples.dropFirst().contains { $0.isSync != defaults.isSync }
        let hasFirstFlags = !hasFlags && samples[0].isSync != defaults.isSync
        var flags: UInt32 = 0x201  // data offset; sizes
        if hasFirstFlags { flags |= 0x4 }
        if hasDurations { flags |= 0x100 }
        if hasFlags { flags |= 0x400 }
        var offsetField = 0
        writer.fullBox("trun", flags: flags) { writer in
            writer.write(UInt32(truncatingIfNeeded: samples.count))
            offsetField = writer.count
            writer.write(UInt32(0))
            if hasFirstFlags { writer.write(sampleFlags(isSync: samples[0].isSync)) }
            for sample in samples {
                if hasDurations { writer.write(sample.duration) }
                writer.write(UInt32(truncatingIfNeeded: sample.byteCount))
                if hasFlags { writer.write(sampleFlags(isSync: sample.isSync)) }
            }
        }
        return offsetField
    }

    /// §8.8.3.1: whether others are needed to decode the sample, and whether it is no sync sample.
    static func sampleFlags(isSync: Bool) -> UInt32 { isSync ? 0x0200_0000 : 0x0101_0000 }

    static let videoID: UInt32 = 1
    static let soundID: UInt32 = 2
    /// Wire-protocol 2.9.
    static let videoTimescale: UInt32 = 15_360
    static let soundTimescale: UInt32 = 48_000
    /// A `sidx` of version 1 with one reference.
    private static let indexBytes = 52
}
