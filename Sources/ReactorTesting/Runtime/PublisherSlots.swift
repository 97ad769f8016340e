/// Who sends which of the model's inputs: one connection per track, first come first served (wire-protocol 6.3). Pure.
struct PublisherSlots {
    private let names: Set<String>
    private var holders: [String: ConnectionKey] = [:]

    /// - Parameter tracks: the tracks that clients send; other names are refused (wire-protocol 12, 26).
    init(tracks: some Sequence<String>) { names = Set(tracks) }

    func holder(of track: String) -> ConnectionKey? { holders[track] }

    /// Nil when granted, otherwise why not. A claim of what one holds already is granted (wire-protocol 6.4).
    mutating func claim(_ track: String, by key: ConnectionKey) -> String? {
        guard names.contains(track) else { return "unknown track '\(track)'" }
        if let holder = holders[track], holder != key { return "track already published" }
        holders[track] = key
        return nil
    }

    /// Only the holder lets go; false for anybody else.
    mutating func release(_ track: String, by key: ConnectionKey) -> Bool {
        guard holders[track] == key else { return false }
        holders[track] = nil
        return true
    }

    /// The connection is gone.
    mutating func releaseAll(of key: ConnectionKey) { holders = holders.filter { $0.value != key } }
}
