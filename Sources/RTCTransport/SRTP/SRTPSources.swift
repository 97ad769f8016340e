/// What is remembered of the SSRCs whose packets have authenticated: the index and the replay windows. A fixed number of them;
/// a new one takes the place of the one silent for longest.
struct SRTPSources {
    struct Source {
        fileprivate(set) var ssrc: UInt32
        /// The time, in packets, of the last one.
        fileprivate var lastPacket: UInt64 = 0
        var rtp = ReplayWindow()
        var rtcp = ReplayWindow()

        fileprivate init(ssrc: UInt32) { self.ssrc = ssrc }
    }

    private var sources: [Source] = []
    /// Position of the last packet's SSRC.
    private var last = 0
    private var clock: UInt64 = 0

    init() { sources.reserveCapacity(SRTPSources.limit) }

    subscript(position: Int) -> Source { sources[position] }

    /// Nil for an SSRC of which no packet has authenticated.
    mutating func position(of ssrc: UInt32) -> Int? {
        if last < sources.count, sources[last].ssrc == ssrc { return last }
        guard let position = sources.firstIndex(where: { $0.ssrc == ssrc }) else { return nil }
        last = position
        return position
    }

    func highestRTP(_ position: Int?) -> Int64 { position.map { sources[$0].rtp.highest } ?? -1 }

    func admitsRTP(_ index: Int64, at position: Int?) -> Bool { position.map { sources[$0].rtp.admits(index) } ?? true }

    func admitsRTCP(_ index: Int64, at position: Int?) -> Bool { position.map { sources[$0].rtcp.admits(index) } ?? true }

    /// Notes an authentic packet.
    mutating func accept(_ index: Int64, ssrc: UInt32, isRTCP: Bool) {
        clock &+= 1
        let position = position(of: ssrc) ?? insert(ssrc)
        sources[position].lastPacket = clock
        if isRTCP {
            sources[position].rtcp.accept(index)
        } else {
            sources[position].rtp.accept(index)
        }
    }

    private mutating func insert(_ ssrc: UInt32) -> Int {
        if sources.count < SRTPSources.limit {
            last = sources.count
            sources.append(Source(ssrc: ssrc))
        } else {
            last = sources.indices.min { sources[$0].lastPacket < sources[$1].lastPacket } ?? 0
            sources[last].ssrc = ssrc
            sources[last].rtp.reset()
            sources[last].rtcp.reset()
        }
        return last
    }

    private static let limit = 64
}
