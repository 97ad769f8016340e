// What a model's declared commands allow, checked before its handler runs. In: a command's name, data and uploads. Out: the
// arguments with defaults filled in, or one sentence for an `invalid_command` error, in the words of the vendor's runtime
// where a capture shows them (wire-protocol 8.3, captures/datachannel-v1-session.jsonl).

internal import Reactor
internal import ReactorCore

/// Checks the arguments of commands. A value; made once per runtime.
struct CommandContract: Sendable {
    /// Nil: the model takes whatever comes.
    private let commands: [String: LocalCommand]?

    struct Violation: Error, Hashable {
        var message: String
        init(_ message: String) { self.message = message }
    }

    init(_ commands: [LocalCommand]?) {
        self.commands = commands.map { Dictionary($0.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }) }
    }

    /// The arguments for the handler; files stand among them in their inline form.
    func check(_ command: Command) throws(Violation) -> [String: WireValue] {
        var arguments = command.data
        for (name, upload) in command.uploads { arguments[name] = upload.inlineValue }
        guard let commands else { return arguments }
        guard let declared = commands[command.type] else { throw Violation("unknown command") }
        let known = Set(declared.parameters.map(\.name))
        if let unknown = arguments.keys.filter({ !known.contains($0) }).min() { throw Violation("\(unknown.excerpt): unknown argument") }
        for parameter in declared.parameters {
            if let value = arguments[parameter.name] {
                if let problem = parameter.kind.problem(with: value) { throw Violation("\(parameter.name): \(problem)") }
            } else if let value = parameter.defaultValue {
                arguments[parameter.name] = value.wireValue
            } else {
                throw Violation("\(parameter.name): missing required argument")
            }
        }
        return arguments
    }

    /// The ids of all files among the arguments, each once.
    static func uploadIDs(in arguments: [String: WireValue]) -> [String] {
        var ids: [String] = []
        func visit(_ value: WireValue) {
            if let id = value.uploadID, !ids.contains(id) { ids.append(id) }
            for element in value.listValue ?? [] { visit(element) }
        }
        for name in arguments.keys.sorted() { visit(arguments[name] ?? .null) }
        return ids
    }
}

extension LocalParameter.Kind {
    /// What is wrong with a value; nil when it fits. All numbers come as doubles: 4.0 is an integer.
    fileprivate func problem(with value: WireValue) -> String? {
        switch self {
        case .string(let maxLength, let choices):
            guard let text = value.stringValue else { return mismatch("a string", value) }
            if !choices.isEmpty, !choices.contains(text) {
                return "'\(text.excerpt)' not in choices [\(choices.map { "'\($0)'" }.joined(separator: ", "))]"
            }
            // As JSON Schema counts; what a reader takes for one character may be any number of scalars.
            let length = text.unicodeScalars.count
            if let maxLength, length > maxLength { return "length \(length) > max_length(\(maxLength))" }
        case .number(let range):
            guard let number = value.numberValue else { return mismatch("a number", value) }
            return range.flatMap { Self.problem(number, outside: $0) }
        case .integer(let range):
            guard let number = value.numberValue else { return mismatch("an integer", value) }
            guard let integer = value.intValue else { return "\(number) is not an integer" }
            guard let range else { return nil }
            if integer < range.lowerBound { return "\(number) < ge(\(range.lowerBound))" }
            if integer > range.upperBound { return "\(number) > le(\(range.upperBound))" }
        case .boolean: if value.boolValue == nil { return mismatch("a boolean", value) }
        case .object: if value.objectValue == nil { return mismatch("an object", value) }
        case .list: if value.listValue == nil { return mismatch("a list", value) }
        case .upload: if value.uploadID == nil { return mismatch("an uploaded file", value) }
        }
        return nil
    }

    private static func problem(_ number: Double, outside range: ClosedRange<Double>) -> String? {
        if number < range.lowerBound { return "\(number) < ge(\(range.lowerBound))" }
        if number > range.upperBound { return "\(number) > le(\(range.upperBound))" }
        return nil
    }

    private func mismatch(_ wanted: String, _ value: WireValue) -> String {
        let found =
            switch value {
            case .null: "null"
            case .bool: "a boolean"
            case .number: "a number"
            case .string: "a string"
            case .list: "a list"
            case .object: "an object"
            }
        return "expected \(wanted), got \(found)"
    }
}

extension WireValue {
    /// The id when this is a file in its inline form.
    var uploadID: String? { self["upload_id"]?.stringValue }
}

extension UploadReference {
    /// As it stands inside command data (wire-protocol 5.6).
    var inlineValue: WireValue {
        .object([
            "upload_id": .string(uploadID), "name": .string(name), "mime_type": .string(mimeType), "size": .number(Double(size)),
        ])
    }
}

extension String {
    /// Enough of a client's text to recognise it.
    fileprivate var excerpt: String { unicodeScalars.count <= 64 ? self : String(unicodeScalars.prefix(64)) + "…" }
}
