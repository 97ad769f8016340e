import PeerTestSupport
import RTCBase
import RTCCodec
import Synchronization
import Testing

@testable import RTCPeer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("AudioEncodeWorker", .timeLimit(.minutes(2)))
struct AudioEncodeWorkerTests {
    private final class Log: Sendable {
        let packets = Mutex<[(bytes: [UInt8], time: UInt32)]>([])
        var count: Int { packets.withLock { $0.count } }
    }

    private let log = Log()
    private let track = LocalTrack(name: "mic", kind: .audio)

    private func start() -> AudioEncodeWorker {
        let log = log
        let worker = AudioEncodeWorker { packet, time in
            let bytes = packet.withBytes { span in span.withUnsafeBytes { [UInt8]($0) } }
            log.packets.withLock { $0.append((bytes, time)) }
        }
        track.attach(worker)
        return worker
    }

    private func tone(_ frequency: Double, rate: Int, channels: Int, samples: Range<Int>) -> [Int16] {
        samples.flatMap { index -> [Int16] in
            let value = Int16(12_000 * sin(2 * .pi * frequency * Double(index) / Double(rate)))
            return [Int16](repeating: value, count: channels)
        }
    }

    private func push(_ samples: [Int16], rate: Int, channels: Int = 1) -> Bool {
        samples.withUnsafeBufferPointer { track.push(samples: $0, sampleRate: rate, channels: channels) }
    }

    private func decoded() throws -> [Int16] {
        let decoder = try OpusDecoder(sampleRate: 48_000, channels: 1)
        let output = UnsafeMutableBufferPointer<Int16>.allocate(capacity: decoder.maxSamplesPerChannel)
        defer { output.deallocate() }
        return try log.packets.withLock { $0 }.flatMap { packet in
            Array(output.prefix(try decoder.decode(packet.bytes.span.bytes, into: output)))
        }
    }

    @Test(
        "X-9 a tone keeps its pitch at every rate, with one or two channels",
        arguments: [8_000, 16_000, 24_000, 32_000, 44_100, 48_000], [1, 2])
    func rates(rate: Int, channels: Int) async throws {
        let worker = start()
        // One long chunk: it leaves at the pace of the sound.
        #expect(push(tone(440, rate: rate, channels: channels, samples: 0..<(rate / 2)), rate: rate, channels: channels))
        #expect(await eventually { log.count >= 24 })
        worker.stop()
        let samples = try decoded()
        let middle = Array(samples.dropFirst(4800).dropLast(1920))
        #expect(TestTone.share(of: 440, in: middle) > 0.9)
        #expect(worker.counts.dropped == 0)
    }

    @Test("packets are 960 samples apart, whatever the chunks")
    func timestamps() async {
        let worker = start()
        for number in 0..<60 {
            _ = push(tone(300, rate: 44_100, channels: 1, samples: (number * 441)..<((number + 1) * 441)), rate: 44_100)
        }
        #expect(await eventually { log.count >= 24 })
        worker.stop()
        let times = log.packets.withLock { $0.map(\.time) }
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 &- $0 == 960 })
    }

    @Test("X-9 a change of format goes on at once, in the new format")
    func changeOfFormat() async throws {
        let worker = start()
        _ = push(tone(440, rate: 48_000, channels: 1, samples: 0..<4800), rate: 48_000)
        _ = push(tone(440, rate: 44_100, channels: 2, samples: 0..<4410), rate: 44_100, channels: 2)
        _ = push(tone(440, rate: 8_000, channels: 1, samples: 0..<800), rate: 8_000)
        #expect(await eventually { log.count >= 14 })
        worker.stop()
        #expect(worker.counts.dropped == 0)
        // The phase jumps where the format changes; most windows of 40 ms hold the tone alone.
        let samples = try decoded()
        let windows = stride(from: 0, to: samples.count - 1920, by: 1920).map { Array(samples[$0..<($0 + 1920)]) }
        #expect(windows.filter { TestTone.share(of: 440, in: $0) > 0.9 }.count >= 3)
    }

    @Test("X-9 other formats are refused, and so is everything while unpublished")
    func refusals() {
        #expect(!push([0, 0], rate: 48_000))
        let worker = start()
        #expect(push([0, 0], rate: 48_000))
        #expect(!push([0, 0], rate: 22_050))
        #expect(!push([0, 0, 0], rate: 48_000, channels: 3))
        #expect(!push([0, 0, 0], rate: 48_000, channels: 2))
        #expect(!push([], rate: 48_000, channels: 0))
        #expect(push([], rate: 48_000, channels: 1))
        worker.stop()
        track.detach(worker)
        #expect(!push([0, 0], rate: 48_000))
    }

    @Test("a network thread that takes nothing stops the flow, and the oldest samples go")
    func bound() async {
        let worker = start()
        for _ in 0..<60 { _ = push([Int16](repeating: 0, count: 4800), rate: 48_000) }
        #expect(worker.counts.dropped >= 200)
        worker.stop()
    }

    @Test("the thread ends with stop")
    func stop() async {
        let worker = start()
        _ = push([Int16](repeating: 0, count: 4800), rate: 48_000)
        #expect(await eventually { log.count > 0 })
        worker.stop()
        track.detach(worker)
        weak let released = worker
        _ = consume worker
        #expect(await eventually { released == nil })
    }
}
