private import CLinux
package import RTCTransport

#if canImport(Glibc)
    // Where the compiler finds pthread_attr_t's initializer on Linux.
    private import CDispatch
    private import Glibc
#elseif canImport(Darwin)
    private import Darwin
#endif

/// A named thread that runs one body and ends with it. Nothing joins it: a worker is told to stop and goes by itself.
package enum WorkerThread {
    /// False when the system refuses another thread. Without an urgency the thread is an ordinary one.
    package static func start(name: String, urgency: ThreadUrgency? = nil, _ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // Codecs want more than the 512 KiB some systems give to secondary threads.
        pthread_attr_setstacksize(&attributes, 2 << 20)
        let box = Unmanaged.passRetained(WorkerBody(name: name, urgency: urgency, body: body))
        #if canImport(Darwin)
            var thread: pthread_t?
            let status = pthread_create(
                &thread, &attributes,
                { raw in
                    runWorker(raw)
                    return nil
                }, box.toOpaque())
        #else
            var thread = pthread_t()
            let status = pthread_create(
                &thread, &attributes,
                { raw in
                    if let raw { runWorker(raw) }
                    return nil
                }, box.toOpaque())
        #endif
        if status != 0 { box.release() }
        return status == 0
    }
}

/// What a new thread is told; it takes the reference over.
private final class WorkerBody: Sendable {
    let name: String
    let urgency: ThreadUrgency?
    let body: @Sendable () -> Void
    init(name: String, urgency: ThreadUrgency?, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.urgency = urgency
        self.body = body
    }
}

private func runWorker(_ raw: UnsafeMutableRawPointer) {
    do {
        let work = Unmanaged<WorkerBody>.fromOpaque(raw).takeRetainedValue()
        ThreadName.set(work.name)
        work.urgency?.take()
        work.body()
    }
    // A stream has ended, and with it decoders and pools of pictures: that memory is not kept for the next one.
    clinux_trim_heap()
}
