/// The tracks a session declares, in declaration order; filterable, and iterated like an array.
///
/// ```swift
/// let output = try reactor.tracks.withDirection(.recvonly).withKind(.video).one()
/// ```
public struct TrackList: Sendable, RandomAccessCollection {
    public typealias Element = Track
    public typealias Index = Int

    private let tracks: [Track]

    init(_ tracks: [Track]) { self.tracks = tracks }

    /// The tracks of one kind, in the same order.
    public func withKind(_ kind: TrackKind) -> TrackList { TrackList(tracks.filter { $0.kind == kind }) }

    /// The tracks of one direction, in the same order.
    public func withDirection(_ direction: TrackDirection) -> TrackList {
        TrackList(tracks.filter { $0.direction == direction })
    }

    /// The only track in the list.
    /// - Throws: `ReactorError.notFound` when the list is empty, `.conflict` when it holds more than one; the message
    ///   names them.
    public func one() throws -> Track {
        guard let first = tracks.first else {
            throw ReactorError(.notFound, "no track matches; the session declares none like it (yet)", operation: "one")
        }
        guard tracks.count == 1 else {
            let names = tracks.map(\.name).joined(separator: ", ")
            throw ReactorError(.conflict, "\(tracks.count) tracks match (\(names)); ask for one by name", operation: "one")
        }
        return first
    }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of tracks.
    public var endIndex: Int { tracks.count }
    /// The track at a position.
    public subscript(position: Int) -> Track { tracks[position] }
    /// The track with a name, or `nil`.
    public subscript(name: String) -> Track? { tracks.first { $0.name == name } }
}
