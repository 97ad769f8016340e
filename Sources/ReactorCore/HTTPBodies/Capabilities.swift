/// What the model declares (wire-protocol 2.4, 6.1). The order of tracks is the order of m-lines, so it is kept.
package struct Capabilities: Hashable, Sendable {
    package var protocolVersion: String
    package var tracks: [DeclaredTrack]
    package var commands: [WireValue]
    /// Frames per second the model emits, when it says so.
    package var emissionFPS: Double?
    /// Names of entries left out: a kind or direction we do not know, or a name already declared.
    package var skippedTracks: [String]

    package init(tracks: [DeclaredTrack]) {
        self.protocolVersion = ""
        self.tracks = tracks
        self.commands = []
        self.skippedTracks = []
    }

    init(_ object: WireValue) throws(WireFormatError) {
        protocolVersion = try object.optionalString("protocol_version") ?? ""
        commands = try object.optionalList("commands") ?? []
        emissionFPS = try object.optionalNumber("emission_fps")
        tracks = []
        skippedTracks = []
        let entries = try object.optionalList("tracks") ?? []
        guard entries.count <= Self.maxTracks else { throw .tooManyValues }
        var names: Set<String> = []
        for entry in entries {
            let name = try entry.requiredString("name")
            guard let kind = DeclaredTrack.Kind(rawValue: try entry.requiredString("kind")),
                let direction = DeclaredTrack.Direction(rawValue: try entry.requiredString("direction")),
                names.insert(name).inserted
            else {
                skippedTracks.append(name)
                continue
            }
            tracks.append(DeclaredTrack(name: name, kind: kind, direction: direction))
        }
    }

    /// One m-line each; the SDP parser stops at 128 sections, and the data section is one of them.
    private static let maxTracks = 127
}

/// One declared track, seen from the client: `recvonly` is model output.
package struct DeclaredTrack: Hashable, Sendable {
    package var name: String
    package var kind: Kind
    package var direction: Direction

    package enum Kind: String, Sendable { case video, audio }
    package enum Direction: String, Sendable { case recvonly, sendonly }

    package init(name: String, kind: Kind, direction: Direction) {
        self.name = name
        self.kind = kind
        self.direction = direction
    }
}
