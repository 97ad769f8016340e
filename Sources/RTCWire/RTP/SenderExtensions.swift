package import RTCBase

/// The header extension block of the packets of one sending stream, written without allocating (RFC 8285 §4).
package struct SenderExtensions: Sendable {
    private let ids: HeaderExtensionIDs
    private let mid: [UInt8]
    /// The two-byte form (§4.3), for ids and names that the one-byte form cannot carry.
    private let usesTwoByteForm: Bool

    /// - Parameter ids: only the extensions that are to be written; `mid`, `absoluteSendTime` and `transportSequenceNumber`
    ///   are looked at.
    package init(ids: HeaderExtensionIDs, mid: String) {
        self.ids = ids
        self.mid = ids.mid == 0 ? [] : Array(mid.utf8.prefix(255))
        usesTwoByteForm = max(ids.mid, ids.absoluteSendTime, ids.transportSequenceNumber) > 14 || self.mid.count > 16
    }

    package var usesTransportNumber: Bool { ids.transportSequenceNumber != 0 }
    package var usesAbsoluteSendTime: Bool { ids.absoluteSendTime != 0 }

    /// Bytes of the block, padding included; 0 when there is none.
    package func byteCount(withMID: Bool) -> Int {
        let content = contentCount(withMID: withMID)
        return content == 0 ? 0 : 4 + (content + 3) & ~3
    }

    /// - Parameters:
    ///   - absoluteSendTime: 6.18 fixed-point seconds, 24 bits.
    ///   - transportNumber: the transport-wide sequence number.
    package func write(withMID: Bool, absoluteSendTime: UInt32, transportNumber: UInt16, into writer: inout ByteWriter) {
        let content = contentCount(withMID: withMID)
        guard content > 0 else { return }
        let words = (content + 3) / 4
        writer.write(usesTwoByteForm ? 0x1000 : 0xBEDE as UInt16)
        writer.write(UInt16(truncatingIfNeeded: words))
        if ids.absoluteSendTime != 0 {
            writeHead(ids.absoluteSendTime, count: 3, into: &writer)
            writer.writeUInt24(absoluteSendTime & 0xFF_FFFF)
        }
        if ids.transportSequenceNumber != 0 {
            writeHead(ids.transportSequenceNumber, count: 2, into: &writer)
            writer.write(transportNumber)
        }
        if withMID, !mid.isEmpty {
            writeHead(ids.mid, count: mid.count, into: &writer)
            writer.write(mid)
        }
        for _ in content..<(4 * words) { writer.write(0 as UInt8) }
    }

    private func writeHead(_ id: UInt8, count: Int, into writer: inout ByteWriter) {
        if usesTwoByteForm {
            writer.write(id)
            writer.write(UInt8(truncatingIfNeeded: count))
        } else {
            writer.write(id << 4 | UInt8(truncatingIfNeeded: count - 1))
        }
    }

    private func contentCount(withMID: Bool) -> Int {
        let head = usesTwoByteForm ? 2 : 1
        var count = 0
        if ids.absoluteSendTime != 0 { count += head + 3 }
        if ids.transportSequenceNumber != 0 { count += head + 2 }
        if withMID, !mid.isEmpty { count += head + mid.count }
        return count
    }

    /// The 24 bits of `absoluteSendTime` for a time: 6.18 fixed-point seconds, wrapping every 64 s.
    package static func absoluteSendTime(_ time: MonotonicTime) -> UInt32 {
        let (seconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return UInt32(truncatingIfNeeded: (seconds & 0x3F) << 18 &+ (rest << 18) / 1_000_000_000) & 0xFF_FFFF
    }
}
