internal import RTCBase
internal import RTCPeer
internal import Synchronization

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The recordings of one runtime: that of the session that lives, and finished ones for five minutes (wire-protocol 9.4). Any
/// thread.
final class RecordingLibrary: RecordingSource {
    private let settings: RecordingSettings
    private let environment: SessionRecorder.Environment
    /// In order of their making.
    private let recorders = Mutex<[SessionRecorder]>([])

    init(settings: RecordingSettings = RecordingSettings(), environment: SessionRecorder.Environment = .system) {
        self.settings = settings
        self.environment = environment
    }

    /// Begins a recording; one of an earlier session that still goes on is finished.
    ///
    /// - Parameters:
    ///   - id: what the session was started with; nil makes one.
    ///   - pictureRate: of the first video track that the model sends; nil when there is none.
    ///   - hasSound: the model sends a sound track.
    /// - Returns: nil when there is nothing to record.
    func makeRecorder(id: String? = nil, pictureRate: Double?, hasSound: Bool) -> SessionRecorder? {
        guard pictureRate != nil || hasSound else { return nil }
        let id = id.map { $0.lowercased() } ?? UUID().uuidString.lowercased()
        let recorder = SessionRecorder(
            id: id, pictureRate: pictureRate, hasSound: hasSound, settings: settings,
            environment: environment)
        let before = recorders.withLock { list in
            defer {
                list.removeAll { $0.id == id }
                list.append(recorder)
            }
            return list
        }
        for earlier in before { earlier.finish() }
        sweep()
        return recorder
    }

    func playlist(recording: String, start: Double, end: Double) -> PlaylistAnswer {
        guard start < end, let recorder = recorder(recording) else { return .unknown }
        return recorder.playlist(start: start, end: end)
    }

    func segment(recording: String, name: String) -> SegmentAnswer {
        guard let recorder = recorder(recording) else { return .unknownRecording }
        return recorder.segment(name)
    }

    /// Lets go of recordings that have been finished for long enough, and of the oldest finished ones while all of them together
    /// are too large. Happens by itself whenever something is asked for; a runtime that idles calls it twice a minute.
    func sweep() {
        let now = environment.now()
        let aged = MonotonicTime.nanoseconds(ofSeconds: settings.finishedSeconds)
        recorders.withLock { list in
            list.removeAll { recorder in
                recorder.finishedAt.map { now.nanoseconds(since: $0) >= aged } ?? false
            }
            var bytes = list.reduce(0) { $0 + $1.byteCount }
            while bytes > settings.libraryBytes, let oldest = list.firstIndex(where: { $0.finishedAt != nil }) {
                bytes -= list.remove(at: oldest).byteCount
            }
        }
    }

    /// Finishes what goes on and forgets everything.
    func close() {
        let all = recorders.withLock { list in
            defer { list.removeAll() }
            return list
        }
        for recorder in all { recorder.finish() }
    }

    var recordingCount: Int { recorders.withLock { $0.count } }

    private func recorder(_ id: String) -> SessionRecorder? {
        sweep()
        let id = id.lowercased()
        return recorders.withLock { list in list.first { $0.id == id } }
    }
}

extension SessionRecorder.Environment {
    static let system = SessionRecorder.Environment(
        now: { NetworkThread.now() },
        unixMilliseconds: { Int64(Date().timeIntervalSince1970 * 1000) },
        schedule: { RecordingWorker.shared.schedule($0) })
}

extension MonotonicTime {
    fileprivate static func nanoseconds(ofSeconds seconds: Double) -> Int64 { Int64(min(max(seconds, 0), 1e9) * 1e9) }
}
