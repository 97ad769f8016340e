import Foundation
import Testing

@testable import ReactorTesting

/// What ffmpeg makes of the files.
@Suite("Recording in ffmpeg", .enabled(if: FFmpeg.isInstalled, "ffmpeg is not installed: the recordings were not played"))
struct RecordingPlaybackTests {
    @Test("init segment and chunks play: size, pictures, duration, tone, and not one complaint")
    func plays() throws {
        let stage = RecordingStage(width: 322, height: 181)
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 10)
        _ = recorder.clip(durationSeconds: 1)
        stage.play(recorder, seconds: 0.5)
        recorder.finish()
        let clip = try LoadedClip(recorder.recording(), in: stage.library)
        try FFmpeg.withFile(clip.file) { path in
            let video = try FFmpeg.probe(path, "v:0", "codec_name,width,height,nb_read_frames,time_base,pix_fmt,color_space")
            #expect(video["codec_name"] == "vp9" && video["width"] == "322" && video["height"] == "181")
            #expect(video["nb_read_frames"] == "315" && video["time_base"] == "1/15360" && video["pix_fmt"] == "yuv420p")
            let sound = try FFmpeg.probe(path, "a:0", "codec_name,channels,sample_rate,time_base")
            #expect(sound == ["codec_name": "opus", "channels": "1", "sample_rate": "48000", "time_base": "1/48000"])
            let format = try FFmpeg.run("ffprobe", ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path])
            #expect(abs((Double(format.text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0) - 10.5) < 0.03)
            #expect(format.complaints.isEmpty)

            let decoded = try FFmpeg.run("ffmpeg", ["-v", "warning", "-xerror", "-i", path, "-f", "s16le", "-map", "0:a", "-"])
            #expect(decoded.complaints.isEmpty, "\(decoded.complaints)")
            let samples = decoded.bytes.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
            #expect(abs(samples.count - 504_000) <= 960)
            #expect(abs(Tone.hertz(samples[24_000..<480_000]) - RecordingStage.toneHertz) < 0.1)
            #expect(Tone.delay(of: samples, hertz: RecordingStage.toneHertz, at: 96_000) < 6)

            let pictures = try FFmpeg.run("ffmpeg", ["-v", "warning", "-xerror", "-i", path, "-map", "0:v", "-f", "framecrc", "-"])
            #expect(pictures.complaints.isEmpty, "\(pictures.complaints)")
        }
    }

    @Test("a clip from the middle plays, from its own place on the timeline")
    func middle() throws {
        let stage = RecordingStage()
        let recorder = try stage.recorder()
        stage.play(recorder, seconds: 9)
        let clip = try LoadedClip(recorder.clip(durationSeconds: 2), in: stage.library)
        #expect(clip.names == ["chunk_00001.m4s", "chunk_00002.m4s"])
        try FFmpeg.withFile(clip.file) { path in
            let video = try FFmpeg.probe(path, "v:0", "start_time,nb_read_frames")
            #expect(video == ["start_time": "4.000000", "nb_read_frames": "150"])
            let decoded = try FFmpeg.run("ffmpeg", ["-v", "warning", "-xerror", "-i", path, "-f", "null", "-"])
            #expect(decoded.complaints.isEmpty, "\(decoded.complaints)")
        }
    }
}

enum FFmpeg {
    struct Output {
        var bytes: Data
        var complaints: String
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    struct Failed: Error { var complaints: String }

    static let isInstalled = ["ffmpeg", "ffprobe"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }

    static func run(_ tool: String, _ arguments: [String]) throws -> Output {
        let folder = FileManager.default.temporaryDirectory
        let output = folder.appendingPathComponent(UUID().uuidString)
        let errors = folder.appendingPathComponent(UUID().uuidString)
        for url in [output, errors] { _ = FileManager.default.createFile(atPath: url.path, contents: nil) }
        defer { for url in [output, errors] { try? FileManager.default.removeItem(at: url) } }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(tool)")
        process.arguments = tool == "ffmpeg" ? ["-nostdin"] + arguments : arguments
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        let complaints = String(decoding: try Data(contentsOf: errors), as: UTF8.self)
        guard process.terminationStatus == 0 else { throw Failed(complaints: complaints) }
        return Output(bytes: try Data(contentsOf: output), complaints: complaints)
    }

    static func probe(_ path: String, _ stream: String, _ entries: String) throws -> [String: String] {
        let output = try run(
            "ffprobe",
            ["-v", "error", "-count_frames", "-select_streams", stream, "-show_entries", "stream=\(entries)", "-of", "default=nw=1", path])
        var values: [String: String] = [:]
        for line in output.text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
        return values
    }

    static func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("recording-\(UUID().uuidString).mp4")
        try Data(bytes).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        try body(url.path)
    }
}
