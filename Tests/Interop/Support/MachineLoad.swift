import Foundation
import Glibc

/// How much of the machine's cores was free during a stretch of time, from `/proc/stat`. Time taken by the host counts as used.
struct MachineLoad: Sendable {
    private let total: Double
    private let idle: Double

    static var now: MachineLoad {
        let line = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.split(separator: "\n").first
        // user nice system idle iowait irq softirq steal; what follows is part of user and nice.
        let ticks = line?.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) } ?? []
        return MachineLoad(total: ticks.reduce(0, +), idle: ticks.count > 4 ? ticks[3] + ticks[4] : 0)
    }

    /// The free share of all cores since `start`, 0 to 1.
    func freeShare(since start: MachineLoad) -> Double { total > start.total ? (idle - start.idle) / (total - start.total) : 0 }

    /// Below this, threads wait for cores so often that a missing frame says nothing about who lost it.
    static let enough = 0.25

    /// Below this, the machine is too slow for what it was asked.
    static let some = 0.08
}
