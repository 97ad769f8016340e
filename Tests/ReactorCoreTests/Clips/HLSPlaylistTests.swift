import Testing

@testable import ReactorCore

@Suite struct HLSPlaylistTests {
    private typealias Resource = HLSPlaylist.Resource
    private typealias ByteRange = HLSPlaylist.ByteRange

    private func failure(_ text: String) -> HLSPlaylist.Failure? {
        do throws(HLSPlaylist.Failure) {
            _ = try HLSPlaylist(parsing: text)
            return nil
        } catch {
            return error
        }
    }

    @Test("§2.9 a real playlist, with either kind of line ending", arguments: ["\n", "\r\n"])
    func real(_ ending: String) throws {
        let lines = [
            "#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:4", "#EXT-X-PLAYLIST-TYPE:VOD",
            "#EXT-X-MAP:URI=\"/clips/chunks/r/init.mp4\"",
            "#EXTINF:4.000,", "/clips/chunks/r/chunk_00000.m4s", "", "#EXTINF:4.000,", "/clips/chunks/r/chunk_00001.m4s", "#EXT-X-ENDLIST",
            "",
        ]
        let playlist = try HLSPlaylist(parsing: lines.joined(separator: ending))
        let initialization = Resource(uri: "/clips/chunks/r/init.mp4")
        #expect(
            playlist.segments == [
                .init(resource: Resource(uri: "/clips/chunks/r/chunk_00000.m4s"), initialization: initialization, number: 0),
                .init(resource: Resource(uri: "/clips/chunks/r/chunk_00001.m4s"), initialization: initialization, number: 1),
            ])
        #expect(playlist.isComplete && playlist.targetDurationSeconds == 4)
    }

    @Test("HLS-03 BYTERANGE before or after EXTINF; without an offset it goes on where the same resource ended")
    func byteRanges() throws {
        let text = """
            #EXTM3U
            #EXT-X-MAP:URI="all.mp4",BYTERANGE="700@0"
            #EXT-X-BYTERANGE:100@1000
            #EXTINF:4,
            all.mp4
            #EXTINF:4,
            #EXT-X-BYTERANGE:50
            all.mp4
            #EXTINF:4,
            #EXT-X-BYTERANGE:30
            other.mp4
            #EXTINF:4,
            #EXT-X-BYTERANGE:20
            all.mp4
            #EXTINF:4,
            all.mp4
            #EXT-X-ENDLIST
            """
        let segments = try HLSPlaylist(parsing: text).segments
        #expect(
            segments.map(\.resource.range) == [
                ByteRange(offset: 1000, length: 100), ByteRange(offset: 1100, length: 50), ByteRange(offset: 0, length: 30),
                ByteRange(offset: 1150, length: 20), nil,
            ])
        #expect(segments.allSatisfy { $0.initialization?.range == ByteRange(offset: 0, length: 700) })
        #expect(segments[0].resource.range?.headerValue == "bytes=1000-1099")
    }

    @Test("HLS-05 the map in force is the last one before a segment")
    func changedMap() throws {
        let text = "#EXTM3U\n#EXT-X-MAP:URI=\"a\"\n1.m4s\n2.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:X=1, URI=\"b,c\"\n3.m4s\n#EXT-X-ENDLIST"
        #expect(try HLSPlaylist(parsing: text).segments.map(\.initialization?.uri) == ["a", "a", "b,c"])
    }

    @Test("HLS-10 numbers count from the media sequence; only ENDLIST or type VOD says that nothing follows")
    func numbers() throws {
        let playlist = try HLSPlaylist(parsing: "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:41\na.ts\nb.ts\n")
        #expect(playlist.segments.map(\.number) == [41, 42] && !playlist.isComplete)
        #expect(try HLSPlaylist(parsing: "#EXTM3U\n#EXT-X-PLAYLIST-TYPE:VOD\na.ts").isComplete)
        #expect(try !HLSPlaylist(parsing: "#EXTM3U\n#EXT-X-PLAYLIST-TYPE:EVENT\na.ts").isComplete)
    }

    @Test("X-14 no segments, and fragments without an init segment, are errors")
    func unusable() {
        #expect(failure("#EXTM3U\n#EXT-X-MAP:URI=\"i.mp4\"\n#EXT-X-ENDLIST") == .noSegments)
        for name in ["a.m4s", "a.mp4?x=y", "a.m4a", "a.m4v#f"] { #expect(failure("#EXTM3U\n\(name)") == .noInitialization) }
        #expect(failure("#EXTM3U\na.ts?name=a.m4s") == nil)
        #expect(failure("#EXTM3U\n#EXT-X-MAP:BYTERANGE=\"5@0\"\na.m4s") == .noInitialization)
    }

    @Test("what is no media playlist is told apart")
    func others() {
        #expect(failure("") == .notAPlaylist)
        #expect(failure("<html>busy</html>\n") == .notAPlaylist)
        #expect(failure("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8") == .variants)
        #expect(failure("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\na.ts") == .encrypted)
        #expect(failure("#EXTM3U\n#EXT-X-KEY:METHOD=NONE\na.ts") == nil)
        #expect(failure("\u{FEFF}#EXTM3U\na.ts") == nil)
    }

    @Test(
        "numbers out of range are refused, not trapped on",
        arguments: [
            "#EXT-X-BYTERANGE:0", "#EXT-X-BYTERANGE:-5@3", "#EXT-X-BYTERANGE:5@-3", "#EXT-X-BYTERANGE:5@3@1", "#EXT-X-BYTERANGE:x",
            "#EXT-X-BYTERANGE:\(Int.max)@1", "#EXT-X-MEDIA-SEQUENCE:\(Int.max)", "#EXT-X-MEDIA-SEQUENCE:-1", "#EXT-X-MEDIA-SEQUENCE:1e3",
        ])
    func ranges(_ tag: String) {
        #expect([.badByteRange, .badSequence].contains(failure("#EXTM3U\n\(tag)\na.ts")))
    }
}
