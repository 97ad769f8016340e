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
    private struct State {
        /// In order of their making.
        var recorders: [SessionRecorder] = []
        var isClosed = false
        var isSweeping = false
        /// Lets go of finished recordings when their time has come.
        var sweeper: Task<Void, Never>?
    }

    private let state = Mutex(State())

    init(settings: RecordingSettings = RecordingSettings(), environment: SessionRecorder.Environment = .system) {
        self.settings = settings
        self.environment = environment
    }

    deinit { state.withLock { $0.sweeper }?.cancel() }

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
            id: id, pictureRate: pictureRate, hasSound: hasSound, settings: settings, environment: environment,
            onFinish: { [weak self] in self?.startSweeping() })
        let before = state.withLock { state in
            let before = state.recorders
            state.recorders.removeAll { $0.id == id }
            state.recorders.append(recorder)
            return before
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
    /// are too large. Happens by itself.
    func sweep() {
        let now = environment.now()
        state.withLock { state in
            state.recorders.removeAll { recorder in
                recorder.finishedAt.map { now.nanoseconds(since: $0) >= Int64(settings.finishedSeconds * 1e9) } ?? false
            }
            var bytes = state.recorders.reduce(0) { $0 + $1.byteCount }
            while bytes > settings.libraryBytes, let oldest = state.recorders.firstIndex(where: { $0.finishedAt != nil }) {
                bytes -= state.recorders.remove(at: oldest).byteCount
            }
        }
    }

    /// Finishes what goes on and forgets everything.
    func close() {
        let (recorders, sweeper) = state.withLock { state in
            state.isClosed = true
            defer { state.recorders.removeAll() }
            return (state.recorders, state.sweeper.take())
        }
        sweeper?.cancel()
        for recorder in recorders { recorder.finish() }
    }

    var recordingCount: Int { state.withLock { $0.recorders.count } }

    private func recorder(_ id: String) -> SessionRecorder? {
        sweep()
        let id = id.lowercased()
        return state.withLock { state in state.recorders.first { $0.id == id } }
    }

    private func startSweeping() {
        let starts = state.withLock { state in
            defer { state.isSweeping = true }
            return !state.isSweeping && !state.isClosed
        }
        guard starts else { return }
        let sweeper = Task.detached(priority: .utility) { [weak self, environment] in
            repeat {
                do { try await environment.sleep(Self.sweepInterval) } catch { return }
            } while self?.sweepAndGoOn() ?? false
        }
        let isLate = state.withLock { state in
            if !state.isClosed, state.isSweeping { state.sweeper = sweeper }
            return state.isClosed
        }
        if isLate { sweeper.cancel() }
    }

    /// False when there is nothing to come back for.
    private func sweepAndGoOn() -> Bool {
        sweep()
        return state.withLock { state in
            let goesOn = !state.isClosed && state.recorders.contains { $0.finishedAt != nil }
            if !goesOn {
                state.isSweeping = false
                state.sweeper = nil
            }
            return goesOn
        }
    }

    /// The vendor's.
    private static let sweepInterval = Duration.seconds(30)
}

extension SessionRecorder.Environment {
    static let system = SessionRecorder.Environment(
        now: { NetworkThread.now() },
        unixMilliseconds: { Int64(Date().timeIntervalSince1970 * 1000) },
        schedule: { RecordingWorker.shared.schedule($0) }, sleep: { try await Task.sleep(for: $0) })
}
