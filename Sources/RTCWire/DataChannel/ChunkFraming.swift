/// The one-byte head of a frame on a chunked channel, and the SDP attribute that agrees on it (shared wire protocol §5.8).
package enum ChunkFraming {
    /// Further frames of this message follow.
    package static let more: UInt8 = 0x01
    /// The message is UTF-8 text; the same in all its frames.
    package static let text: UInt8 = 0x02
    /// A full frame, head included.
    package static let frameBytes = 65_536

    /// Session-level attribute of the SDP.
    package static let attributeName = "x-reactor-dc-chunking"

    /// What the attribute's value declares.
    package struct Declaration: Hashable, Sendable {
        /// The largest message its writer takes; nil when it names no limit.
        package var maxMessageBytes: Int?

        package init(maxMessageBytes: Int?) { self.maxMessageBytes = maxMessageBytes }

        /// Nil, meaning "not declared", for another version than 1 or a size that is not a number. Unknown parameters
        /// are passed over.
        package init?(attributeValue: String?) {
            let parts = (attributeValue ?? "").split(separator: " ")
            guard parts.first == "1" else { return nil }
            for part in parts.dropFirst() where part.hasPrefix("max-message-size=") {
                let digits = part.dropFirst("max-message-size=".count)
                guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
                maxMessageBytes = Int(digits) ?? .max
            }
        }

        package var attributeValue: String { maxMessageBytes.map { "1 max-message-size=\($0)" } ?? "1" }
    }
}
