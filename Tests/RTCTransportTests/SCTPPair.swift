import RTCBase
import RTCTransport

/// One association with what came out of it.
final class SCTPEnd {
    struct Message {
        var stream: Int
        var ppid: UInt32
        var bytes: [UInt8]
    }

    private(set) var association: SCTPAssociation!
    var outgoing: [[UInt8]] = []
    /// The newest packets sent.
    var sent: [[UInt8]] = []
    var messages: [Message] = []
    var down: [TransportError] = []
    /// The path takes nothing.
    var refuses = false
    var refused = 0

    init(streamCount: UInt16, maxIncomingMessageBytes: Int) throws {
        association = try SCTPAssociation(streamCount: streamCount, maxIncomingMessageBytes: maxIncomingMessageBytes) {
            [unowned self] packet in
            if refuses {
                refused += 1
                return false
            }
            outgoing.append(Array(packet))
            if sent.count < 5000 { sent.append(Array(packet)) }
            return true
        }
        association.onMessage = { [unowned self] in messages.append(Message(stream: Int($0), ppid: $1, bytes: Array($2))) }
        association.onDown = { [unowned self] in down.append($0) }
    }

    func send(
        _ stream: UInt16, _ bytes: [UInt8], ppid: UInt32 = 53, ordered: Bool = true, reliability: SCTPAssociation.Reliability = .reliable
    ) -> SCTPAssociation.SendResult {
        bytes.withUnsafeBytes { association.send(stream: stream, ppid: ppid, ordered: ordered, reliability: reliability, bytes: $0) }
    }

    func receive(_ packet: [UInt8]) { packet.withUnsafeBytes { association.receive($0) } }
}

/// Two associations, the packets between them, and virtual time.
final class SCTPPair {
    let a: SCTPEnd
    let b: SCTPEnd
    private(set) var now = MonotonicTime(milliseconds: 1000)
    var packetSizes: [Int] = []
    /// Whether a packet is lost; the flag says that it comes from `a`.
    var drops: ([UInt8], Bool) -> Bool = { _, _ in false }

    init(streamCount: UInt16 = 1024, maxIncomingMessageBytes: Int = 4 << 20) throws {
        a = try SCTPEnd(streamCount: streamCount, maxIncomingMessageBytes: maxIncomingMessageBytes)
        b = try SCTPEnd(streamCount: streamCount, maxIncomingMessageBytes: maxIncomingMessageBytes)
        SCTPStack.shared.tick(now: now)
    }

    deinit {
        a.association.close()
        b.association.close()
    }

    /// Until both ends are up.
    func connect() {
        a.association.connect()
        b.association.connect()
        run(milliseconds: 5000, until: { [self] in a.association.isUp && b.association.isUp })
    }

    /// One exchange of what is on the way. False when nothing was.
    @discardableResult
    func deliver() -> Bool {
        var isMoving = false
        for (from, to) in [(a, b), (b, a)] {
            let packets = from.outgoing
            from.outgoing.removeAll()
            for packet in packets {
                isMoving = true
                packetSizes.append(packet.count)
                if !drops(packet, from === a) { to.receive(packet) }
            }
        }
        return isMoving
    }

    func deliverAll() { while deliver() {} }

    /// Lets time go on in steps of the stack's tick, a few exchanges in each, up to the given time or until `isDone`.
    func run(milliseconds: Int, until isDone: () -> Bool = { false }) {
        for _ in 0..<(milliseconds / 10) {
            for _ in 0..<10 where !deliver() { break }
            if isDone() { return }
            now = now.adding(milliseconds: 10)
            SCTPStack.shared.tick(now: now)
        }
    }
}

extension SCTPPair {
    /// As `run`, with the real clock keeping step: when the library decides whether a chunk is old enough to be sent again, and
    /// whether a path is idle, it looks there.
    func runInRealTime(milliseconds: Int, until isDone: () -> Bool) async throws {
        for _ in 0..<(milliseconds / 10) {
            let start = NetworkExecutor.now()
            run(milliseconds: 10)
            if isDone() { return }
            try await Task.sleep(for: .milliseconds(10) - (NetworkExecutor.now() - start))
        }
    }

    /// As `runInRealTime`, but the real clock keeps step only while nothing moves, which is when timers decide.
    func runPatiently(milliseconds: Int, until isDone: () -> Bool) async throws {
        for _ in 0..<(milliseconds / 10) {
            let before = packetSizes.count
            run(milliseconds: 10)
            if isDone() { return }
            if packetSizes.count == before { try await Task.sleep(for: .milliseconds(10)) }
        }
    }
}

/// The packet with its CRC32C (RFC 9260 appendix A) in place.
func withChecksum(_ packet: [UInt8]) -> [UInt8] {
    var bytes = packet
    bytes.replaceSubrange(8..<12, with: [0, 0, 0, 0])
    var crc: UInt32 = 0xffff_ffff
    for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
    }
    crc = ~crc
    bytes.replaceSubrange(8..<12, with: [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: crc >> $0) })
    return bytes
}
