import RTCBase
import ReactorCore
import Testing

@testable import ReactorTesting

@Suite("SessionRecorder")
struct SessionRecorderTests {
    @Test("wire 2.9: every chunk has 120 pictures and 4 s of sound, begins with a key frame, and the times go on")
    func chunks() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 12.2)
        #expect(recorder.chunkCount == 3)
        for index in 0..<3 {
            guard case .bytes(let bytes, false) = recorder.segment("chunk_0000\(index).m4s") else {
                Issue.record("chunk \(index) is not there")
                return
            }
            let fragments = MP4Fragment.parse(bytes)
            #expect(fragments.map(\.track) == [1, 2])
            #expect(fragments[0].decodeTime == UInt64(index) * 61_440 && fragments[0].end == UInt64(index + 1) * 61_440)
            #expect(fragments[0].samples.count == 120)
            #expect(fragments[0].samples.map(\.isSync) == [true] + [Bool](repeating: false, count: 119))
            // The sound of the last block is on its way when the picture of the next chunk comes.
            #expect(abs(Int(fragments[1].end) - (index + 1) * 192_000) <= 2880)
            #expect(fragments[1].samples.allSatisfy { $0.duration == 960 && $0.isSync })
            if index > 0, case .bytes(let before, _) = recorder.segment("chunk_0000\(index - 1).m4s") {
                #expect(MP4Fragment.parse(before)[1].end == fragments[1].decodeTime)
            }
        }
        #expect(recorder.counts == .init(pictures: UInt64(stage.framesPushed)))
    }

    @Test("R-49 pictures and sound of a recording are what was sent, where it was sent")
    func content() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 6)
        recorder.finish()
        let clip = try LoadedClip(recorder.recording(), in: stage.library)
        #expect(clip.ready.kind == "recording" && clip.ready.startMarker == 0 && clip.ready.endMarker == 6)
        let pictures = try ChunkDecoder.pictures(clip.chunks)
        #expect(pictures.map { NumberedPicture.number($0.frame) } == Array(0..<180))
        #expect(pictures.enumerated().allSatisfy { abs($1.time - Double($0) / 30) < 1e-9 })
        let sound = try ChunkDecoder.sound(clip.chunks)
        #expect(sound.count == 6 * 48_000)
        for second in 0..<6 {
            #expect(abs(Tone.hertz(sound[(second * 48_000 + 4800)..<(second * 48_000 + 43_000)]) - RecordingStage.toneHertz) < 0.5)
        }
        // Recorded to the sample: the tone began with the first picture; its first block was complete after 20 ms.
        #expect(Tone.delay(of: sound, hertz: RecordingStage.toneHertz, at: 96_000) < 6)
    }

    @Test("R-47 row 21: a clip is ready at once: the open chunk closes where the clip ends")
    func readyAtOnce() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 6.4)
        let answer = recorder.clip(durationSeconds: 3)
        let ready = try #require(answer.ready)
        #expect(ready.sessionID == recorder.id && ready.kind == "snap")
        #expect(ready.nowMarker == 6.4 && ready.endMarker == 6.4 && abs(ready.startMarker - 3.4) < 1e-9)
        #expect(ready.playlistURL == "/clips?session_id=\(recorder.id)&start=3.400&end=6.400")
        #expect(ready.predictedReadyAtMilliseconds == stage.unixMilliseconds + 100)
        let clip = try LoadedClip(answer, in: stage.library)
        #expect(clip.names == ["chunk_00000.m4s", "chunk_00001.m4s"])
        #expect(clip.durations == ["4.000", "2.400"])

        // What follows begins with a key frame, and the grid is the same again.
        stage.play(recorder, seconds: 6)
        let later = try LoadedClip(recorder.clip(durationSeconds: 12), in: stage.library)
        #expect(later.durations == ["4.000", "2.400", "1.600", "4.000", "0.400"])
        #expect(try ChunkDecoder.pictures(later.chunks).map { NumberedPicture.number($0.frame) } == Array(0..<372))
        #expect(try ChunkDecoder.pictures([later.chunks[2]]).map { NumberedPicture.number($0.frame) } == Array(192..<240))
        // A playlist stays as it was.
        #expect(try LoadedClip(answer, in: stage.library).playlist == clip.playlist)
    }

    @Test("a clip from the middle keeps its times")
    func middle() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 14)
        guard case .ready(let text) = recorder.playlist(start: 5, end: 7.5) else {
            Issue.record("not ready")
            return
        }
        #expect(text.contains("chunk_00001.m4s") && !text.contains("chunk_00000") && !text.contains("chunk_00002"))
        guard case .bytes(let bytes, _) = recorder.segment("chunk_00001.m4s") else {
            Issue.record("not there")
            return
        }
        #expect(MP4Fragment.parse(bytes)[0].decodeTime == 61_440)
        #expect(try ChunkDecoder.pictures([bytes]).map { NumberedPicture.number($0.frame) } == Array(120..<240))
    }

    @Test("HLS-09 requests in quick succession do not cut the recording to pieces, and get what they ask for")
    func cutsAreBounded() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 1)
        _ = recorder.clip(durationSeconds: 1)
        #expect(recorder.chunkCount == 1)
        var last: ClipReady?
        for _ in 0..<12 {
            stage.play(recorder, seconds: 1.0 / 30)
            last = recorder.clip(durationSeconds: 1).ready
        }
        #expect(recorder.chunkCount == 1)
        let ready = try #require(last)
        #expect(ready.predictedReadyAtMilliseconds >= stage.unixMilliseconds + 190)
        #expect(recorder.playlist(start: ready.startMarker, end: ready.endMarker) == .notReady(retryAfterSeconds: 0))
        // Without another picture: whoever asks again has the chunk closed.
        stage.advance(seconds: 0.2)
        #expect(recorder.playlist(start: ready.startMarker, end: ready.endMarker) == .notReady(retryAfterSeconds: 0))
        guard case .ready = recorder.playlist(start: ready.startMarker, end: ready.endMarker) else {
            Issue.record("still not ready")
            return
        }
    }

    @Test("a range that lies ahead is told when to ask again, and ends with the session")
    func ahead() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        #expect(recorder.playlist(start: 0, end: 1) == .notReady(retryAfterSeconds: 1))
        stage.play(recorder, seconds: 2)
        #expect(recorder.playlist(start: 1, end: 9) == .notReady(retryAfterSeconds: 2))
        #expect(recorder.playlist(start: 1, end: 2.5) == .notReady(retryAfterSeconds: 1))
        recorder.finish()
        guard case .ready(let text) = recorder.playlist(start: 1, end: 9) else {
            Issue.record("stays not ready after the end")
            return
        }
        #expect(text.contains("#EXTINF:2.000,"))
        #expect(recorder.playlist(start: 2, end: 9) == .unknown)
    }

    @Test("row 21: a recording that never received a picture ends, too")
    func neverAPicture() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        #expect(recorder.clip(durationSeconds: 3) == .failed("no media generated yet"))
        #expect(recorder.recording() == .failed("no media generated yet"))
        recorder.finish()
        #expect(recorder.isComplete)
        #expect(recorder.playlist(start: 0, end: 1) == .unknown)
        #expect(recorder.segment("init.mp4") == .noSuchSegment)
    }

    @Test("wire 3.4: a duration must be positive, and a clip has 300 s at most")
    func durations() throws {
        let stage = RecordingStage(width: 32, height: 32)
        let recorder = try stage.recorder(hasSound: false)
        stage.pushPicture(recorder)
        for duration in [0.0, -1, -.infinity, .nan] {
            #expect(recorder.clip(durationSeconds: duration) == .failed("duration_seconds must be positive"))
        }
        stage.play(recorder, seconds: 310, sound: false)
        for duration in [300.0, 1e300, .infinity] {
            let ready = try #require(recorder.clip(durationSeconds: duration).ready)
            #expect(abs(ready.endMarker - ready.startMarker - 300) < 1e-6)
            #expect(ready.startMarker > 9)
        }
        #expect(try #require(recorder.recording().ready).startMarker == 0)
    }

    @Test("row 22: when the encoder fails, requests say so; what is there stays")
    func encoderFailure() throws {
        var settings = RecordingSettings()
        settings.videoBitsPerSecond = 1
        let stage = RecordingStage(settings: settings)
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 0.1)
        #expect(recorder.hasFailed)
        #expect(recorder.clip(durationSeconds: 3) == .failed("recorder disabled or encoder crashed"))
        #expect(recorder.recording() == .failed("recorder disabled or encoder crashed"))
        #expect(recorder.playlist(start: 0, end: 1) == .unknown)
        stage.play(recorder, seconds: 1)
        recorder.finish()
        #expect(recorder.isComplete && recorder.byteCount == 0)
        #expect(ClipAnswer.disabled == .failed("recorder disabled or encoder crashed"))
    }

    @Test("no thread for coding is a failure, not a wait")
    func noThread() {
        let recorder = SessionRecorder(
            id: "x", pictureRate: 30, hasSound: false, settings: RecordingSettings(),
            environment: .init(now: { MonotonicTime(nanoseconds: 0) }, unixMilliseconds: { 0 }, schedule: { _ in false }, sleep: { _ in }))
        let pixels = [UInt8](repeating: 0, count: 16 * 16 * 4)
        pixels.withUnsafeBytes { recorder.push(bgra: $0, width: 16, height: 16) }
        #expect(recorder.recording() == .disabled)
    }

    @Test("pictures of other sizes are fitted into the first one's")
    func sizes() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder(hasSound: false)
        for (width, height) in [(320, 180), (640, 360), (180, 320), (33, 17), (320, 180)] {
            stage.pushPicture(recorder, width: width, height: height)
            stage.advance(seconds: 1.0 / 30)
        }
        let pixels = [UInt8](repeating: 0, count: 100)
        pixels.withUnsafeBytes { recorder.push(bgra: $0, width: 16, height: 16) }
        #expect(recorder.counts.refusedPictures == 1)
        recorder.finish()
        let clip = try LoadedClip(recorder.recording(), in: stage.library)
        let pictures = try ChunkDecoder.pictures(clip.chunks).map(\.frame)
        #expect(pictures.map(\.width) == [320, 320, 320, 320, 320] && pictures.allSatisfy { $0.height == 180 })
        #expect(NumberedPicture.number(pictures[1]) == 1)
        // The tall one stands in the middle, between black bars.
        #expect(pictures[2].planeY[90 * pictures[2].strideY + 40] < 40)
    }

    @Test("a picture that is shown longer lasts longer, and a chunk without one shows the last")
    func slowModel() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder(pictureRate: 1, hasSound: true)
        for second in 0..<10 {
            if second < 3 { stage.pushPicture(recorder) }
            for _ in 0..<50 {
                stage.advance(seconds: 0.02)
                stage.pushTone(recorder, samples: 960)
            }
        }
        recorder.finish()
        let clip = try LoadedClip(recorder.recording(), in: stage.library)
        #expect(clip.durations == ["4.000", "4.000", "2.000"])
        let pictures = try ChunkDecoder.pictures(clip.chunks)
        #expect(pictures.map { NumberedPicture.number($0.frame) } == [0, 1, 2, 2, 2])
        #expect(pictures.map(\.time) == [0, 1, 2, 4, 8])
    }

    @Test("a model that pauses has no hole in its recording")
    func pause() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 2)
        stage.advance(seconds: 3600)
        let during = try LoadedClip(recorder.clip(durationSeconds: 1), in: stage.library)
        #expect(during.ready.endMarker == 2)
        stage.play(recorder, seconds: 2)
        recorder.finish()
        let clip = try LoadedClip(recorder.recording(), in: stage.library)
        #expect(abs(clip.ready.endMarker - 4) < 0.04)
        #expect(try ChunkDecoder.pictures(clip.chunks).map { NumberedPicture.number($0.frame) } == Array(0..<120))
        #expect(abs(Tone.hertz(try ChunkDecoder.sound(clip.chunks)[4800..<180_000]) - RecordingStage.toneHertz) < 1)
    }

    @Test("a sound track on which nothing comes is silent for as long as the pictures last")
    func silence() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 9, sound: false)
        recorder.finish()
        let clip = try LoadedClip(recorder.recording(), in: stage.library)
        let sound = try ChunkDecoder.sound(clip.chunks)
        #expect(sound.count > 8 * 48_000 && sound.allSatisfy { abs($0) < 4 })
    }

    @Test("a recording of sound alone has one track")
    func soundAlone() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder(pictureRate: nil)
        stage.play(recorder, seconds: 5, pictures: false)
        recorder.finish()
        let clip = try LoadedClip(recorder.recording(), in: stage.library)
        #expect(clip.durations.first == "4.000")
        #expect(MP4Fragment.parse(clip.chunks[0]).map(\.track) == [2])
        #expect(abs(Tone.hertz(try ChunkDecoder.sound(clip.chunks)[4800..<200_000]) - RecordingStage.toneHertz) < 0.5)
    }

    @Test("X-9 sound in every format that can be sent", arguments: [8_000, 16_000, 24_000, 32_000, 44_100, 48_000], [1, 2])
    func formats(rate: Int, channels: Int) throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder(pictureRate: nil)
        for _ in 0..<200 {
            stage.pushTone(recorder, samples: rate / 100, rate: rate, channels: channels)
            stage.advance(seconds: 0.01)
        }
        recorder.finish()
        let clip = try LoadedClip(recorder.recording(), in: stage.library)
        let sound = try ChunkDecoder.sound(clip.chunks)
        #expect(abs(sound.count - 96_000) <= 1920)
        #expect(abs(Tone.hertz(sound[9600..<86_000]) - RecordingStage.toneHertz) < 1)
        #expect(sound[9600..<86_000].contains { $0 > 9_000 })
    }

    @Test("while the worker is held up, four pictures wait and the newest wins; nobody waits for it")
    func heldUp() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 1)
        stage.setHeldUp(true)
        stage.play(recorder, seconds: 20)
        #expect(recorder.counts.replacedPictures == 596)
        #expect(recorder.counts.droppedSoundBlocks == 400)
        stage.setHeldUp(false)
        stage.play(recorder, seconds: 1)
        recorder.finish()
        let clip = try LoadedClip(recorder.recording(), in: stage.library)
        #expect(clip.ready.endMarker == 22)
        let numbers = try ChunkDecoder.pictures(clip.chunks).map { NumberedPicture.number($0.frame) }
        #expect(numbers.filter { $0 >= 626 } == Array(626..<660))
        #expect(numbers == numbers.sorted())
    }

    @Test("whatever a model does, chunks follow one another without a gap, and play", arguments: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 19])
    func random(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        let stage = RecordingStage(width: 32, height: 32)
        let hasVideo = seed % 5 != 0
        let recorder = try stage.recorder(
            pictureRate: hasVideo ? [0.5, 5, 30, 60].randomElement(using: &generator) : nil, hasSound: !hasVideo || seed % 3 != 0)
        for _ in 0..<200 {
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: _ = recorder.clip(durationSeconds: .random(in: 0.01...20, using: &generator))
            case 1: stage.advance(seconds: .random(in: 0...8, using: &generator))
            case 2: stage.setHeldUp(true)
            case 3: stage.pushTone(recorder, samples: .random(in: 0...100_000, using: &generator))
            case 4...6: stage.setHeldUp(false)
            case 7...12: stage.pushTone(recorder, samples: .random(in: 1...2000, using: &generator))
            default: stage.pushPicture(recorder)
            }
            stage.advance(seconds: .random(in: 0...0.08, using: &generator))
        }
        stage.setHeldUp(false)
        recorder.finish()
        #expect(recorder.isComplete && !recorder.hasFailed)
        guard case .ready(let ready) = recorder.recording() else { return }
        let clip = try LoadedClip(.ready(ready), in: stage.library)
        #expect(abs(clip.durations.reduce(0) { $0 + (Double($1) ?? 0) } - ready.endMarker) < 0.001 * Double(clip.chunks.count))
        var ends: [UInt64: UInt64] = [:]
        for chunk in clip.chunks {
            for fragment in MP4Fragment.parse(chunk) {
                #expect(fragment.decodeTime == ends[fragment.track, default: 0], "track \(fragment.track)")
                #expect(fragment.samples.first?.isSync == true && fragment.samples.allSatisfy { $0.duration > 0 })
                ends[fragment.track] = fragment.end
            }
        }
        if hasVideo {
            #expect(ends[1] == UInt64((ready.endMarker * 15_360).rounded()))
            _ = try ChunkDecoder.pictures(clip.chunks)
        }
        _ = try ChunkDecoder.sound(clip.chunks)
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

extension Tone {
    /// By how many samples a tone that began with phase 0 at the first picture is late, within half a period.
    static func delay(of sound: [Int16], hertz: Double, at start: Int) -> Double {
        let period = 48_000 / hertz
        guard let crossing = (start..<(start + 200)).first(where: { sound[$0 - 1] < 0 && sound[$0] >= 0 }) else { return .infinity }
        let phase = Double(crossing).truncatingRemainder(dividingBy: period)
        return min(phase, period - phase)
    }
}
