import RTCCodec
import RTCEngine
import RTCSimulation
import Testing

/// Seeds per profile; a debug build is slow.
private let seedCount: UInt64 = {
    #if DEBUG
        1
    #else
        8
    #endif
}()

/// Audio over bad networks, in virtual time and with the real codec: how much delay, how much made up, and no click.
@Suite struct AudioSimulationTests {
    /// A tone through the codec has steps hardly larger than its own; 25 % is far below a click.
    ///
    /// - Parameter factor: more where the decoder itself makes up for lost packets.
    private func expectNoClick(_ result: AudioSimulation.Result, of sound: [Int16], factor: Double = 1.25, _ name: String) {
        let largest = SyntheticSound.largestStep(result.samples)
        let own = SyntheticSound.largestStep(sound)
        #expect(Double(largest) <= Double(own) * factor + 40, "\(name)")
    }

    @Test("a clean path costs what it must: the target is 2 ms, and the deadlines come to it", arguments: [0.4, 3.7, 8.9])
    func clean(phase: Double) throws {
        var settings = AudioSimulation.Settings()
        settings.seconds = 25
        settings.phaseMilliseconds = phase
        settings.movesDeadlines = true
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        #expect(result.target(at: 2) == 2)
        #expect(result.delay(20..<25).highest < 4)
        #expect(result.largestDeadlineStep <= 0.020001)
        #expect(result.statistics.concealedSamples == 0)
        #expect(result.statistics.underruns == 0)
        #expect(result.statistics.expandedSamples == 0)
        expectNoClick(result, of: settings.sound, "phase \(phase)")
    }

    @Test("with deadlines that stay, less than a block is wasted", arguments: [0.4, 3.7, 8.9])
    func fixedDeadlines(phase: Double) throws {
        var settings = AudioSimulation.Settings()
        settings.phaseMilliseconds = phase
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        #expect(result.delay(5..<20).highest <= 13)
        #expect(result.statistics.concealedSamples == 0)
    }

    @Test("jitter is met with as much delay as it takes", arguments: [10.0, 30, 100], [false, true])
    func jitter(_ amount: Double, reorders: Bool) throws {
        for seed in 1...seedCount {
            var settings = AudioSimulation.Settings()
            settings.seed = seed
            settings.jitterMilliseconds = amount
            settings.reorders = reorders
            var simulation = AudioSimulation(settings)
            let result = try simulation.run()
            let name = "jitter \(amount), seed \(seed), reorders \(reorders)"
            #expect((amount * 0.85...amount + 3).contains(result.target(at: 20)), "\(name)")
            // Target, a block of 10 ms, and the part of a block that a joint left.
            #expect(result.delay(10..<20).mean <= amount + 16, "\(name)")
            #expect(result.concealedShare < 0.01, "\(name)")
            // What is overtaken by more than the delay; a packet in a hundred is let go.
            #expect(result.drops <= 15, "\(name)")
            #expect(abs(SyntheticSound.pitch(Array(result.samples.dropFirst(96_000))) / 440 - 1) < 0.01, "\(name)")
            expectNoClick(result, of: settings.sound, factor: 2, name)
        }
    }

    @Test(
        "300 ms of nothing and then a heap: all of it is played, and the delay is back within 2 s", arguments: 1...seedCount)
    func burst(seed: UInt64) throws {
        var settings = AudioSimulation.Settings()
        settings.seed = seed
        settings.jitterMilliseconds = 4
        settings.outage = 10_000..<10_300
        settings.sound = SyntheticSound.voice(pitch: 120, frames: 96_000, seed: seed)
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        let before = result.delay(8..<10).mean
        #expect(result.delay(10..<11).highest > 200, "seed \(seed)")
        #expect(result.delay(12.3..<20).mean <= before + 6, "seed \(seed)")
        #expect(result.delay(12.3..<20).highest <= before + 22, "seed \(seed)")
        #expect(result.drops == 0, "seed \(seed)")
        #expect(result.statistics.packetsPlayed >= UInt64(result.sent) - 2, "seed \(seed)")
        // One event is no reason to be late for ever.
        #expect(result.target(at: 20) < 10, "seed \(seed)")
        // Where unlike periods are joined in a hurry the fade keeps their power, which can add up to 1.41 of the larger.
        expectNoClick(result, of: settings.sound, factor: 1.6, "seed \(seed)")
    }

    @Test("an outage that loses everything leaves a faded hole and the delay as it was", arguments: [300, 3_000])
    func lostOutage(milliseconds: Int) throws {
        var settings = AudioSimulation.Settings()
        settings.outage = 10_000..<10_000 + milliseconds
        settings.losesOutage = true
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        #expect(result.statistics.concealedSamples <= 4_800 + 960)
        #expect(result.delay(16..<20).mean <= result.delay(8..<10).mean + 11)
        expectNoClick(result, of: settings.sound, factor: 1.5, "\(milliseconds) ms")
    }

    @Test("3 s of outage and then a heap: what is played is new at once")
    func longOutage() throws {
        var settings = AudioSimulation.Settings()
        settings.outage = 10_000..<13_000
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        #expect(result.delay(15..<20).highest <= 25)
        expectNoClick(result, of: settings.sound, factor: 1.5, "heap")
    }

    @Test("AUD-07 with FEC most of what is lost is recovered", arguments: [0.02, 0.05, 0.1], 1...seedCount)
    func lossWithFEC(_ loss: Double, seed: UInt64) throws {
        var settings = AudioSimulation.Settings()
        settings.seconds = 30
        settings.seed = seed
        settings.loss = loss
        settings.opus.expectedLossPercent = 20
        settings.opus.bitsPerSecond = 24_000
        settings.sound = SyntheticSound.speech(pitch: 140, frames: 96_000, seed: seed)
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        let share = Double(result.lost) / Double(result.sent)
        let name = "loss \(loss), seed \(seed)"
        // The last packet may be among the lost.
        #expect(result.lost - Int(result.statistics.packetsLost) <= 1, "\(name)")
        // A quarter of the packets, those of the pauses, carry no copy; two in a row leave one copy.
        #expect(result.concealedShare <= share * 0.7, "\(name)")
        #expect(result.statistics.repairedSamples >= UInt64(result.lost * 960) * 3 / 10, "\(name)")
        #expect(result.delay(20..<30).mean <= 45, "\(name)")
        expectNoClick(result, of: settings.sound, factor: 2.2, name)
    }

    @Test("AUD-07 without FEC as much is made up as is lost, and the delay stays low", arguments: [0.02, 0.05, 0.1], 1...seedCount)
    func lossWithoutFEC(_ loss: Double, seed: UInt64) throws {
        var settings = AudioSimulation.Settings()
        settings.seconds = 30
        settings.seed = seed
        settings.loss = loss
        settings.opus.usesFEC = false
        settings.sound = SyntheticSound.speech(pitch: 140, frames: 96_000, seed: seed)
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        let share = Double(result.lost) / Double(result.sent)
        let name = "loss \(loss), seed \(seed)"
        #expect(result.statistics.repairedSamples == 0, "\(name)")
        #expect(result.concealedShare <= share * 1.1, "\(name)")
        #expect(result.delay(20..<30).mean <= 16, "\(name)")
        expectNoClick(result, of: settings.sound, factor: 2.2, name)
    }

    @Test("a clock that is 200 ppm off is absorbed by stretching", arguments: [-200.0, 200], 1...seedCount)
    func drift(_ ppm: Double, seed: UInt64) throws {
        var settings = AudioSimulation.Settings()
        settings.seconds = 120
        settings.seed = seed
        settings.driftPPM = ppm
        settings.jitterMilliseconds = 2
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        let name = "\(ppm) ppm, seed \(seed)"
        #expect(result.delay(10..<120).highest <= 28, "\(name)")
        #expect(result.concealedShare < 0.001, "\(name)")
        // 24 ms in 120 s.
        let change =
            Double(result.statistics.acceleratedSamples) - Double(result.statistics.expandedSamples + result.statistics.concealedSamples)
        #expect(abs(change / 48 - (ppm > 0 ? 24 : -24)) < 16, "\(name)")
        #expect(abs(SyntheticSound.pitch(Array(result.samples.dropFirst(96_000))) / 440 - 1) < 0.001, "\(name)")
        expectNoClick(result, of: settings.sound, name)
    }

    @Test("deadlines that move follow a clock that is 200 ppm off without any stretching", arguments: [-200.0, 200])
    func followedDrift(_ ppm: Double) throws {
        var settings = AudioSimulation.Settings()
        settings.seconds = 120
        settings.driftPPM = ppm
        settings.movesDeadlines = true
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        #expect(result.delay(30..<120).highest <= 5)
        // What the beginning kept in reserve goes once.
        #expect(result.statistics.expandedSamples == 0 && result.statistics.acceleratedSamples <= 960)
        #expect(result.concealedShare < 0.0005)
        // AUD-08: 100.0 ± 0.1 a second.
        #expect(abs(Double(result.readings.count) / 119.95 - 100) < 0.1)
    }

    @Test("AUD-01 a sender that is silent by DTX costs no loss, no concealment and no delay")
    func dtx() throws {
        var settings = AudioSimulation.Settings()
        settings.seconds = 30
        settings.jitterMilliseconds = 5
        settings.opus.usesDTX = true
        // Two seconds of voice, four of nothing.
        settings.sound = SyntheticSound.voice(pitch: 130, frames: 96_000) + Array(repeating: 0, count: 192_000)
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        #expect(result.statistics.packetsLost == 0)
        #expect(result.concealedShare < 0.005)
        #expect(result.delay(10..<30).mean < 20)
        expectNoClick(result, of: settings.sound, factor: 1.3, "dtx")
    }

    @Test("AUD-03 both channels of a stereo sender are delivered, each with its own tone")
    func stereo() throws {
        var settings = AudioSimulation.Settings()
        settings.seconds = 6
        settings.jitterMilliseconds = 8
        settings.opus.channels = 2
        settings.opus.bitsPerSecond = 96_000
        settings.sound = zip(
            SyntheticSound.tone(440, frames: 0..<48_000), SyntheticSound.tone(1_000, frames: 0..<48_000)
        ).flatMap { [$0, $1] }
        var simulation = AudioSimulation(settings)
        let result = try simulation.run()
        #expect(result.channels == 2)
        let tail = Array(result.samples.suffix(96_000))
        for (offset, frequency) in [(0, 440.0), (1, 1_000.0)] {
            let side = stride(from: offset, to: tail.count, by: 2).map { tail[$0] }
            #expect(abs(SyntheticSound.pitch(side) / frequency - 1) < 0.01)
        }
    }

    @Test("a seed names a run exactly")
    func determinism() throws {
        var settings = AudioSimulation.Settings()
        settings.seconds = 5
        settings.jitterMilliseconds = 40
        settings.loss = 0.05
        var (first, second) = (AudioSimulation(settings), AudioSimulation(settings))
        let (a, b) = (try first.run(), try second.run())
        #expect(a.samples == b.samples && a.statistics == b.statistics)
    }
}
