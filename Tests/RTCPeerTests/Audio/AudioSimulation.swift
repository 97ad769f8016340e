import RTCBase
import RTCCodec
import RTCEngine
import RTCPeer
import RTCSimulation

/// One audio stream over a network made up by a seed, in virtual time: encoded, spoiled, played as the playout thread plays it.
struct AudioSimulation {
    struct Settings {
        var seconds = 20
        var seed: UInt64 = 1
        var opus = OpusEncoder.Settings()
        /// Delay of each packet on top of the fastest's, uniform up to this.
        var jitterMilliseconds = 0.0
        /// When a packet overtakes another it is only let do so if this says it.
        var reorders = false
        var loss = 0.0
        /// Packets of this time are held back until it is over, or lost.
        var outage: Range<Int>?
        var losesOutage = false
        /// How much faster the sender's clock runs.
        var driftPPM = 0.0
        /// Phase of the playing side against the packets.
        var phaseMilliseconds = 3.7
        /// The deadlines follow the packets, as in the playout thread.
        var movesDeadlines = false
        /// What is said, 48 kHz interleaved; repeated when it is short.
        var sound: [Int16] = SyntheticSound.tone(440, frames: 0..<48_000)
    }

    struct Result {
        var samples: [Int16] = []
        var channels = 1
        var statistics = AudioJitterStatistics()
        var drops: UInt64 = 0
        var lost = 0
        var sent = 0
        /// Packets that can repair the one before.
        var repairing = 0
        /// One reading per block, in milliseconds: when, the delay, the target, the deadline's distance from the block before.
        var readings: [(time: Double, delay: Double, target: Double)] = []
        var largestDeadlineStep = 0.0

        var concealedShare: Double { Double(statistics.concealedSamples) / Double(max(1, samples.count / channels)) }
        /// The highest and the mean delay in a part of the time, in seconds.
        func delay(_ seconds: Range<Double>) -> (highest: Double, mean: Double) {
            let part = readings.filter { seconds.contains($0.time / 1000) }.map(\.delay)
            return (part.max() ?? .nan, part.reduce(0, +) / Double(max(1, part.count)))
        }
        func target(at second: Double) -> Double { readings.last { $0.time <= second * 1000 }?.target ?? .nan }
    }

    /// What the network thread and the playout thread share; here there is one thread.
    private final class Holder: AudioBufferHolder {
        var buffer = AudioJitterBuffer()
        func withBuffer<R>(_ body: (inout AudioJitterBuffer) -> R) -> R { body(&buffer) }
    }

    private struct Packet {
        var arrival: Int64
        var number: Int
        var timestamp: UInt32
        var bytes: [UInt8]
    }

    private static let packetFrames = 960
    private let settings: Settings
    private var generator: SplitMix64

    init(_ settings: Settings) {
        self.settings = settings
        generator = SplitMix64(seed: settings.seed)
    }

    mutating func run() throws -> Result {
        var result = Result()
        let packets = try makePackets(&result)
        let holder = Holder()
        guard var playout = AudioPlayout() else { return result }
        var next = 0
        var clock = PlayoutClock(start: MonotonicTime(nanoseconds: 40_000_000 + Int64(settings.phaseMilliseconds * 1e6)))
        let end = MonotonicTime(milliseconds: Int64(settings.seconds) * 1000)
        while clock.deadline < end {
            let due = clock.deadline
            while next < packets.count, packets[next].arrival <= due.nanoseconds {
                let packet = packets[next]
                holder.buffer.insert(
                    sequence: Int64(packet.number) + 65_536, timestamp: packet.timestamp, payload: packet.bytes.span.bytes,
                    arrival: MonotonicTime(nanoseconds: packet.arrival))
                next += 1
            }
            clock.advance(now: due)
            let block = playout.makeBlock(due: due, from: holder)
            result.channels = block.channels
            result.samples += block.samples
            if settings.movesDeadlines, let error = playout.phaseError(due: due, in: holder) { clock.approach(error: error) }
            let statistics = holder.buffer.statistics
            result.readings.append(
                (
                    Double(due.nanoseconds) / 1e6, Double(statistics.currentDelayNanoseconds) / 1e6,
                    Double(statistics.targetDelayNanoseconds) / 1e6
                ))
            result.largestDeadlineStep = max(result.largestDeadlineStep, abs(clock.deadline.milliseconds(since: due) - 10))
        }
        result.statistics = holder.buffer.statistics
        result.drops = holder.buffer.drops.total
        return result
    }

    private mutating func makePackets(_ result: inout Result) throws -> [Packet] {
        let encoder = try OpusEncoder(settings: settings.opus)
        let channels = settings.opus.channels
        var packets: [Packet] = []
        var newest: Int64 = 0
        let interval = 20e6 / (1 + settings.driftPPM / 1e6)
        for number in 0..<settings.seconds * 50 {
            let first = number * Self.packetFrames * channels
            let samples = (0..<Self.packetFrames * channels).map { settings.sound[(first + $0) % settings.sound.count] }
            let bytes = try encoder.encode(samples)
            result.sent += 1
            result.repairing += OpusPacket.hasRepair(bytes.span.bytes) ? 1 : 0
            // The first packets make the beginning the same for everybody.
            if number > 10, generator.chance(settings.loss) {
                result.lost += 1
                continue
            }
            var arrival = 40_000_000 + Int64((Double(number) * interval).rounded())
            arrival += Int64(settings.jitterMilliseconds * 1e6 * generator.nextUnit())
            if let outage = settings.outage, outage.contains(number * 20) {
                if settings.losesOutage {
                    result.lost += 1
                    continue
                }
                arrival = max(arrival, 40_000_000 + Int64(outage.upperBound) * 1_000_000)
            }
            if !settings.reorders { arrival = max(arrival, newest) }
            newest = max(newest, arrival)
            packets.append(
                Packet(
                    arrival: arrival, number: number, timestamp: UInt32(truncatingIfNeeded: 4_294_900_000 + number * Self.packetFrames),
                    bytes: bytes))
        }
        return packets.sorted { ($0.arrival, $0.number) < ($1.arrival, $1.number) }
    }
}
