import RTCSimulation

/// What the runs of each profile came to, in one line each.
struct ProfileTable {
    private struct Line {
        var runs = 0
        var failed = 0
        var shares: [Double] = []
        var delays: [Double] = []
        var recoveries: [Double] = []
        var delivered: [Double] = []
        var pauses: [Double] = []
        var uses: [Double] = []
        var largerShares: [Double] = []
        var latencies: [Double] = []
    }

    private var lines: [String: Line] = [:]
    private(set) var virtualSeconds = 0.0

    mutating func add(_ outcome: Outcome) {
        virtualSeconds += outcome.scenario.settings.seconds
        var line = lines.removeValue(forKey: outcome.scenario.profile) ?? Line()
        line.runs += 1
        if !outcome.failures.isEmpty { line.failed += 1 }
        line.shares += outcome.steadyShares
        line.delays.append(outcome.queueingDelay95Milliseconds)
        line.recoveries += outcome.recoverySeconds
        if let seconds = outcome.demandSeconds { line.recoveries.append(seconds) }
        line.delivered.append(outcome.deliveredShare)
        line.pauses.append(outcome.longestPauseMilliseconds)
        line.uses.append(outcome.linkUse)
        if let share = outcome.largerShare { line.largerShares.append(share) }
        line.latencies += outcome.report.flows.map { $0.latency.milliseconds(percentile: 95) }
        lines[outcome.scenario.profile] = line
    }

    func print() {
        Swift.print(
            pad("profile", 14) + pad("runs", 6) + pad("failed", 8) + pad("estimate % min/med/max", 24) + pad("queue p95 ms med/max", 22)
                + pad("back s med/max", 16) + pad("frames % min/med", 18) + pad("latency p95 ms med", 20) + pad("pause ms med/max", 18)
                + pad("link %", 8) + "larger flow %")
        for profile in NetworkProfile.all {
            guard let line = lines[profile.name] else { continue }
            Swift.print(
                pad(profile.name, 14) + pad("\(line.runs)", 6) + pad("\(line.failed)", 8)
                    + pad(figures(line.shares, [0, 50, 100], times: 100, digits: 0), 24) + pad(figures(line.delays, [50, 100]), 22)
                    + pad(figures(line.recoveries, [50, 100], digits: 1), 16)
                    + pad(figures(line.delivered, [0, 50], times: 100, digits: 2), 18) + pad(figures(line.latencies, [50]), 20)
                    + pad(figures(line.pauses, [50, 100]), 18) + pad(figures(line.uses, [50], times: 100), 8)
                    + figures(line.largerShares, [50, 100], times: 100))
        }
    }

    private func figures(_ values: [Double], _ percentiles: [Int], times factor: Double = 1, digits: Int = 0) -> String {
        guard !values.isEmpty else { return "-" }
        let sorted = values.sorted()
        return percentiles.map { number(sorted[(sorted.count - 1) * $0 / 100] * factor, digits: digits) }.joined(separator: " / ")
    }
}

/// Text of a fixed width, never cut.
func pad(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(1, width - text.count)) }

func number(_ value: Double, digits: Int = 0) -> String {
    guard value.isFinite else { return "never" }
    guard digits > 0 else { return "\(Int(value.rounded()))" }
    let factor = digits == 1 ? 10.0 : 100.0
    return "\((value * factor).rounded() / factor)"
}
