import Testing

@testable import ReactorTesting

@Suite("ChunkStore")
struct ChunkStoreTests {
    private static func store(chunks: Int, settings: RecordingSettings = RecordingSettings(), bytes: Int = 10) -> ChunkStore {
        var store = ChunkStore(id: "abc", settings: settings)
        store.setInitSegment([1, 2, 3])
        for index in 0..<chunks { store.append([UInt8](repeating: UInt8(index & 255), count: bytes), upTo: (index + 1) * 120) }
        return store
    }

    private static func names(_ lookup: ChunkStore.Lookup) -> [String]? {
        guard case .playlist(let text) = lookup else { return nil }
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { String($0.split(separator: "/").last ?? "") }
    }

    @Test("HLS-01 HLS-10 wire 2.9: the playlist has the captured shape, the init section first, and an end")
    func captured() throws {
        guard case .playlist(let text) = Self.store(chunks: 3).lookup(start: 1.3, end: 4.3) else {
            Issue.record("no playlist")
            return
        }
        #expect(
            text == """
                #EXTM3U
                #EXT-X-VERSION:7
                #EXT-X-TARGETDURATION:4
                #EXT-X-PLAYLIST-TYPE:VOD
                #EXT-X-MAP:URI="/clips/chunks/abc/init.mp4"
                #EXTINF:4.000,
                /clips/chunks/abc/chunk_00000.m4s
                #EXTINF:4.000,
                /clips/chunks/abc/chunk_00001.m4s
                #EXT-X-ENDLIST

                """)
    }

    @Test("wire 3.4: a range has the chunks floor(start/4) to ceil(end/4)-1")
    func indexRules() {
        let store = Self.store(chunks: 10)
        for start in stride(from: 0.0, to: 39.5, by: 0.1) {
            for length in [0.034, 0.5, 3.9, 4, 4.1, 8, 12.3] where start + length <= 40 {
                let first = Int(start / 4 + 1e-4)
                let last = Int(((start + length) / 4 - 1e-4).rounded(.up)) - 1
                let expected = (first...max(first, last)).map { "chunk_0000\($0).m4s" }
                #expect(Self.names(store.lookup(start: start, end: start + length)) == expected, "\(start) + \(length)")
            }
        }
    }

    @Test("markers of three decimals name the slots that they were made of")
    func markers() {
        for slot in 0..<20_000 {
            let text = ClipMarker.text(RecordingGrid.seconds(slot))
            let seconds = Double(text) ?? -1
            #expect(RecordingGrid.slot(from: seconds) == slot && RecordingGrid.slot(upTo: seconds) == slot, "\(text)")
        }
        #expect(ClipMarker.text(3.4) == "3.400" && ClipMarker.text(0) == "0.000" && ClipMarker.text(.nan) == "0.000")
        #expect(ClipMarker.playlistURL(id: "a-b", start: 3.4, end: 6.4) == "/clips?session_id=a-b&start=3.400&end=6.400")
        #expect(ClipMarker.urlPart("ü a/é?") == "%C3%BC%20a%2F%C3%A9%3F")
    }

    @Test("row 21: what is open is not there yet; when the recording has ended nothing stays open")
    func openAndFinished() {
        var store = Self.store(chunks: 2)
        #expect(store.lookup(start: 7, end: 8.1) == .open(upTo: 243))
        #expect(store.lookup(start: 100, end: 101) == .open(upTo: 3030))
        store.finish()
        #expect(Self.names(store.lookup(start: 7, end: 8.1)) == ["chunk_00001.m4s"])
        #expect(store.lookup(start: 8, end: 9) == .gone)
        #expect(store.lookup(start: .infinity, end: .infinity) == .gone)
        #expect(store.lookup(start: 1e300, end: 1e301) == .gone)

        var empty = ChunkStore(id: "abc", settings: RecordingSettings())
        #expect(empty.lookup(start: 0, end: 1) == .open(upTo: 30))
        #expect(empty.segment("init.mp4") == .noSuchSegment)
        empty.finish()
        #expect(empty.lookup(start: 0, end: 1) == .gone)
    }

    @Test("the oldest chunks age out by time, and a range that is gone says so")
    func ageingByTime() {
        var settings = RecordingSettings()
        settings.retainedSeconds = 20
        settings.slackSeconds = 4
        let store = Self.store(chunks: 10, settings: settings)
        #expect(store.oldestSlot(now: 1200) == 600)
        #expect(store.lookup(start: 15.9, end: 24) == .gone)
        #expect(Self.names(store.lookup(start: 16, end: 24)) == ["chunk_00004.m4s", "chunk_00005.m4s"])
        #expect(store.segment("chunk_00003.m4s") == .unknownRecording)
        #expect(store.segment("chunk_00004.m4s") == .bytes([UInt8](repeating: 4, count: 10), isInit: false))
        #expect(store.segment("chunk_00010.m4s") == .noSuchSegment)
        #expect(store.byteCount == 6 * 10 + 3)
    }

    @Test("the oldest chunks age out by bytes; one always stays")
    func ageingByBytes() {
        var settings = RecordingSettings()
        settings.retainedBytes = 35
        #expect(Self.store(chunks: 10, settings: settings).byteCount == 33)
        #expect(Self.store(chunks: 10, settings: settings).oldestSlot(now: 1200) == 840)
        settings.retainedBytes = 1
        #expect(Self.names(Self.store(chunks: 10, settings: settings).lookup(start: 36, end: 40)) == ["chunk_00009.m4s"])
    }

    @Test(
        "a name that is none is no segment",
        arguments: [
            "", "init", "init.mp4 ", "chunk_0.m4s", "chunk_000000.m4s", "chunk_-0001.m4s", "chunk_+0001.m4s", "chunk_00001.mp4",
            "chunk_.m4s", "../init.mp4", "chunk_99999999999999999999.m4s", "chunk_ 0001.m4s", "chunk_0000١.m4s",
            "chunk_" + String(repeating: "0", count: 100_000) + ".m4s", "\0",
        ])
    func names(name: String) {
        #expect(Self.store(chunks: 3).segment(name) == .noSuchSegment)
    }
}
