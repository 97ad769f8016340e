import CAllocationCounter
import RTCBase
import RTCEngine
import RTCSimulation
import RTCTransport

/// The receive path of a 720p30 stream at 6 Mbit/s: nanoseconds per packet, and the allocations of every step after a
/// warm-up of five seconds of media.
enum ReceiveBenchmark {
    private struct Variant {
        var name: String
        var profile: SRTPProfile?
        var sendsMetadata = false
        var loss = 0.0
    }

    static func run(_ options: BenchmarkOptions, into report: inout BenchmarkReport) throws {
        let variants = [
            Variant(name: "receive/plain", profile: nil),
            Variant(name: "receive/plain-metadata", profile: nil, sendsMetadata: true),
            Variant(name: "receive/plain-loss2", profile: nil, loss: 0.02),
            Variant(name: "receive/srtp-gcm", profile: .aeadAES128GCM),
            Variant(name: "receive/srtp-cm", profile: .aes128CMSHA1_80),
        ]
        for variant in variants where options.includes(variant.name) {
            try measure(variant, options, into: &report)
            if callocation_is_available() == 1 { try count(variant, options, into: &report) }
        }
    }

    private static func measure(_ variant: Variant, _ options: BenchmarkOptions, into report: inout BenchmarkReport) throws {
        let stream = stream(variant, frameCount: 300)
        let warmUp = warmUpCount(stream)
        let measured = warmUp..<stream.datagrams.count
        var samples: [Double] = []
        for index in 0...options.sampleCount {
            var path = try path(stream, variant)
            path.play(0..<warmUp)
            let time = Stopwatch.nanoseconds { path.play(measured) }
            // The first one warms caches.
            if index > 0 { samples.append(time / Double(measured.count)) }
            guard path.framesReceived == stream.frameCount else {
                throw BenchmarkFailure("\(variant.name): \(path.framesReceived) of \(stream.frameCount) frames came out")
            }
        }
        let scratch = Scratch(count: 2048)
        let copy = Stopwatch.samples(options.sampleCount, units: measured.count) {
            for index in measured { consume(scratch.fill(stream.datagrams[index].bytes)) }
        }
        report.add("\(variant.name)/time", unit: "ns/packet", samples: samples, reference: ("memcpy of the packet", copy))
    }

    private static func count(_ variant: Variant, _ options: BenchmarkOptions, into report: inout BenchmarkReport) throws {
        let stream = stream(variant, frameCount: 450)
        let warmUp = warmUpCount(stream)
        var path = try path(stream, variant)
        path.play(0..<warmUp)
        var counts = ReceivePath.Step.allCases.map { AllocationCount(name: "\(variant.name)/\($0)", limitPerStep: limit($0)) }
        path.count(warmUp..<stream.datagrams.count, into: &counts)
        report.allocations += counts.filter { $0.steps > 0 }
        guard options.showsStacks else { return }
        var again = try self.path(stream, variant)
        again.play(0..<warmUp)
        callocation_record_stacks(1)
        again.play(warmUp..<stream.datagrams.count)
        callocation_record_stacks(0)
        print("\(variant.name): first allocations of the steady state; one for each frame is allowed")
        callocation_print_stacks(1)
    }

    /// The receive path of a packet allocates nothing, with SRTP and without; a frame once at most.
    private static func limit(_ step: ReceivePath.Step) -> Int {
        switch step {
        case .unprotect, .packet, .report, .protect, .senderReport: 0
        case .frame: 1
        }
    }

    private static func stream(_ variant: Variant, frameCount: Int) -> RecordedStream {
        var configuration = RecordedStream.Configuration()
        configuration.frameCount = frameCount
        configuration.sendsMetadata = variant.sendsMetadata
        let stream = RecordedStream(configuration)
        return variant.loss > 0 ? stream.repaired(afterLosing: variant.loss) : stream
    }

    private static func path(_ stream: RecordedStream, _ variant: Variant) throws -> ReceivePath {
        try ReceivePath(
            stream: stream, session: RecordedStream.session(usesFrameMetadata: variant.sendsMetadata),
            keys: variant.profile.map { profile in (keys(profile, isClient: true), keys(profile, isClient: false)) })
    }

    private static func keys(_ profile: SRTPProfile, isClient: Bool) -> SRTPKeys {
        let count = profile.keyCount + profile.saltCount
        return SRTPKeys(
            profile: profile, clientKey: (0..<count).map { UInt8($0) }, serverKey: (0..<count).map { UInt8(255 - $0) },
            isClient: isClient)
    }

    /// Datagrams of the first five seconds.
    private static func warmUpCount(_ stream: RecordedStream) -> Int {
        guard let first = stream.datagrams.first?.arrival else { return 0 }
        let end = first.adding(milliseconds: 5_000)
        return stream.datagrams.firstIndex { $0.arrival >= end } ?? stream.datagrams.count
    }
}

struct BenchmarkFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
