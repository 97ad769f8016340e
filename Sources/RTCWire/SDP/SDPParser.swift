/// Skeleton.
enum SDPParser {
    static let maxBytes = 256 * 1024
    static let maxLines = 4096
    static let maxSections = 128

    static func parse(_ text: String) throws(SDPError) -> SessionDescription { throw SDPError(line: 0, problem: .badLine) }
}
