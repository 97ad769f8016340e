/// Why a session description was refused. Text of the peer, which may hold credentials, is never part of it.
package struct SDPError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Problem: Hashable, Sendable {
        case textTooLong
        case tooManyLines
        case tooManySections
        case badLine
        case badVersion
        case badOrigin
        case badMediaLine
        /// An attribute that we understand, with a value that it cannot have.
        case badAttribute(name: String)
    }

    /// From 1; 0 when the problem is the text as a whole.
    package var line: Int
    package var problem: Problem

    package init(line: Int, problem: Problem) {
        self.line = line
        self.problem = problem
    }

    package var description: String {
        let what =
            switch problem {
            case .textTooLong: "the text is longer than \(SDPParser.maxBytes) bytes"
            case .tooManyLines: "more than \(SDPParser.maxLines) lines"
            case .tooManySections: "more than \(SDPParser.maxSections) media sections"
            case .badLine: "not of the form <letter>=<value>, or with a return or a NUL within"
            case .badVersion: "the first line must be v=0"
            case .badOrigin: "the o= line is missing or malformed"
            case .badMediaLine: "malformed m= line"
            case .badAttribute(let name): "malformed a=\(name)"
            }
        return line > 0 ? "SDP line \(line): \(what)" : "SDP: \(what)"
    }
}
