// What a probe found. In: its packets as they leave and as feedback tells their arrival. Out: the rate at which they
// arrived, once per cluster. A receiver that took them in one heap shows no rate; then the probe's own is the answer.

import RTCBase

package struct ProbeEstimator: Sendable {
    package struct Result: Hashable, Sendable {
        package var probe: Probe
        /// Bits per second that the path showed, at most the probe's.
        package var bitsPerSecond: Double
        /// The packets arrived as fast as they were sent.
        package var isFull: Bool
    }

    private struct Cluster: Sendable {
        var probe: Probe
        var firstNumber: Int64?
        var firstSend: Int64 = 0
        var lastSend: Int64 = 0
        var sentBytes = 0
        var arrivals = 0
        var firstArrival: Int64 = 0
        var lastArrival: Int64 = 0
        var firstBytes = 0
        var arrivedBytes = 0
    }

    private var clusters: [Cluster] = []

    package init() { clusters.reserveCapacity(Self.maxClusters) }

    package mutating func begin(_ probe: Probe) {
        if clusters.count == Self.maxClusters { clusters.removeFirst() }
        clusters.append(Cluster(probe: probe))
    }

    package mutating func onSent(_ packet: SentPacket) {
        guard let cluster = packet.probe, let index = clusters.firstIndex(where: { $0.probe.cluster == cluster }) else { return }
        if clusters[index].firstNumber == nil {
            clusters[index].firstNumber = packet.number
            clusters[index].firstSend = packet.time.nanoseconds
        }
        clusters[index].lastSend = packet.time.nanoseconds
        clusters[index].sentBytes += packet.byteCount
    }

    package mutating func onArrival(_ packet: SentPacket, arrival: Int64) -> Result? {
        guard let number = packet.probe, let index = clusters.firstIndex(where: { $0.probe.cluster == number }) else { return nil }
        if clusters[index].arrivals == 0 {
            clusters[index].firstArrival = arrival
            clusters[index].lastArrival = arrival
            clusters[index].firstBytes = packet.byteCount
        }
        if arrival < clusters[index].firstArrival {
            clusters[index].firstArrival = arrival
            clusters[index].firstBytes = packet.byteCount
        }
        clusters[index].lastArrival = max(clusters[index].lastArrival, arrival)
        clusters[index].arrivals += 1
        clusters[index].arrivedBytes += packet.byteCount
        let cluster = clusters[index]
        guard cluster.arrivals * 10 >= cluster.probe.minimumPackets * Self.tenths, cluster.arrivals >= 3,
            cluster.arrivedBytes * 10 >= cluster.probe.minimumBytes * Self.tenths
        else { return nil }
        clusters.remove(at: index)
        return Self.result(of: cluster)
    }

    private static func result(of cluster: Cluster) -> Result {
        let asked = Double(cluster.probe.rate.bitsPerSecond)
        let span = Double(cluster.lastArrival &- cluster.firstArrival) / 1e9
        let bits = Double(max(0, cluster.arrivedBytes - cluster.firstBytes)) * 8
        // The rate it was really sent at, which a late pacer lowers; sent in one go it has none.
        let sendSpan = Double(cluster.lastSend &- cluster.firstSend) / 1e9
        let sent = sendSpan > shortestSpan ? min(asked, Double(cluster.sentBytes) * 8 / sendSpan) : asked
        let arrived = span > shortestSpan ? bits / span : asked
        return Result(probe: cluster.probe, bitsPerSecond: min(sent, arrived), isFull: arrived >= sent * fullShare)
    }

    private static let maxClusters = 4
    /// Of the packets asked for; the rest may be lost.
    private static let tenths = 8
    private static let shortestSpan = 0.001
    private static let fullShare = 0.9
}
