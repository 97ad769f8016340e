/// Why a packet or frame was discarded. Every discarded thing is counted under one of these.
package enum DropReason: Int, CaseIterable, Sendable {
    // Datagrams and RTP
    case unknownDatagram
    case malformedRTP
    case malformedRTCP
    case unknownStream
    case duplicatePacket
    case latePacket
    case paddingOnly
    case srtpReplay
    case srtpAuthentication
    case srtpOther
    case beforeKeys
    case oversizePacket
    case malformedPayload
    case malformedRetransmission
    // Frames
    case incompleteFrame
    case waitingForKeyFrame
    case decoderQueueFull
    case decodeError
    case oversizeFrame
    case replacedByNewer
    // ICE
    case malformedCandidate
    case unusableCandidate
    // Audio
    case audioLate
    case audioOverflow
    case audioDecodeError
    // Data channels and messages
    case malformedDataChannel
    case unknownChannel
    case messageTooLarge
    case malformedMessage
    case unknownMessage
    case subscriberOverflow
    case staleGeneration
    case sendFailed
}

/// Counts of discarded things by reason; plain data, no allocation when counting.
package struct DropCounters: Sendable, Hashable {
    private var values: [UInt64]

    package init() { values = Array(repeating: 0, count: DropReason.allCases.count) }

    package mutating func count(_ reason: DropReason, by amount: UInt64 = 1) { values[reason.rawValue] &+= amount }
    package subscript(reason: DropReason) -> UInt64 { values[reason.rawValue] }
    package var total: UInt64 { values.reduce(0, &+) }

    package mutating func merge(_ other: DropCounters) {
        for i in values.indices { values[i] &+= other.values[i] }
    }

    /// Reasons with a count, for logs and diagnosis.
    package var nonZero: [(reason: DropReason, count: UInt64)] {
        DropReason.allCases.compactMap { values[$0.rawValue] > 0 ? ($0, values[$0.rawValue]) : nil }
    }
}
