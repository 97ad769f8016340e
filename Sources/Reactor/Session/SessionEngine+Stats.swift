internal import RTCBase
package import RTCPeer
internal import ReactorCore

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The previous reading, against which rates are measured.
struct StatsMemory: Sendable {
    var generation: Generation
    var timestamp: MonotonicTime
    var bytesReceived: Int
    var bytesSent: Int
    var framesDecoded: [String: Int]
    var framesSent: [String: Int]
}

extension Reactor {
    /// The counters of the present connection as the peer keeps them, with those that have no public form (decode errors,
    /// drops by reason); nil without a connection. For tests and the command line.
    package func peerStatistics() async -> PeerStatistics? { await engine.peerStatistics() }
}

// Statistics in the public shape.
extension SessionEngine {
    func peerStatistics() async -> PeerStatistics? {
        guard let generation = machine.readyGeneration else { return nil }
        return await connections[generation]?.peer?.statistics
    }

    func stats() async throws -> ConnectionStats {
        let (stats, memory) = try await stats(since: lastStats)
        lastStats = memory
        return stats
    }

    /// - Parameter earlier: the reading that rates compare with.
    /// - Returns: also the reading for the next call.
    func stats(since earlier: StatsMemory?) async throws -> (ConnectionStats, StatsMemory?) {
        let connection: Connection
        do throws(CoreError) {
            try machine.requireReady(for: .getStats, call: "stats()")
            guard let generation = machine.readyGeneration, let current = connections[generation] else {
                throw .channelNotOpen(state: "Closed", operation: .getStats)
            }
            connection = current
        } catch {
            throw ReactorError(error)
        }
        guard let peer = connection.peer else { throw ReactorError.clientGone("get_stats") }
        let measured = await peer.statistics
        let earlier = earlier.flatMap { $0.generation == connection.generation ? $0 : nil }
        let elapsed = earlier.map { measured.timestamp.nanoseconds(since: $0.timestamp) } ?? 0
        // Rates over less than 200 ms say nothing (api.md B17); the earlier reading is kept then.
        let hasRate = elapsed >= 200_000_000
        func rate(_ now: Int, _ before: Int?) -> Double? {
            guard hasRate, let before else { return nil }
            return Double(now - before) * 8e9 / Double(elapsed)
        }
        func framesPerSecond(_ count: Int, _ before: Int?) -> Double {
            guard hasRate, let before else { return 0 }
            return Double(max(0, count - before)) * 1e9 / Double(elapsed)
        }
        let inbound = measured.inbound.map { stream in
            ConnectionStats.InboundStream(
                ssrc: stream.ssrc, kind: stream.kind.rawValue, trackName: stream.track, codec: stream.codec,
                packetsReceived: stream.packetsReceived, packetsLost: stream.packetsLost, bytesReceived: stream.bytesReceived,
                jitterSeconds: stream.jitterSeconds, nackCount: stream.nackCount, pliCount: stream.pliCount + stream.firCount,
                totalDecodeTimeSeconds: stream.totalDecodeSeconds, totalAssemblyTimeSeconds: stream.totalAssembleSeconds,
                framesPerSecond: framesPerSecond(stream.framesDecoded, earlier?.framesDecoded[stream.track]),
                framesDecoded: stream.framesDecoded, framesDropped: stream.framesDropped,
                frameWidth: stream.width, frameHeight: stream.height)
        }
        let outbound = measured.outbound.map { stream in
            ConnectionStats.OutboundStream(
                stream, framesPerSecond: framesPerSecond(stream.framesSent, earlier?.framesSent[stream.track]))
        }
        let incoming = rate(measured.bytesReceived, earlier?.bytesReceived)
        let outgoing = rate(measured.bytesSent, earlier?.bytesSent)
        var memory = earlier
        if hasRate || earlier == nil {
            memory = StatsMemory(
                generation: connection.generation, timestamp: measured.timestamp, bytesReceived: measured.bytesReceived,
                bytesSent: measured.bytesSent,
                framesDecoded: Dictionary(measured.inbound.map { ($0.track, $0.framesDecoded) }, uniquingKeysWith: { a, _ in a }),
                framesSent: Dictionary(measured.outbound.map { ($0.track, $0.framesSent) }, uniquingKeysWith: { a, _ in a }))
        }
        let rtt = measured.roundTripNanoseconds.map { Double($0) / 1e6 }
        let video = inbound.filter { $0.kind == "video" }.max { $0.packetsReceived < $1.packetsReceived }
        let packets = inbound.reduce(0) { $0 + $1.packetsReceived }
        let lost = inbound.reduce(0) { $0 + $1.packetsLost }
        let pair = ConnectionStats.CandidatePair(
            currentRoundTripTimeSeconds: (rtt ?? 0) / 1000, totalRoundTripTimeSeconds: 0, priority: 0, state: "succeeded", nominated: true,
            writable: measured.isConnected, availableOutgoingBitrateBPS: Double(measured.availableOutgoingBitrate ?? 0),
            availableIncomingBitrateBPS: 0,
            bytesSent: measured.bytesSent, bytesReceived: measured.bytesReceived, packetsSent: measured.packetsSent,
            packetsReceived: measured.packetsReceived, localCandidateType: measured.localCandidateType,
            localRelayProtocol: measured.relayProtocol)
        let stats = ConnectionStats(
            rttMS: rtt, jitterSeconds: video?.jitterSeconds ?? inbound.map(\.jitterSeconds).max(),
            packetLossRatio: packets + lost > 0 ? Double(max(0, lost)) / Double(packets + lost) : nil, incomingBitrateBPS: incoming,
            outgoingBitrateBPS: outgoing, availableIncomingBitrateBPS: nil,
            availableOutgoingBitrateBPS: measured.availableOutgoingBitrate.map(Double.init),
            targetBitrateBPS: outbound.isEmpty ? nil : outbound.reduce(0) { $0 + $1.targetBitrateBPS },
            framesPerSecond: video?.framesPerSecond, candidateType: measured.localCandidateType, relayProtocol: measured.relayProtocol,
            candidatePairState: measured.isConnected ? "succeeded" : nil, packetsReceived: packets, packetsLost: lost,
            packetsSent: measured.packetsSent, bytesReceived: measured.bytesReceived, bytesSent: measured.bytesSent,
            timestampMS: Date().timeIntervalSince1970 * 1000, inbound: inbound, outbound: outbound, candidatePairs: [pair])
        return (stats, memory)
    }
}

extension ConnectionStats.OutboundStream {
    fileprivate init(_ stream: PeerStatistics.Outbound, framesPerSecond: Double) {
        self.init(
            ssrc: stream.ssrc, kind: stream.kind.rawValue, trackName: stream.track, codec: stream.codec,
            packetsSent: stream.packetsSent, retransmittedPacketsSent: stream.retransmittedPackets, bytesSent: stream.bytesSent,
            targetBitrateBPS: Double(stream.targetBitrate), framesPerSecond: framesPerSecond, framesEncoded: stream.framesEncoded,
            framesSent: stream.framesSent, framesDropped: stream.framesDropped, frameWidth: stream.width, frameHeight: stream.height,
            totalEncodeTimeSeconds: stream.totalEncodeSeconds, nackCount: stream.nackCount,
            pliCount: stream.pliCount + stream.firCount, roundTripTimeSeconds: Double(stream.roundTripNanoseconds ?? 0) / 1e9,
            totalRoundTripTimeSeconds: Double(stream.totalRoundTripNanoseconds) / 1e9, fractionLost: stream.fractionLost,
            packetsLost: stream.packetsLost)
    }
}
