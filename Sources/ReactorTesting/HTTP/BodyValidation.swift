// Checks of request bodies and parameters, with the error list that clients of the platform know: each entry says what is
// wrong (`type`, `msg`), where (`loc`) and with which value (`input`), see wire-protocol 3.

import ReactorCore

/// One entry of a 422 answer.
struct ValidationIssue: Hashable, Sendable {
    var type: String
    var location: [WireValue]
    var message: String
    var input: WireValue
    var context: [String: WireValue]?

    var wireValue: WireValue {
        var object: [String: WireValue] = [
            "type": .string(type), "loc": .list(location), "msg": .string(message), "input": input,
        ]
        if let context { object["ctx"] = .object(context) }
        return .object(object)
    }
}

/// Why a request is not answered as it wishes.
enum RouteError: Error {
    case failure(RouteFailure)
    case invalid([ValidationIssue])

    var response: HTTPServerResponse {
        switch self {
        case .failure(let failure): .error(failure)
        case .invalid(let issues): .json(422, .object(["detail": .list(issues.map(\.wireValue))]))
        }
    }
}

/// Reads members of one JSON object and notes what is wrong with all of them, so that one answer tells everything.
struct BodyReader {
    private(set) var issues: [ValidationIssue] = []
    private let object: [String: WireValue]
    private let location: [WireValue]

    init(_ object: [String: WireValue], at location: [WireValue] = ["body"]) {
        self.object = object
        self.location = location
    }

    /// Nil for a missing member and for `null`, without complaint.
    func raw(_ key: String) -> WireValue? {
        guard let value = object[key], !value.isNull else { return nil }
        return value
    }

    mutating func required(_ key: String) -> WireValue? {
        guard let value = object[key] else {
            issues.append(ValidationIssue(type: "missing", location: place(key), message: "Field required", input: .object(object)))
            return nil
        }
        return value
    }

    mutating func string(_ key: String, _ value: WireValue?) -> String? {
        guard let value else { return nil }
        if let text = value.stringValue { return text }
        fail(key, "string_type", "Input should be a valid string", value)
        return nil
    }

    mutating func requiredString(_ key: String) -> String? { string(key, required(key)) }
    mutating func optionalString(_ key: String) -> String? { string(key, raw(key)) }

    /// Also takes what JSON writers of other languages make of a truth value.
    mutating func bool(_ key: String, default missing: Bool) -> Bool {
        switch raw(key) {
        case nil: return missing
        case .bool(let value)?: return value
        case .number(0)?: return false
        case .number(1)?: return true
        case .string(let text)?:
            if ["true", "yes", "on", "1", "t", "y"].contains(text.lowercased()) { return true }
            if ["false", "no", "off", "0", "f", "n"].contains(text.lowercased()) { return false }
            fail(key, "bool_parsing", "Input should be a valid boolean, unable to interpret input", .string(text))
        case let value?: fail(key, "bool_type", "Input should be a valid boolean", value)
        }
        return missing
    }

    mutating func integer(_ key: String, _ value: WireValue?) -> Int? {
        guard let value else { return nil }
        if let number = value.intValue { return number }
        switch value {
        case .number: fail(key, "int_from_float", "Input should be a valid integer, got a number with a fractional part", value)
        case .string(let text):
            if let number = Int(text) { return number }
            fail(key, "int_parsing", "Input should be a valid integer, unable to parse string as an integer", value)
        default: fail(key, "int_type", "Input should be a valid integer", value)
        }
        return nil
    }

    mutating func list(_ key: String, _ value: WireValue?, maxCount: Int) -> [WireValue]? {
        guard let value else { return nil }
        guard let values = value.listValue else {
            fail(key, "list_type", "Input should be a valid list", value)
            return nil
        }
        guard values.count <= maxCount else {
            // Without the list itself: it is too long.
            fail(
                key, "too_long", "List should have at most \(maxCount) items after validation, not \(values.count)", .null,
                ["field_type": "List", "max_length": .number(Double(maxCount)), "actual_length": .number(Double(values.count))])
            return nil
        }
        return values
    }

    /// One of a few words.
    mutating func word(_ key: String, of words: [String]) -> String? {
        guard let text = requiredString(key) else { return nil }
        if words.contains(text) { return text }
        let quoted = words.map { "'\($0)'" }
        let expected = quoted.dropLast().joined(separator: ", ") + " or " + (quoted.last ?? "")
        fail(key, "literal_error", "Input should be \(expected)", .string(text), ["expected": .string(expected)])
        return nil
    }

    mutating func fail(_ key: String, _ type: String, _ message: String, _ input: WireValue, _ context: [String: WireValue]? = nil) {
        issues.append(ValidationIssue(type: type, location: place(key), message: message, input: input, context: context))
    }

    /// Reads the objects of a list, each with a reader of its own; what is wrong with them is noted here.
    mutating func objects(_ key: String, _ value: WireValue?, maxCount: Int, read: (inout BodyReader) -> Void) {
        for (index, element) in (list(key, value, maxCount: maxCount) ?? []).enumerated() {
            let place = place(key) + [.number(Double(index))]
            guard let object = element.objectValue else {
                let kind = ValidationIssue.Kind.model
                issues.append(ValidationIssue(type: kind.rawValue, location: place, message: kind.message, input: element))
                continue
            }
            var reader = BodyReader(object, at: place)
            read(&reader)
            issues += reader.issues
        }
    }

    func place(_ key: String) -> [WireValue] { location + [.string(key)] }

    func check() throws(RouteError) {
        if !issues.isEmpty { throw .invalid(issues) }
    }
}

extension HTTPServerRequest {
    /// The members of a JSON body; nil for an absent one and for `null`.
    ///
    /// - Parameter objectType: how the route's error for anything but an object is called.
    func jsonObject(_ objectType: ValidationIssue.Kind) throws(RouteError) -> [String: WireValue]? {
        guard !body.isEmpty else { return nil }
        let value: WireValue
        do {
            value = try JSONText.parse(body)
        } catch {
            let (offset, reason): (Int, String) =
                switch error {
                case .badJSON(let offset): (offset, "Not JSON at this place")
                case .truncated: (body.count, "The text ends inside a value")
                default: (0, error.description)
                }
            throw .invalid([
                ValidationIssue(
                    type: "json_invalid", location: ["body", .number(Double(offset))], message: "JSON decode error", input: .object([:]),
                    context: ["error": .string(reason)])
            ])
        }
        if value.isNull { return nil }
        guard let object = value.objectValue else {
            throw .invalid([
                ValidationIssue(type: objectType.rawValue, location: ["body"], message: objectType.message, input: value)
            ])
        }
        return object
    }

    /// Like ``jsonObject(_:)``, for routes that need a body.
    func requiredJSONObject() throws(RouteError) -> [String: WireValue] {
        guard let object = try jsonObject(.model) else {
            throw .invalid([ValidationIssue(type: "missing", location: ["body"], message: "Field required", input: .null)])
        }
        return object
    }
}

extension ValidationIssue {
    /// Two names for "not an object", by whether the route knows the members.
    enum Kind: String {
        case dictionary = "dict_type"
        case model = "model_attributes_type"

        var message: String {
            switch self {
            case .dictionary: "Input should be a valid dictionary"
            case .model: "Input should be a valid dictionary or object to extract fields from"
            }
        }
    }

    /// The integer in a path, within bounds.
    static func pathInteger(_ text: String, _ name: String, in bounds: ClosedRange<Int>) throws(RouteError) -> Int {
        let location: [WireValue] = ["path", .string(name)]
        guard let value = Int(text) else {
            throw .invalid([
                ValidationIssue(
                    type: "int_parsing", location: location,
                    message: "Input should be a valid integer, unable to parse string as an integer", input: .string(text))
            ])
        }
        if value < bounds.lowerBound {
            throw .invalid([
                ValidationIssue(
                    type: "greater_than_equal", location: location,
                    message: "Input should be greater than or equal to \(bounds.lowerBound)", input: .string(text),
                    context: ["ge": .number(Double(bounds.lowerBound))])
            ])
        }
        if value > bounds.upperBound {
            throw .invalid([
                ValidationIssue(
                    type: "less_than_equal", location: location, message: "Input should be less than or equal to \(bounds.upperBound)",
                    input: .string(text), context: ["le": .number(Double(bounds.upperBound))])
            ])
        }
        return value
    }
}
