import RTCBase

/// One run to be made: what a profile drew from a seed, and what must come out of it.
package struct Scenario: Sendable {
    package var profile: String
    package var settings: PeerSimulation.Settings
    /// The numbers drawn, for people.
    package var summary: String
    /// Spans in seconds over which the estimate is compared with the capacity.
    package var steady: [Range<Double>] = []
    /// Seconds at which a drop or an outage ends, each with the time in seconds that the next change leaves.
    package var dropEnds: [Double] = []
    /// When an encoder that had little to send wants more, and how much.
    package var demandRise: (second: Double, bitsPerSecond: Double)?
    /// The span over which the shares of flows are compared.
    package var sharing: Range<Double>?
    package var limits = ScenarioLimits()

    package init(profile: String, settings: PeerSimulation.Settings, summary: String) {
        self.profile = profile
        self.settings = settings
        self.summary = summary
    }
}

/// What is demanded of a run; nil is not asked for.
package struct ScenarioLimits: Sendable {
    /// Of the capacity, the mean over each steady span.
    package var steadyShare: ClosedRange<Double>? = 0.70...1.05
    /// Until the estimate is at 80 % of the capacity again after a drop.
    package var recoverySeconds: Double? = 10
    package var queueingDelay95Milliseconds: Double? = 150
    /// Of all frames made, those that arrived.
    package var deliveredShare: Double?
    /// The larger flow's share of what two flows sent.
    package var largerShare: Double? = 0.60
    /// Of the link's capacity, over the whole run.
    package var linkUse: Double?
    /// The longest pause between frames beyond what the link itself was silent.
    package var pauseBeyondLinkMilliseconds: Double?

    package init() {}
}
