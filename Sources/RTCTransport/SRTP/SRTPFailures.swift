/// SSRCs that fail now, and when it is time to look for their rollover counter. Tries become rarer as failures go on, so that a
/// flood of forged packets costs a bounded amount of work.
struct SRTPFailures {
    private struct Source {
        var ssrc: UInt32
        /// Failures in a row.
        var failures: Int
        /// The count of failures at which other counters are tried next.
        var nextTry: Int
    }

    private var sources: [Source] = []

    init() { sources.reserveCapacity(SRTPFailures.limit) }

    /// Whether other counters are to be tried if the packet at hand fails as well.
    func isTimeToTry(_ ssrc: UInt32) -> Bool {
        guard !sources.isEmpty, let source = sources.first(where: { $0.ssrc == ssrc }) else { return false }
        return source.failures + 1 >= source.nextTry
    }

    mutating func note(_ ssrc: UInt32) {
        if let position = sources.firstIndex(where: { $0.ssrc == ssrc }) {
            sources[position].failures += 1
            if sources[position].failures >= sources[position].nextTry {
                // This failure was a try as well.
                let step = min(sources[position].nextTry, SRTPFailures.longestTryDistance)
                sources[position].nextTry = sources[position].failures + step
            }
            return
        }
        let source = Source(ssrc: ssrc, failures: 1, nextTry: SRTPFailures.failuresBeforeTry)
        if sources.count < SRTPFailures.limit {
            sources.append(source)
        } else {
            // Made-up SSRCs push out each other; a real one comes back with its next packets.
            sources[Int(ssrc % UInt32(SRTPFailures.limit))] = source
        }
    }

    mutating func end(_ ssrc: UInt32) {
        guard !sources.isEmpty, let position = sources.firstIndex(where: { $0.ssrc == ssrc }) else { return }
        sources.swapAt(position, sources.count - 1)
        sources.removeLast()
    }

    /// Small: more than a few at once is an attack, not a loss of index.
    private static let limit = 8
    /// A few damaged packets in a row are no lost index.
    private static let failuresBeforeTry = 8
    private static let longestTryDistance = 256
}
