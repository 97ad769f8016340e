import RTCSimulation
import Testing

/// A run of each profile; thousands of them: `reactor-simulate --seeds`.
@Suite("Networks")
struct ProfileRunTests {
    @Test("every demand is met, and nothing happens that must never", arguments: NetworkProfile.all.map(\.name))
    func profile(name: String) throws {
        let profile = try #require(NetworkProfile.named(name))
        let outcome = Outcome(profile.scenario(seed: 1))
        #expect(outcome.failures.isEmpty, "seed 1, profile \(name)")
    }
}
