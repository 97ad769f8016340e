import RTCBase
import RTCSimulation
import Testing

@Suite("NetworkProfile")
struct NetworkProfileTests {
    @Test("names are unique, and a run of seeds meets every profile")
    func table() {
        let names = NetworkProfile.all.map(\.name)
        #expect(Set(names).count == names.count)
        let met = Set((1...UInt64(names.count)).map { NetworkProfile.of(seed: $0).name })
        #expect(met == Set(names))
        #expect(NetworkProfile.named("nowhere") == nil)
    }

    @Test(
        "draws stay within what was promised: 300 kbit/s to 20 Mbit/s, 20 to 300 ms, at least 60 s",
        arguments: NetworkProfile.all.map(\.name))
    func ranges(name: String) throws {
        let profile = try #require(NetworkProfile.named(name))
        var summaries: Set<String> = []
        for seed in 1...200 as ClosedRange<UInt64> {
            let scenario = profile.scenario(seed: seed)
            summaries.insert(scenario.summary)
            let settings = scenario.settings
            #expect(settings.seconds >= 60)
            let roundTrip = settings.forward.delayMilliseconds + settings.backward.delayMilliseconds
            #expect((20...300).contains(roundTrip))
            switch settings.forward.capacity {
            case .constant(let rate): #expect((299_999...20_000_001).contains(rate))
            case .steps(let steps):
                #expect(steps.allSatisfy { (299_999...20_000_001).contains($0.bitsPerSecond) })
                #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.time < $1.time })
            default: Issue.record("no capacity")
            }
            for span in scenario.steady { #expect(span.lowerBound >= 0 && span.upperBound <= settings.seconds && !span.isEmpty) }
        }
        #expect(summaries.count > 100)
    }

    @Test("one seed is one network")
    func determinism() {
        for profile in NetworkProfile.all {
            let (first, second) = (profile.scenario(seed: 9), profile.scenario(seed: 9))
            #expect(first.summary == second.summary)
            #expect(first.settings.forward.delayMilliseconds == second.settings.forward.delayMilliseconds)
        }
    }
}
