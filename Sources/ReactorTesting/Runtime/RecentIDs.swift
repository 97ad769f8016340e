/// The last so many numbers, each once.
struct RecentIDs: Sendable {
    private var order: [Int] = []
    private var next = 0
    private var members: Set<Int> = []

    func contains(_ id: Int) -> Bool { members.contains(id) }

    /// The one that was added longest ago is forgotten when there are too many.
    mutating func insert(_ id: Int) {
        guard members.insert(id).inserted else { return }
        if order.count < Self.most {
            order.append(id)
        } else {
            members.remove(order[next])
            order[next] = id
            next = (next + 1) % Self.most
        }
    }

    /// Half of the ids that are minted, so that a free one is found soon.
    static let most = 2500
}
