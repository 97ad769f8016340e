import Foundation
import Reactor
import ReactorTesting

/// Sends a tone, hears it come back.
enum SoundBothWays: Example {
    static let name = "sound"
    static let summary = "push samples of a microphone, take blocks of 10 ms for a speaker"
    static var model: any LocalModel { EchoModel() }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let reactor = try Reactor(model: "echo", configuration: configuration)
        try await reactor.connect()
        let mic = try reactor.track("mic")
        try await mic.publish()

        let singing = Task {
            var phase = 0.0
            while !Task.isCancelled {
                // 20 ms at 24 kHz; other rates, two channels and chunks of any length are taken as well.
                let samples = (0..<480).map { _ -> Int16 in
                    phase += 2 * .pi * 440 / 24_000
                    return Int16(12_000 * sin(phase))
                }
                try mic.pushFrame(samples, sampleRate: 24_000)
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        var (blocks, loudest) = (0, Int16(0))
        // Sound is queued for a loop that is late, up to 2 s: nothing is lost.
        for await block in try reactor.track("main_audio").audioFrames {
            blocks += 1
            loudest = max(loudest, block.samples.max() ?? 0)
            if loudest > 6000 || blocks == 500 { break }
        }
        singing.cancel()
        print("\(blocks) blocks heard, the loudest sample is \(loudest)")
        try await reactor.disconnect()
        guard loudest > 6000 else { throw NotSeen("the tone did not come back") }
    }
}
