import Foundation

/// One measured quantity: the median of its samples, next to a reference of the same run.
struct BenchmarkResult: Codable {
    struct Reference: Codable {
        var name: String
        var value: Double
    }

    var name: String
    var value: Double
    var unit: String
    var samples: [Double]
    /// In the same unit.
    var reference: Reference?
}

/// Everything one run found out.
struct BenchmarkReport: Codable {
    var toolchain = AllocationBaseline.toolchain
    var isSmoke: Bool
    var results: [BenchmarkResult] = []
    var allocations: [AllocationCount] = []
    private var updatesBaseline: Bool

    private enum CodingKeys: String, CodingKey { case toolchain, isSmoke = "smoke", results, allocations }

    init(options: BenchmarkOptions) {
        isSmoke = options.isSmoke
        updatesBaseline = options.updatesBaseline
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        toolchain = try container.decode(String.self, forKey: .toolchain)
        isSmoke = try container.decode(Bool.self, forKey: .isSmoke)
        results = try container.decode([BenchmarkResult].self, forKey: .results)
        allocations = try container.decode([AllocationCount].self, forKey: .allocations)
        updatesBaseline = false
    }

    mutating func add(_ name: String, unit: String, samples: [Double], reference: (name: String, samples: [Double])?) {
        results.append(
            BenchmarkResult(
                name: name, value: Self.median(samples), unit: unit, samples: samples,
                reference: reference.map { .init(name: $0.name, value: Self.median($0.samples)) }))
    }

    static func median(_ samples: [Double]) -> Double {
        guard !samples.isEmpty else { return 0 }
        let sorted = samples.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    func printTable() {
        for result in results {
            var line = Self.pad(result.name, 44) + Self.pad(Self.format(result.value), 10, isRight: true) + " " + Self.pad(result.unit, 10)
            if let low = result.samples.min(), let high = result.samples.max() {
                line += " [\(Self.format(low)) ... \(Self.format(high))]"
            }
            if let reference = result.reference, reference.value > 0 {
                line += "  \(Self.format(result.value / reference.value)) x \(reference.name) (\(Self.format(reference.value)))"
            }
            print(line)
        }
        for count in allocations { print(Self.pad(count.name, 44) + count.summary) }
        if allocations.isEmpty { print("allocations: not counted here") }
    }

    /// The gate: what must not allocate, then the comparison with the baseline.
    func checkAllocations() throws -> [String] {
        guard !allocations.isEmpty else { return [] }
        var failures = allocations.compactMap(\.violation)
        if updatesBaseline {
            try AllocationBaseline(counts: allocations).write()
        } else if let baseline = try AllocationBaseline.load() {
            failures += baseline.differences(from: allocations)
        } else {
            print("no baseline for \(toolchain): counts are not compared")
        }
        return failures
    }

    func writeJSON(to path: String) throws {
        try JSONText.encode(self).write(to: URL(fileURLWithPath: path))
    }

    private static func format(_ value: Double) -> String {
        String(format: abs(value) >= 100 ? "%.0f" : abs(value) >= 1 ? "%.2f" : "%.4f", value)
    }

    private static func pad(_ text: String, _ width: Int, isRight: Bool = false) -> String {
        let fill = String(repeating: " ", count: max(0, width - text.count))
        return isRight ? fill + text : text + fill
    }
}

/// JSON as it is committed: sorted and indented.
enum JSONText {
    static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value) + Data("\n".utf8)
    }
}
