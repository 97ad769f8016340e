import Foundation

/// The counts that a run must reproduce, one file for each toolchain: another compiler may optimise otherwise.
struct AllocationBaseline: Codable {
    struct Expected: Codable, Hashable {
        var steps: Int
        var allocations: Int
        var maxPerStep: Int
        var frees: Int
    }

    var toolchain = AllocationBaseline.toolchain
    var allocations: [String: Expected]

    init(counts: [AllocationCount]) {
        allocations = Dictionary(counts.map { ($0.name, Self.expected($0)) }, uniquingKeysWith: { $1 })
    }

    /// Nil when this toolchain has none yet.
    static func load() throws -> AllocationBaseline? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try JSONDecoder().decode(AllocationBaseline.self, from: Data(contentsOf: file))
    }

    func write() throws {
        try JSONText.encode(self).write(to: Self.file)
        print("wrote \(Self.file.path)")
    }

    /// Fewer is a difference as well: the better count is then written down, and holds.
    func differences(from counts: [AllocationCount]) -> [String] {
        counts.compactMap { count in
            guard let expected = allocations[count.name] else { return "\(count.name): not in the baseline; --update-baseline adds it" }
            let found = Self.expected(count)
            guard found != expected else { return nil }
            return "\(count.name): \(Self.text(found)); the baseline has \(Self.text(expected))"
        }
    }

    private static func expected(_ count: AllocationCount) -> Expected {
        Expected(steps: count.steps, allocations: count.allocations, maxPerStep: count.maxPerStep, frees: count.frees)
    }

    private static func text(_ value: Expected) -> String {
        "\(value.allocations) allocations (at most \(value.maxPerStep)) and \(value.frees) frees in \(value.steps) steps"
    }

    private static var file: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Baselines/\(toolchain).json")
    }

    static var toolchain: String {
        #if compiler(>=6.4)
            "swift-6.4"
        #elseif compiler(>=6.3)
            "swift-6.3"
        #else
            "swift-6.2"
        #endif
    }
}
