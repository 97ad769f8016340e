// The media playlist of a clip (RFC 8216; wire-protocol 2.9). In: its text. Out: segments in order, each with the part that
// has to be written before it. Left out: variants, encryption, discontinuities beyond a changed initialization section.

/// What a clip's playlist lists.
package struct HLSPlaylist: Hashable, Sendable {
    package var segments: [Segment] = []
    package var targetDurationSeconds = 0.0
    /// Nothing will be added: `EXT-X-ENDLIST`, or a playlist of type VOD.
    package var isComplete = false

    package struct Segment: Hashable, Sendable {
        package var resource: Resource
        /// The `EXT-X-MAP` in force (RFC 8216 §4.3.2.5).
        package var initialization: Resource?
        /// Media sequence number: the same segment has the same number in every reload.
        package var number: Int
    }

    package struct Resource: Hashable, Sendable {
        /// As written: to be resolved against the playlist's URL.
        package var uri: String
        package var range: ByteRange?
    }

    /// `EXT-X-BYTERANGE`.
    package struct ByteRange: Hashable, Sendable {
        package var offset: Int
        package var length: Int

        /// The value of a `Range` header.
        package var headerValue: String { "bytes=\(offset)-\(offset + length - 1)" }
    }

    /// Why a playlist cannot be downloaded.
    package enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        case notAPlaylist
        case variants
        case encrypted
        case noSegments
        case noInitialization
        case badByteRange
        case badSequence
        case tooManySegments

        package var description: String {
            switch self {
            case .notAPlaylist: "it does not begin with #EXTM3U"
            case .variants: "it lists other playlists"
            case .encrypted: "its segments are encrypted"
            case .noSegments: "it has no segments"
            case .noInitialization: "it has fragments and no initialization section"
            case .badByteRange: "a byte range cannot be read"
            case .badSequence: "its media sequence number cannot be read"
            case .tooManySegments: "it has more than \(HLSPlaylist.maxSegments) segments"
            }
        }
    }

    package init(parsing text: String) throws(Failure) {
        var parser = Parser()
        var isFirst = true
        for line in text.split(whereSeparator: { $0.isNewline }) {
            let line = line.trimmingSpace()
            if isFirst {
                guard line.drop(while: { $0 == "\u{FEFF}" }).hasPrefix("#EXTM3U") else { throw .notAPlaylist }
                isFirst = false
            } else if !line.isEmpty {
                try parser.take(line)
            }
        }
        guard !isFirst else { throw .notAPlaylist }
        guard !parser.playlist.segments.isEmpty else { throw .noSegments }
        self = parser.playlist
    }

    private init() {}

    private struct Parser {
        var playlist = HLSPlaylist()
        /// The map that applies to the segments that follow.
        private var map: Resource?
        /// `EXT-X-BYTERANGE` of the next segment; tags come in any order before the URI.
        private var range: (length: Int, offset: Int?)?
        /// Where the last range of a resource ended.
        private var ends: [String: Int] = [:]
        private var firstNumber = 0

        mutating func take(_ line: Substring) throws(Failure) {
            guard line.hasPrefix("#") else { return try takeSegment(String(line)) }
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst()
            switch line[..<colon] {
            case "#EXT-X-MAP": try takeMap(value)
            case "#EXT-X-BYTERANGE": range = try parseRange(value)
            case "#EXT-X-TARGETDURATION":
                if let seconds = Double(value), seconds.isFinite, seconds > 0 { playlist.targetDurationSeconds = seconds }
            case "#EXT-X-MEDIA-SEQUENCE":
                // Numbers are counted on from here, so it may not come near the end of what counts.
                guard let number = Int(value), (0...Int.max / 2).contains(number), playlist.segments.isEmpty else { throw .badSequence }
                firstNumber = number
            case "#EXT-X-ENDLIST": playlist.isComplete = true
            case "#EXT-X-PLAYLIST-TYPE": if value == "VOD" { playlist.isComplete = true }
            case "#EXT-X-STREAM-INF", "#EXT-X-I-FRAME-STREAM-INF": throw .variants
            case "#EXT-X-KEY": if !value.hasPrefix("METHOD=NONE") { throw .encrypted }
            default: break
            }
        }

        private mutating func takeSegment(_ uri: String) throws(Failure) {
            guard playlist.segments.count < HLSPlaylist.maxSegments else { throw .tooManySegments }
            if map == nil, Self.isFragment(uri) { throw .noInitialization }
            let number = firstNumber + playlist.segments.count
            let resource = Resource(uri: uri, range: try placed(range, in: uri))
            playlist.segments.append(Segment(resource: resource, initialization: map, number: number))
            range = nil
        }

        private mutating func takeMap(_ attributes: Substring) throws(Failure) {
            guard let uri = attribute("URI", of: attributes), !uri.isEmpty else { throw .noInitialization }
            let range = try attribute("BYTERANGE", of: attributes).map { text throws(Failure) in try parseRange(text[...]) }
            map = Resource(uri: uri, range: try placed(range, in: uri))
        }

        /// Without an offset a range begins where the one before in the same resource ended.
        private mutating func placed(_ range: (length: Int, offset: Int?)?, in uri: String) throws(Failure) -> ByteRange? {
            guard let range else { return nil }
            let offset = range.offset ?? ends[uri] ?? 0
            let (end, overflow) = offset.addingReportingOverflow(range.length)
            guard !overflow else { throw .badByteRange }
            ends[uri] = end
            return ByteRange(offset: offset, length: range.length)
        }

        /// `length[@offset]`.
        private func parseRange(_ text: Substring) throws(Failure) -> (length: Int, offset: Int?) {
            let parts = text.split(separator: "@", omittingEmptySubsequences: false)
            guard parts.count <= 2, let length = parts.first.flatMap({ Int($0) }), length > 0 else { throw .badByteRange }
            guard parts.count == 2 else { return (length, nil) }
            guard let offset = Int(parts[1]), offset >= 0 else { throw .badByteRange }
            return (length, offset)
        }

        /// One attribute of a list (RFC 8216 §4.2), without its quotes.
        private func attribute(_ name: String, of list: Substring) -> String? {
            var rest = list
            while !rest.isEmpty {
                guard let equals = rest.firstIndex(of: "=") else { return nil }
                let key = rest[..<equals].trimmingSpace()
                rest = rest[rest.index(after: equals)...]
                let value: Substring
                if rest.hasPrefix("\"") {
                    rest = rest.dropFirst()
                    guard let quote = rest.firstIndex(of: "\"") else { return nil }
                    value = rest[..<quote]
                    rest = rest[rest.index(after: quote)...]
                } else {
                    let comma = rest.firstIndex(of: ",") ?? rest.endIndex
                    value = rest[..<comma]
                    rest = rest[comma...]
                }
                if key == name { return String(value) }
                rest = rest.drop { $0 == "," || $0 == " " }
            }
            return nil
        }

        /// Fragmented MP4 by its name, which means nothing without its initialization section.
        private static func isFragment(_ uri: String) -> Bool {
            let path = uri.prefix { $0 != "?" && $0 != "#" }
            return [".m4s", ".mp4", ".m4a", ".m4v"].contains { path.hasSuffix($0) }
        }
    }

    /// A week of segments of 4 s; bounds what a playlist can cost.
    static let maxSegments = 151_200
}

extension Substring {
    fileprivate func trimmingSpace() -> Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
