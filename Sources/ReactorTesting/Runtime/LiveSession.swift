internal import Reactor

/// What the runtime's core keeps of its running session; used on the core's thread only.
final class LiveSession {
    let tracks: [LocalTrack]
    let media: SessionMedia
    let recorder: SessionRecorder?
    /// The model's handle.
    let handle: LocalSession
    /// `LocalModel.run(in:)`, from the first open connection on.
    var run: Task<Void, Never>?
    /// Commands being carried out, also of connections that are gone; each entry goes when its task ends.
    var commandTasks: [ConnectionKey: Task<Void, Never>] = [:]

    init(tracks: [LocalTrack], media: SessionMedia, recorder: SessionRecorder?, handle: LocalSession) {
        self.tracks = tracks
        self.media = media
        self.recorder = recorder
        self.handle = handle
    }

    /// The model hears that it is over; nobody waits for it.
    func end() {
        run?.cancel()
        for task in commandTasks.values { task.cancel() }
        commandTasks = [:]
        media.end()
    }
}
