import RTCBase
import Testing

@testable import ReactorTesting

@Suite("RecordingLibrary", .timeLimit(.minutes(1)))
struct RecordingLibraryTests {
    @Test(
        "wire 3.4: an unknown recording is unknown, whatever the id", arguments: ["zz", "", "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee", "\0"])
    func unknown(id: String) {
        let stage = RecordingStage()
        #expect(stage.library.playlist(recording: id, start: 0, end: 3) == .unknown)
        #expect(stage.library.segment(recording: id, name: "init.mp4") == .unknownRecording)
    }

    @Test("wire 3.4: the id is a new lower-case UUID, or what the session was started with")
    func ids() throws {
        let stage = RecordingStage()
        let minted = try stage.recorder().id
        #expect(minted.count == 36 && minted == minted.lowercased() && minted.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
        #expect(try stage.recorder().id != minted)
        #expect(try stage.recorder(id: "B3CCB1C7-A129-40BA-81BE-A9993B67D145").id == "b3ccb1c7-a129-40ba-81be-a9993b67d145")
        #expect(stage.library.makeRecorder(pictureRate: nil, hasSound: false) == nil)
    }

    @Test("wire 9.4: a finished recording is kept for 300 s")
    func retention() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 1)
        recorder.finish()
        stage.advance(seconds: 299)
        guard case .ready = stage.library.playlist(recording: recorder.id, start: 0, end: 1) else {
            Issue.record("gone too early")
            return
        }
        guard case .bytes(_, isInit: true) = stage.library.segment(recording: recorder.id.uppercased(), name: "init.mp4") else {
            Issue.record("gone too early")
            return
        }
        stage.advance(seconds: 1)
        #expect(stage.library.playlist(recording: recorder.id, start: 0, end: 1) == .unknown)
        #expect(stage.library.segment(recording: recorder.id, name: "init.mp4") == .unknownRecording)
        #expect(stage.library.recordingCount == 0)
    }

    @Test("wire 3.4: finished recordings are swept every 30 s while nobody asks for anything")
    func sweeper() async throws {
        let stage = RecordingStage(sweeps: true)
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 1)
        recorder.finish()
        for _ in 0..<10 {
            let (duration, wake) = try #require(await stage.sleeps.next())
            #expect(duration == .seconds(30) && stage.library.recordingCount == 1)
            stage.advance(seconds: 30)
            wake.resume()
        }
        while stage.library.recordingCount > 0 { await Task.yield() }
        // The next session's begins again.
        try stage.recorder().finish()
        let (_, wake) = try #require(await stage.sleeps.next())
        stage.library.close()
        wake.resume()
        #expect(stage.library.recordingCount == 0)
    }

    @Test("a recording that goes on is never swept, and the next session's ends it")
    func nextSession() throws {
        let stage = RecordingStage()
        let first = try stage.recorder()
        stage.play(first, seconds: 1)
        stage.advance(seconds: 10_000)
        stage.library.sweep()
        #expect(stage.library.recordingCount == 1 && !first.isComplete)
        let second = try stage.recorder()
        #expect(first.isComplete && !second.isComplete)
        #expect(try LoadedClip(first.recording(), in: stage.library).durations == ["1.000"])
        // The same id again is a new recording.
        let third = try stage.recorder(id: first.id)
        #expect(third.recording() == .noMedia)
        #expect(stage.library.playlist(recording: first.id, start: 0, end: 1) == .notReady(retryAfterSeconds: 1))
        stage.library.close()
        #expect(third.isComplete && stage.library.recordingCount == 0)
    }

    @Test("all recordings together are bounded: the oldest finished one goes first")
    func budget() throws {
        var settings = RecordingSettings()
        settings.libraryBytes = 60_000
        let stage = RecordingStage(settings: settings)
        var ids: [String] = []
        for _ in 0..<5 {
            let recorder = try stage.recorder()
            ids.append(recorder.id)
            stage.play(recorder, seconds: 2)
            recorder.finish()
        }
        stage.library.sweep()
        let kept = ids.filter { stage.library.segment(recording: $0, name: "init.mp4") != .unknownRecording }
        #expect(!kept.isEmpty && kept.count < 5)
        #expect(kept == Array(ids.suffix(kept.count)))
    }

    @Test("a range that is none is unknown, and no number traps", arguments: [0, -1, 1e308, -1e308, .nan, .infinity, -.infinity, 3])
    func ranges(bound: Double) throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 1)
        #expect(stage.library.playlist(recording: recorder.id, start: bound, end: bound) == .unknown)
        for other in [0, 0.5, -2, .infinity, .nan, 1e300] {
            _ = stage.library.playlist(recording: recorder.id, start: bound, end: other)
            _ = stage.library.playlist(recording: recorder.id, start: other, end: bound)
        }
    }

    @Test("the shared thread codes what real time brings")
    func realThread() async throws {
        let library = RecordingLibrary()
        let recorder = try #require(library.makeRecorder(pictureRate: 30, hasSound: true))
        for number in 0..<20 {
            NumberedPicture.bgra(number, width: 64, height: 48).withUnsafeBytes { recorder.push(bgra: $0, width: 64, height: 48) }
            Tone.samples(hertz: 440, rate: 48_000, count: 960).withUnsafeBufferPointer { recorder.push(samples: $0) }
            try await Task.sleep(for: .milliseconds(34))
        }
        recorder.finish()
        while !recorder.isComplete { try await Task.sleep(for: .milliseconds(5)) }
        let clip = try LoadedClip(recorder.recording(), in: library)
        let counts = recorder.counts
        #expect(counts.pictures == 20)
        #expect(try ChunkDecoder.pictures(clip.chunks).count == 20 - Int(counts.skippedPictures + counts.replacedPictures))
    }

    @Test("pictures and sound from several threads at once, with requests between them, make one recording that plays")
    func manyThreads() async throws {
        let library = RecordingLibrary()
        let recorder = try #require(library.makeRecorder(pictureRate: 30, hasSound: true))
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for round in 0..<60 {
                        let pixels = NumberedPicture.bgra(round, width: 64 + worker * 16, height: 48)
                        pixels.withUnsafeBytes { recorder.push(bgra: $0, width: 64 + worker * 16, height: 48) }
                        Tone.samples(hertz: 440, rate: 48_000, count: 240).withUnsafeBufferPointer { recorder.push(samples: $0) }
                        if round % 7 == worker { _ = recorder.clip(durationSeconds: 1) }
                        try? await Task.sleep(for: .milliseconds(10))
                    }
                }
            }
        }
        recorder.finish()
        recorder.finish()
        while !recorder.isComplete { try await Task.sleep(for: .milliseconds(5)) }
        #expect(!recorder.hasFailed)
        let clip = try LoadedClip(recorder.recording(), in: library)
        let counts = recorder.counts
        #expect(counts.pictures == 240)
        let pictures = try ChunkDecoder.pictures(clip.chunks)
        #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.time < $1.time })
        // A chunk may begin with the picture before it, again.
        #expect(pictures.count >= 240 - Int(counts.skippedPictures + counts.replacedPictures))
        #expect(pictures.count <= 240 - Int(counts.skippedPictures + counts.replacedPictures) + clip.chunks.count)
    }
}
