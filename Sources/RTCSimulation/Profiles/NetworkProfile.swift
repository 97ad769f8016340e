// The table of networks that the engine is held against. A profile names a kind of weather; a seed draws its numbers (rates
// from 300 kbit/s to 20 Mbit/s, round trips from 20 to 300 ms, moments of change), so that each seed is another network
// of that kind. What must come out is part of the scenario and the same for every seed.

import RTCBase

package struct NetworkProfile: Sendable {
    package let name: String
    package let explanation: String
    private let draw: @Sendable (inout Draw) -> Scenario

    fileprivate init(_ name: String, _ explanation: String, draw: @escaping @Sendable (inout Draw) -> Scenario) {
        self.name = name
        self.explanation = explanation
        self.draw = draw
    }

    /// The run that `seed` means in this profile.
    package func scenario(seed: UInt64) -> Scenario {
        var draw = Draw(profile: name, seed: seed)
        return self.draw(&draw)
    }

    package static func named(_ name: String) -> NetworkProfile? { all.first { $0.name == name } }

    /// The one that a seed belongs to when all profiles are run: seeds go through the table again and again.
    package static func of(seed: UInt64) -> NetworkProfile { all[Int(seed % UInt64(all.count))] }

    package static let all: [NetworkProfile] = [
        NetworkProfile("clean", "one rate, nothing lost") { $0.steady() },
        NetworkProfile("loss1", "1 % lost both ways") { $0.steady(loss: 0.01) },
        NetworkProfile("loss2", "2 % lost both ways") { $0.steady(loss: 0.02) },
        NetworkProfile("loss5", "5 % lost both ways") { $0.steady(loss: 0.05) },
        NetworkProfile("loss10", "10 % lost both ways") { $0.steady(loss: 0.10) },
        NetworkProfile("loss2-60ms", "2 % lost, 60 ms round trip, 1 to 20 Mbit/s: nearly every frame must be recovered") { draw in
            var scenario = draw.steady(loss: 0.02, rates: 1e6...20e6, roundTrips: 60...60)
            scenario.limits.deliveredShare = 0.995
            return scenario
        },
        NetworkProfile("bursts", "losses of four packets in a row, 2 % in all") { draw in
            var scenario = draw.steady()
            scenario.settings.forward.burstLoss = BurstLoss(enter: 0.005, leave: 0.25)
            return scenario
        },
        NetworkProfile("jitter", "up to 30 ms of jitter, packets overtaken and doubled") { draw in
            var scenario = draw.steady()
            let jitter = draw.number(5...30)
            for path in [\PeerSimulation.Settings.forward, \.backward] {
                scenario.settings[keyPath: path].jitterMilliseconds = jitter
                scenario.settings[keyPath: path].reordering = 0.01
                scenario.settings[keyPath: path].duplication = 0.01
            }
            scenario.summary += ", jitter \(Int(jitter)) ms"
            return scenario
        },
        NetworkProfile("drop", "the rate falls to between 15 and 50 % for 5 to 15 s") { $0.drop() },
        NetworkProfile("drop-2M-300k", "2 Mbit/s, 300 kbit/s for 10 s, 2 Mbit/s again (CC-07)") { draw in
            draw.steps([(0, 2e6), (20, 300_000), (30, 2e6)], dropEnds: [30], steady: [10..<20, 40..<60])
        },
        NetworkProfile("steps", "another rate every 15 s") { draw in
            let rates = (0..<4).map { _ in draw.rate(500_000...10e6) }
            let steps = rates.enumerated().map { (Double($0.offset) * 15, $0.element) }
            let rises = (1..<4).filter { rates[$0] > rates[$0 - 1] }.map { Double($0) * 15 }
            return draw.steps(steps, dropEnds: rises, steady: (0..<4).map { Double($0) * 15 + 10..<Double($0) * 15 + 15 })
        },
        NetworkProfile("outage", "nothing passes for 1 to 5 s, both ways") { $0.outage() },
        NetworkProfile("two-flows", "two senders, the second one later, 1 to 10 Mbit/s for both") { $0.twoFlows() },
        NetworkProfile("held-off", "both processes lose the core for up to 250 ms, again and again") { draw in
            var scenario = draw.steady(rates: 1e6...10e6, roundTrips: 20...150)
            let (begin, end) = (PeerSimulation.start, PeerSimulation.time(60))
            var generator = SplitMix64(seed: draw.seed &+ 77)
            scenario.settings.senderHeldOff = .random(
                perSecond: draw.number(0.5...2), longestMilliseconds: 250, from: begin, to: end, generator: &generator)
            scenario.settings.receiverHeldOff = .random(
                perSecond: draw.number(0.5...2), longestMilliseconds: 250, from: begin, to: end, generator: &generator)
            return scenario
        },
        NetworkProfile("app-limited", "300 kbit/s are enough for 30 s, then 2 Mbit/s are wanted (CC-01)") { draw in
            var scenario = draw.steady(rates: 3e6...10e6)
            scenario.settings.flows[0].encoder.maxBitsPerSecond = 300_000
            scenario.settings.flows[0].ceilings = [(30, 2_000_000)]
            scenario.steady = []
            scenario.demandRise = (30, 2e6)
            return scenario
        },
        NetworkProfile("storm", "losses, bursts, jitter, disorder and a changing rate together") { $0.storm() },
    ]
}

/// What profiles make their scenarios from.
private struct Draw {
    let profile: String
    let seed: UInt64
    private var generator: SplitMix64

    init(profile: String, seed: UInt64) {
        self.profile = profile
        self.seed = seed
        generator = SplitMix64(seed: seed &* 0x2545_F491_4F6C_DD1D &+ 1)
    }

    mutating func number(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound + (range.upperBound - range.lowerBound) * generator.nextUnit()
    }

    /// As likely between 300 and 600 kbit/s as between 10 and 20 Mbit/s.
    mutating func rate(_ range: ClosedRange<Double>) -> Double {
        var factor = range.upperBound / range.lowerBound
        let unit = generator.nextUnit()
        // factor to the power of unit, by halving: no mathematics library here.
        var result = range.lowerBound
        var part = 0.5
        var rest = unit
        for _ in 0..<20 {
            factor = factor.squareRoot()
            if rest >= part {
                result *= factor
                rest -= part
            }
            part /= 2
        }
        return result
    }

    static let allRates = 300_000.0...20e6
    static let allRoundTrips = 20.0...300

    mutating func steady(
        loss: Double = 0, rates: ClosedRange<Double> = allRates, roundTrips: ClosedRange<Double> = allRoundTrips
    ) -> Scenario {
        let bitsPerSecond = rate(rates)
        let roundTrip = number(roundTrips)
        var scenario = scenario(capacity: .constant(bitsPerSecond: bitsPerSecond), roundTrip: roundTrip, loss: loss)
        scenario.summary = "\(Self.text(bitsPerSecond)), round trip \(Int(roundTrip)) ms"
        scenario.steady = [Self.settleSeconds..<60]
        return scenario
    }

    mutating func drop() -> Scenario {
        let high = rate(1e6...20e6)
        let low = max(300_000, high * number(0.15...0.5))
        let begin = number(15...20)
        let end = begin + number(5...15)
        return steps(
            [(0, high), (begin, low), (end, high)], dropEnds: [end], steady: [Self.settleSeconds..<begin, end + Self.settleSeconds..<60])
    }

    mutating func steps(_ rates: [(second: Double, bitsPerSecond: Double)], dropEnds: [Double], steady: [Range<Double>]) -> Scenario {
        let roundTrip = number(20...200)
        let steps = rates.map { LinkCapacity.RateStep(time: PeerSimulation.time($0.second), bitsPerSecond: $0.bitsPerSecond) }
        var scenario = scenario(capacity: .steps(steps), roundTrip: roundTrip, loss: 0)
        scenario.summary = rates.map { Self.text($0.bitsPerSecond) }.joined(separator: ", ") + ", round trip \(Int(roundTrip)) ms"
        scenario.dropEnds = dropEnds
        scenario.steady = steady
        return scenario
    }

    mutating func outage() -> Scenario {
        var scenario = steady(rates: 500_000...10e6, roundTrips: 20...200)
        let begin = number(18...22)
        let end = begin + number(1...5)
        let span = PeerSimulation.time(begin)..<PeerSimulation.time(end)
        scenario.settings.forward.outages = [span]
        scenario.settings.backward.outages = [span]
        scenario.summary += ", \(Int((end - begin) * 1_000)) ms of outage"
        scenario.dropEnds = [end]
        scenario.steady = [Self.settleSeconds..<begin, end + Self.settleSeconds..<60]
        return scenario
    }

    mutating func twoFlows() -> Scenario {
        var scenario = steady(rates: 1e6...10e6, roundTrips: 20...200)
        scenario.settings.seconds = 90
        scenario.settings.flows.append(PeerSimulation.Flow())
        scenario.settings.flows[1].beginSecond = number(0...15)
        scenario.steady = []
        scenario.sharing = 30..<90
        return scenario
    }

    mutating func storm() -> Scenario {
        let rates = (0..<3).map { _ in rate(500_000...8e6) }
        var scenario = steps(rates.enumerated().map { (Double($0.offset) * 20, $0.element) }, dropEnds: [], steady: [])
        for path in [\PeerSimulation.Settings.forward, \.backward] {
            scenario.settings[keyPath: path].loss = number(0...0.03)
            scenario.settings[keyPath: path].burstLoss = BurstLoss(enter: 0.002, leave: 0.3)
            scenario.settings[keyPath: path].jitterMilliseconds = number(0...20)
            scenario.settings[keyPath: path].reordering = 0.005
            scenario.settings[keyPath: path].duplication = 0.005
        }
        return scenario
    }

    private mutating func scenario(capacity: LinkCapacity, roundTrip: Double, loss: Double) -> Scenario {
        var forward = LinkConditions(loss: loss, delayMilliseconds: roundTrip / 2)
        forward.capacity = capacity
        forward.queueMilliseconds = number(300...1_000)
        let backward = LinkConditions(loss: loss, delayMilliseconds: roundTrip / 2)
        var settings = PeerSimulation.Settings(seed: seed, forward: forward, backward: backward)
        settings.flows[0].encoder.codec = generator.chance(0.5) ? .vp8 : .vp9
        settings.flows[0].call.hasAudio = generator.chance(0.5)
        settings.flows[0].call.usesFrameMetadata = generator.chance(0.5)
        return Scenario(profile: profile, settings: settings, summary: "")
    }

    private static func text(_ bitsPerSecond: Double) -> String { "\(Int(bitsPerSecond / 1_000)) kbit/s" }

    /// From the start or a change on, until the estimate is held against the capacity.
    private static let settleSeconds = 10.0
}
