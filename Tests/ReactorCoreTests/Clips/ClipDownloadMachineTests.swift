import Testing

@testable import ReactorCore

/// A machine with a clock of its own.
private struct Download {
    var machine: ClipDownloadMachine
    var now: Int64 = 0
    var url: String
    var isSessionAlive = true

    init(_ url: String = "http://h/clips?id=1", waitMilliseconds: Int64? = nil) {
        self.url = url
        machine = ClipDownloadMachine(playlistURL: url, waitMilliseconds: waitMilliseconds, nowMilliseconds: 0)
    }

    mutating func notReady(retryAfter: String? = nil) -> ClipDownloadMachine.Action {
        machine.playlistNotReady(retryAfter: retryAfter, isSessionAlive: isSessionAlive, nowMilliseconds: now)
    }

    mutating func arrived(_ lines: String...) -> ClipDownloadMachine.Action { arrived(lines) }

    mutating func arrived(_ lines: [String]) -> ClipDownloadMachine.Action {
        machine.playlistArrived(
            (["#EXTM3U"] + lines).joined(separator: "\n"), url: url, isSessionAlive: isSessionAlive, nowMilliseconds: now)
    }

    mutating func written() -> ClipDownloadMachine.Action { machine.partWritten(nowMilliseconds: now) }

    mutating func refused(_ status: Int) -> ClipDownloadMachine.Action {
        machine.partFailed(.status(CoreError.http(status: status, context: .fetchSegment, body: [])), nowMilliseconds: now)
    }

    /// Sleeps and asks in vain until it gives up; when that was, and why.
    mutating func waitInVain(retryAfter: String? = nil) -> (milliseconds: Int64, code: ErrorCode?) {
        while now < 1_000_000 {
            switch notReady(retryAfter: retryAfter) {
            case .wait(let milliseconds): now += milliseconds
            case .fail(let error): return (now, error.code)
            default: return (now, nil)
            }
        }
        return (now, nil)
    }

    /// Writes everything there is; the URLs in order and what came after them.
    mutating func writeAll(_ action: ClipDownloadMachine.Action) -> (urls: [String], last: ClipDownloadMachine.Action) {
        var action = action
        var urls: [String] = []
        while case .fetch(let part) = action {
            urls.append(part.url)
            action = written()
        }
        return (urls, action)
    }
}

extension ClipDownloadMachine.Action {
    fileprivate var url: String? { if case .fetch(let part) = self { part.url } else { nil } }
    fileprivate var code: ErrorCode? { if case .fail(let error) = self { error.code } else { nil } }
}

@Suite struct ClipDownloadMachineTests {
    private let end = "#EXT-X-ENDLIST"

    @Test(
        "X-14 202 means wait: Retry-After within 0.2 and 2 s, 2 s without one",
        arguments: [(nil, 2000), ("2", 2000), ("0.5", 500), ("0", 200), ("3600", 2000), ("soon", 2000), ("-1", 2000)] as [(String?, Int64)])
    func pause(_ retryAfter: String?, _ milliseconds: Int64) {
        var download = Download()
        #expect(download.machine.start() == .fetchPlaylist)
        #expect(download.notReady(retryAfter: retryAfter) == .wait(milliseconds: milliseconds))
        #expect(download.machine.waited() == .fetchPlaylist)
    }

    @Test("HLS-01 the init section first and once, then the segments, with progress that counts it")
    func order() {
        var download = Download()
        let first = download.arrived("#EXT-X-MAP:URI=\"/i.mp4\"", "/0.m4s", "/1.m4s", "/2.m4s", end)
        #expect(download.machine.done == 0 && download.machine.total == 4)
        let (urls, last) = download.writeAll(first)
        #expect(urls == ["http://h/i.mp4", "http://h/0.m4s", "http://h/1.m4s", "http://h/2.m4s"])
        #expect(last == .finish && download.machine.done == 4 && download.machine.total == 4)
        #expect(!download.machine.changedInitialization)
    }

    @Test("HLS-05 a changed init section is written again and told, the same one with another signature is not")
    func changedInitialization() {
        var download = Download()
        let first = download.arrived(
            "#EXT-X-MAP:URI=\"/a?sig=1\"", "/0.m4s", "#EXT-X-MAP:URI=\"/a?sig=2\"", "/1.m4s", "#EXT-X-DISCONTINUITY",
            "#EXT-X-MAP:URI=\"/b\"", "/2.m4s", "/3.m4s", end)
        let (urls, last) = download.writeAll(first)
        #expect(urls == ["/a?sig=1", "/0.m4s", "/1.m4s", "/b", "/2.m4s", "/3.m4s"].map { "http://h" + $0 })
        #expect(last == .finish && download.machine.changedInitialization)
    }

    @Test("HLS-07 a refused segment: the playlist again, the same segment with its new URL, nothing twice; three times at most")
    func expiredURLs() {
        var download = Download()
        func playlist(_ sign: Int) -> [String] {
            ["#EXT-X-MAP:URI=\"/i?s=\(sign)\""] + (0..<5).map { "/\($0).m4s?s=\(sign)" } + [end]
        }
        var action = download.arrived(playlist(1))
        for _ in 0..<4 { action = download.written() }
        #expect(action.url == "http://h/3.m4s?s=1")
        #expect(download.refused(403) == .fetchPlaylist)
        #expect(download.arrived(playlist(2)).url == "http://h/3.m4s?s=2")
        #expect(download.machine.done == 4 && download.machine.total == 6)
        #expect(download.refused(401) == .fetchPlaylist)
        #expect(download.arrived(playlist(3)).url == "http://h/3.m4s?s=3")
        #expect(download.refused(403) == .fetchPlaylist)
        #expect(download.arrived(playlist(4)).url == "http://h/3.m4s?s=4")
        #expect(download.refused(403).code == .unauthorized)
    }

    @Test("HLS-07 the init section refused: it is asked for again")
    func expiredInitialization() {
        var download = Download()
        _ = download.arrived("#EXT-X-MAP:URI=\"/i?s=1\"", "/0.m4s", end)
        #expect(download.refused(403) == .fetchPlaylist)
        let (urls, last) = download.writeAll(download.arrived("#EXT-X-MAP:URI=\"/i?s=2\"", "/0.m4s", end))
        #expect(urls == ["http://h/i?s=2", "http://h/0.m4s"] && last == .finish)
    }

    @Test("HLS-09, R-53 without a limit a clip that is late is waited for as long as the session lives")
    func patience() {
        var download = Download()
        #expect(download.waitInVain().milliseconds >= 1_000_000)
        #expect(download.machine.waits == 500)
    }

    @Test("R-53, X-15 when the session is gone the wait ends: SESSION_TERMINAL, after a moment for the recording to be closed")
    func sessionGone() {
        var download = Download()
        _ = download.notReady()
        download.now = 60_000
        download.isSessionAlive = false
        let (end, code) = download.waitInVain(retryAfter: "1")
        #expect(code == .sessionTerminal && (65_000...66_000).contains(end))
    }

    @Test("R-53 a session that comes back is waited for again")
    func sessionBack() {
        var download = Download()
        download.isSessionAlive = false
        _ = download.notReady()
        download.isSessionAlive = true
        download.now = 10_000
        _ = download.notReady()
        download.isSessionAlive = false
        download.now = 12_000
        #expect(download.notReady() == .wait(milliseconds: 2000))
    }

    @Test("X-15 the limit expires with REQUEST_TIMEOUT, to the millisecond, after one last try")
    func deadline() {
        var download = Download(waitMilliseconds: 5000)
        let (end, code) = download.waitInVain()
        #expect(end == 5000 && code == .requestTimeout)
    }

    @Test("R-52 the limit counts from the predicted moment; nil is no limit; nothing overflows")
    func prediction() {
        func wait(_ predicted: Double?, _ timeout: Int64?) -> Int64? {
            ClipDownloadMachine.waitMilliseconds(
                predictedReadyAtMilliseconds: predicted, wallClockMilliseconds: 1_000_000, readyTimeoutMilliseconds: timeout)
        }
        #expect(wait(1_003_000, 5000) == 8000)
        #expect(wait(900_000, 5000) == 5000)
        #expect(wait(nil, 5000) == 5000)
        #expect(wait(1_003_000, nil) == nil)
        #expect(wait(.nan, 5000) == 5000 && wait(.infinity, 5000) == 5000)
        #expect(wait(1e300, .max) == .max && wait(1e300, -5) == 1_000_000_000_000_000)
    }

    @Test("HLS-10 a playlist that grows: reloaded at its target duration, only new segments, until ENDLIST")
    func growing() {
        var download = Download()
        let map = "#EXT-X-MAP:URI=\"/i\""
        var (urls, action) = download.writeAll(download.arrived("#EXT-X-TARGETDURATION:4", map, "/0.m4s", "/1.m4s"))
        #expect(urls.count == 3 && action == .wait(milliseconds: 4000))
        #expect(download.machine.waited() == .fetchPlaylist)
        #expect(download.arrived("#EXT-X-TARGETDURATION:4", map, "/0.m4s", "/1.m4s") == .wait(milliseconds: 2000))
        (urls, action) = download.writeAll(
            download.arrived("#EXT-X-MEDIA-SEQUENCE:1", "#EXT-X-TARGETDURATION:4", map, "/1.m4s", "/2.m4s"))
        #expect(urls == ["http://h/2.m4s"] && action == .wait(milliseconds: 4000))
        (urls, action) = download.writeAll(download.arrived("#EXT-X-MEDIA-SEQUENCE:2", map, "/2.m4s", "/3.m4s", end))
        #expect(urls == ["http://h/3.m4s"] && action == .finish)
    }

    @Test("HLS-10 a window that moved on is an error, and so is a playlist that never ends")
    func gap() {
        var download = Download()
        _ = download.writeAll(download.arrived("/0.ts", "/1.ts"))
        #expect(download.arrived("#EXT-X-MEDIA-SEQUENCE:3", "/3.ts").code == .decodeFailed)

        var stuck = Download()
        _ = stuck.writeAll(stuck.arrived("/0.ts"))
        var reloads = 0
        var action = ClipDownloadMachine.Action.fetchPlaylist
        while action.code == nil, reloads < 1000 {
            action = stuck.arrived("/0.ts")
            reloads += 1
        }
        #expect(action.code == .requestTimeout && reloads == 21)
    }

    @Test("X-14 the token goes to the playlist's own host and port, over its own scheme, and nowhere else")
    func token() {
        var download = Download("https://api:8443/clips")
        var action = download.arrived(
            "#EXT-X-MAP:URI=\"/i.mp4\"", "https://API:8443/0.m4s", "https://api/1.m4s", "http://api:8443/2.m4s", "https://cdn:8443/3.m4s",
            end)
        var sends: [Bool] = []
        while case .fetch(let part) = action {
            sends.append(part.sendsToken)
            action = download.written()
        }
        #expect(sends == [true, true, false, false, false])
    }

    @Test("X-14 after a redirect parts are relative to where the playlist was, and that place gets no token")
    func redirected() {
        var download = Download("https://api/clips")
        download.url = "https://cdn/x/list"
        guard case .fetch(let part) = download.arrived("a.ts", end) else {
            Issue.record("nothing to fetch")
            return
        }
        #expect(part.url == "https://cdn/x/a.ts" && !part.sendsToken)
    }

    @Test(
        "a part that is no http URL fails the download before anything is written",
        arguments: ["file:///etc/passwd", "ftp://h/a.ts", "http://u:p@h/a.ts"])
    func foreignPart(_ uri: String) {
        var download = Download()
        #expect(download.arrived("a.ts", uri, end).code == .decodeFailed)
    }

    @Test("a playlist URL without a host is an error at once", arguments: ["", "/clips", "ftp://h/x", "http://u@h/x"])
    func badURL(_ url: String) { #expect(Download(url).machine.start().code == .decodeFailed) }

    @Test("a broken connection is tried again a few times, a refusal is final")
    func interruptions() {
        var download = Download()
        let first = download.arrived("a.ts", "b.ts", end)
        let lost = ClipDownloadMachine.PartFailure.interrupted(CoreError(.networkError, "gone"))
        for _ in 0..<3 {
            #expect(download.machine.partFailed(lost, nowMilliseconds: 0) == .wait(milliseconds: 500))
            #expect(download.machine.waited() == first)
        }
        #expect(download.machine.partFailed(lost, nowMilliseconds: 0).code == .networkError)

        var refused = Download()
        _ = refused.arrived("a.ts", end)
        #expect(refused.refused(404).code == .notFound)
        #expect(refused.refused(410).code == .badRequest)
        var busy = Download()
        _ = busy.arrived("a.ts", end)
        #expect(busy.refused(503) == .wait(milliseconds: 2000))
    }
}

@Suite struct MIMETypeTests {
    @Test("§2.8 a type from the extension, and octet-stream when it says nothing")
    func guess() {
        #expect(MIMEType.guess(fileName: "photo.PNG") == "image/png")
        #expect(MIMEType.guess(fileName: "a.b.jpeg") == "image/jpeg")
        for name in ["", "x", "x.", "x.unknown", ".", "png"] { #expect(MIMEType.guess(fileName: name) == "application/octet-stream") }
    }

    @Test("a type that a header cannot carry is not usable")
    func usable() {
        #expect(MIMEType.isUsable("image/png") && MIMEType.isUsable("text/plain; charset=utf-8"))
        for type in ["", "png", "/png", "image/", "image/png\r\nX: y", "bild/ä", "a/" + String(repeating: "b", count: 300)] {
            #expect(!MIMEType.isUsable(type), "\(type)")
        }
    }
}
