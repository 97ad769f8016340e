// The HTTP thread: the only file that calls libcurl. In come calls (a request and a waiting task), out go answers or
// HTTPErrors. One libcurl multi handle on one thread of the process serves all clients, so they share kept-alive
// connections; the thread starts with the first request, sleeps in curl_multi_poll, and drops idle connections after a
// few seconds so that nothing is held for clients that are gone. Left out: redirects (HTTPClient); streamed bodies pause and
// resume a transfer here and live in BodyStreams.swift.

import CCurl
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

final class HTTPThread: Sendable {
    static let shared = HTTPThread()

    private let inbox = Mutex(Inbox())

    /// What other threads leave for the HTTP thread.
    private struct Inbox {
        var isRunning = false
        /// Calls handed in and not yet finished or dropped by the thread; bounds everything here.
        var callCount = 0
        var starts: [HTTPCall] = []
        var cancels: [HTTPCall] = []
        /// Paused transfers that can go on; at most one entry for each pause.
        var resumes: [HTTPCall] = []
        var closesIdleConnections = false
        /// Here so that a wake-up never meets a handle being replaced.
        var multi: MultiHandle?

        func wake() { if let multi { curl_multi_wakeup(multi.pointer) } }
    }

    private init() { _ = reactor_curl_global_init() }

    // MARK: - From any thread

    /// Takes a call over; its continuation is resumed exactly once, whatever happens.
    func start(_ call: HTTPCall) {
        let refusal: HTTPError? = inbox.withLock { inbox in
            guard inbox.callCount < maxCalls else { return HTTPError(.overloaded, "more than \(maxCalls) HTTP requests at once") }
            if !inbox.isRunning {
                inbox.multi = inbox.multi ?? MultiHandle()
                guard inbox.multi != nil else { return HTTPError(.internalFailure, "curl_multi_init failed") }
                let code = startHTTPThread()
                guard code == 0 else { return HTTPError(.internalFailure, "pthread_create failed with code \(code)") }
                inbox.isRunning = true
            }
            inbox.callCount += 1
            inbox.starts.append(call)
            inbox.wake()
            return nil
        }
        if let refusal { call.finish(.failure(refusal)) }
    }

    /// Ends the transfer of a call whose task no longer waits.
    func cancel(_ call: HTTPCall) {
        inbox.withLock { inbox in
            guard inbox.isRunning else { return }
            inbox.cancels.append(call)
            inbox.wake()
        }
    }

    /// Continues a transfer that its streamed body had paused.
    func resume(_ call: HTTPCall) {
        inbox.withLock { inbox in
            guard inbox.isRunning else { return }
            inbox.resumes.append(call)
            inbox.wake()
        }
    }

    /// Closes kept-alive connections as soon as no transfer runs, instead of after the linger time.
    func closeIdleConnections() {
        inbox.withLock { inbox in
            guard inbox.isRunning else { return }
            inbox.closesIdleConnections = true
            inbox.wake()
        }
    }

    // MARK: - On the HTTP thread

    fileprivate func run() {
        var transfers: [ObjectIdentifier: CurlTransfer] = [:]
        var idleSince: ContinuousClock.Instant?
        while let multi = inbox.withLock({ $0.multi }) {
            takeInbox(into: &transfers, multi)
            var running: Int32 = 0
            curl_multi_perform(multi.pointer, &running)
            finishDone(&transfers, multi)

            var waitMilliseconds: Int32 = 60_000
            if !transfers.isEmpty {
                idleSince = .now
            } else if let since = idleSince {
                let left = lingerMilliseconds - since.milliseconds(until: .now)
                if left <= 0 || inbox.withLock({ $0.closesIdleConnections }) {
                    if replaceMulti(multi) { idleSince = nil }
                    continue
                }
                waitMilliseconds = left
            } else {
                waitMilliseconds = .max
            }
            // Returns early on a wake-up, on traffic, and when one of libcurl's own time limits is due.
            if curl_multi_poll(multi.pointer, nil, 0, waitMilliseconds, nil) != CURLM_OK { usleep(1000) }
        }
    }

    private func takeInbox(into transfers: inout [ObjectIdentifier: CurlTransfer], _ multi: MultiHandle) {
        let (starts, cancels, resumes) = inbox.withLock { inbox in
            if !inbox.starts.isEmpty { inbox.closesIdleConnections = false }
            defer {
                inbox.starts.removeAll(keepingCapacity: true)
                inbox.cancels.removeAll(keepingCapacity: true)
                inbox.resumes.removeAll(keepingCapacity: true)
            }
            return (inbox.starts, inbox.cancels, inbox.resumes)
        }
        for call in cancels {
            // A call cancelled before it was started is unknown here, and is skipped below.
            guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(call)) else { continue }
            curl_multi_remove_handle(multi.pointer, transfer.easy)
            forget()
        }
        for call in resumes { transfers[ObjectIdentifier(call)]?.resume() }
        for call in starts {
            guard call.isWaiting else {
                forget()
                continue
            }
            do throws(HTTPError) {
                let transfer = try CurlTransfer(call)
                let code = curl_multi_add_handle(multi.pointer, transfer.easy)
                guard code == CURLM_OK else { throw HTTPError(.internalFailure, "curl_multi_add_handle failed with code \(code.rawValue)") }
                transfers[ObjectIdentifier(call)] = transfer
            } catch {
                forget()
                call.finish(.failure(error))
            }
        }
    }

    private func finishDone(_ transfers: inout [ObjectIdentifier: CurlTransfer], _ multi: MultiHandle) {
        var code = CURLE_OK
        while let easy = reactor_curl_multi_next_done(multi.pointer, &code) {
            curl_multi_remove_handle(multi.pointer, easy)
            guard let user = reactor_curl_private(easy) else { continue }
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(user).takeUnretainedValue()
            transfers[ObjectIdentifier(transfer.call)] = nil
            forget()
            transfer.call.finish(transfer.result(code))
        }
    }

    private func forget() { inbox.withLock { $0.callCount -= 1 } }

    /// libcurl closes kept-alive connections only with their multi handle. False when work came in meanwhile.
    private func replaceMulti(_ old: MultiHandle) -> Bool {
        guard let fresh = MultiHandle() else { return true }
        let replaced = inbox.withLock { inbox in
            inbox.closesIdleConnections = false
            guard inbox.starts.isEmpty else { return false }
            inbox.multi = fresh
            return true
        }
        (replaced ? old : fresh).close()
        return replaced
    }

    /// Far above what sessions need; a caller that loops without waiting meets it before memory ends.
    private let maxCalls = 1024
    /// Long enough for the pauses between the steps of connecting, shorter than the usual server's keep-alive (5 s), so that
    /// a connection is rarely found dead.
    private let lingerMilliseconds: Int32 = 3000
}

/// A libcurl multi handle. Only the HTTP thread uses and closes it; other threads call the one function libcurl allows
/// them, `curl_multi_wakeup`, under the inbox lock, which also guards the replacement.
private struct MultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    init?() {
        guard let pointer = curl_multi_init() else { return nil }
        self.pointer = pointer
        // Connections of the whole process, busy ones included: with more than this many busy, libcurl closes each one as it
        // becomes idle, and every request pays for a new connection (measured: a limit of 4 cost one of our polls up to 138
        // connections in a thousand requests, 32 still 3, beside some fifty other transfers).
        _ = reactor_curl_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, 256)
    }

    func close() { curl_multi_cleanup(pointer) }
}

private func startHTTPThread() -> Int32 {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    #if canImport(Darwin)
        var thread: pthread_t?
    #else
        var thread = pthread_t()
    #endif
    return pthread_create(
        &thread, &attributes,
        { _ in
            reactor_thread_set_name("reactor-http")
            // Signals are the app's; a broken pipe in a TLS write must not become one either.
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_BLOCK, &all, nil)
            HTTPThread.shared.run()
            return nil
        }, nil)
}

extension ContinuousClock.Instant {
    fileprivate func milliseconds(until later: ContinuousClock.Instant) -> Int32 {
        Int32(clamping: duration(to: later).wholeMilliseconds)
    }
}
