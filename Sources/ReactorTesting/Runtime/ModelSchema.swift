// The OpenAPI document of a model, in the shape of the vendor's (wire-protocol 2.10, captures/schema-echo-model.json).

internal import Reactor
internal import ReactorCore

/// Writes what `requestSchema()` and `GET /schema` return.
enum ModelSchema {
    static func document(name: String, tracks: [LocalTrack], commands: [LocalCommand]) -> WireValue {
        var paths: [String: WireValue] = [:]
        for command in commands { paths["/events/\(command.name)"] = .object(["post": operation(command)]) }
        return .object([
            "openapi": "3.1.0",
            "info": .object(["title": .string(name), "version": "v0.0.0", "description": ""]),
            "paths": .object(paths),
            "webhooks": .object([:]),
            "components": .object(["schemas": .object(["ReactorUploadReference": uploadReference])]),
            "x-reactor": .object(["tracks": .list(tracks.map(track))]),
        ])
    }

    private static func operation(_ command: LocalCommand) -> WireValue {
        var properties: [String: WireValue] = [:]
        for parameter in command.parameters { properties[parameter.name] = property(parameter) }
        var schema: [String: WireValue] = ["type": "object", "properties": .object(properties)]
        let required = command.parameters.filter { $0.defaultValue == nil }.map { WireValue.string($0.name) }
        if !required.isEmpty { schema["required"] = .list(required) }
        return .object([
            "operationId": .string(command.name),
            "summary": .string(command.summary),
            "requestBody": .object([
                "required": .bool(true),
                "content": .object(["application/json": .object(["schema": .object(schema)])]),
            ]),
            // What a handler answers is not declared.
            "responses": .object(["202": .object(["description": "Accepted"])]),
        ])
    }

    private static func property(_ parameter: LocalParameter) -> WireValue {
        var members: [String: WireValue] = [:]
        switch parameter.kind {
        case .string(let maxLength, let choices):
            members["type"] = "string"
            if let maxLength { members["maxLength"] = .number(Double(maxLength)) }
            if !choices.isEmpty { members["enum"] = .list(choices.map(WireValue.string)) }
        case .number(let range):
            members["type"] = "number"
            // JSON has no infinity, and a bound that is none need not be told.
            if let range, range.lowerBound.isFinite { members["minimum"] = .number(range.lowerBound) }
            if let range, range.upperBound.isFinite { members["maximum"] = .number(range.upperBound) }
        case .integer(let range):
            members["type"] = "integer"
            if let range {
                members["minimum"] = .number(Double(range.lowerBound))
                members["maximum"] = .number(Double(range.upperBound))
            }
        case .boolean: members["type"] = "boolean"
        case .object: members["type"] = "object"
        case .list: members["type"] = "array"
        case .upload: members["$ref"] = "#/components/schemas/ReactorUploadReference"
        }
        if let value = parameter.defaultValue { members["default"] = value.wireValue }
        if !parameter.summary.isEmpty { members["description"] = .string(parameter.summary) }
        members["x-reactor-moderate"] = .bool(false)
        return .object(members)
    }

    private static func track(_ track: LocalTrack) -> WireValue {
        .object(["name": .string(track.name), "kind": .string(track.kind.rawValue), "direction": .string(track.modelDirection)])
    }

    private static let uploadReference: WireValue = .object([
        "type": "object", "format": "reactor-upload-reference", "description": "A file uploaded before.",
        "required": .list(["upload_id", "name", "mime_type", "size"]),
        "properties": .object([
            "upload_id": .object(["type": "string", "format": "uuid"]), "name": .object(["type": "string"]),
            "mime_type": .object(["type": "string"]), "size": .object(["type": "integer"]),
        ]),
    ])
}

extension LocalTrack {
    /// The model's view: what the client sends comes in.
    var modelDirection: String { direction == .sendonly ? "in" : "out" }
}
