import RTCBase

extension Scenario {
    /// One run over a recorded cellular link: 20 ms one way, a queue of 1 s, as long as the trace.
    ///
    /// - Parameter isLTE: such links are held to what a video call should make of them; the older ones are only measured.
    package static func trace(_ trace: DeliveryTrace, name: String, isLTE: Bool, seconds: Double? = nil, seed: UInt64 = 1) -> Scenario {
        var forward = LinkConditions(delayMilliseconds: 20)
        forward.capacity = .trace(trace, start: PeerSimulation.start)
        forward.queueMilliseconds = 1_000
        var settings = PeerSimulation.Settings(seed: seed, forward: forward, backward: LinkConditions(delayMilliseconds: 20))
        settings.seconds = seconds ?? Double(trace.roundMilliseconds) / 1_000
        settings.flows[0].call.hasAudio = true
        var scenario = Scenario(
            profile: name, settings: settings,
            summary: "\(Int(trace.meanBitsPerSecond / 1_000)) kbit/s on average, \(Int(settings.seconds)) s")
        scenario.limits = ScenarioLimits()
        scenario.limits.queueingDelay95Milliseconds = isLTE ? 250 : nil
        scenario.limits.linkUse = isLTE ? 0.6 : nil
        scenario.limits.pauseBeyondLinkMilliseconds = isLTE ? 1_000 : nil
        return scenario
    }
}
