import CAllocationCounter

/// Allocations of one kind of step, counted over a fixed stretch of work.
struct AllocationCount: Codable, Hashable {
    var name: String
    /// Steps of this kind.
    var steps = 0
    var allocations = 0
    /// The most in one step.
    var maxPerStep = 0
    var frees = 0
    var bytes = 0
    /// The most that one step may allocate.
    var limitPerStep: Int

    init(name: String, limitPerStep: Int) {
        self.name = name
        self.limitPerStep = limitPerStep
    }

    var summary: String {
        let perStep = steps > 0 ? Double(allocations) / Double(steps) : 0
        return
            "\(allocations) allocations, \(frees) frees in \(steps) steps (\((perStep * 1000).rounded() / 1000) each, at most \(maxPerStep))"
    }

    var violation: String? {
        guard maxPerStep > limitPerStep else { return nil }
        return "\(name): \(maxPerStep) allocations in one step, at most \(limitPerStep) allowed; --stacks shows where"
    }

    /// Books what happened between two readings; `parts` steps at once, because one packet may release several frames.
    mutating func add(_ before: callocation_counts, _ after: callocation_counts, parts: Int = 1) {
        let count = Int(after.allocations - before.allocations)
        steps += parts
        allocations += count
        maxPerStep = max(maxPerStep, (count + parts - 1) / parts)
        frees += Int(after.frees - before.frees)
        bytes += Int(after.bytes - before.bytes)
    }
}
