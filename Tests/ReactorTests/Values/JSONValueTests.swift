import Foundation
import ReactorCore
import Testing

@testable import Reactor

@Suite("JSONValue")
struct JSONValueTests {
    @Test("B6 literals of all seven kinds, and the accessors that read them")
    func literals() {
        let value: JSONValue = ["text": "a", "count": 3, "scale": 0.5, "on": true, "none": nil, "list": [1, 2, "x"]]
        #expect(value["text"]?.stringValue == "a")
        #expect(value["count"]?.intValue == 3)
        #expect(value["scale"]?.doubleValue == 0.5)
        #expect(value["scale"]?.intValue == nil)
        #expect(value["on"]?.boolValue == true)
        #expect(value["none"]?.isNull == true)
        #expect(value["list"]?[2]?.stringValue == "x")
        #expect(value["list"]?[3] == nil && value["list"]?[-1] == nil)
        #expect(value["missing"] == nil && value[0] == nil && value["text"]?["x"] == nil)
        #expect(value["on"]?.doubleValue == nil && value["count"]?.boolValue == nil)
    }

    @Test("B6 a key twice in a literal keeps its first value")
    func duplicateKey() {
        let value: JSONValue = ["a": 1, "a": 2]
        #expect(value == ["a": 1])
    }

    @Test("B6 intValue is nil for what Int cannot hold exactly", arguments: [0.5, 1e300, -1e300, .nan, .infinity, 9.3e18])
    func notAnInt(_ number: Double) { #expect(JSONValue.number(number).intValue == nil) }

    @Test("B6 text has sorted keys and whole numbers without a fraction")
    func text() throws {
        let value: JSONValue = ["b": 1, "a": [true, nil, 2.5, -3, 1e15], "c": ["z": "ü\"\\\n\u{1}\u{1F}"]]
        #expect(value.jsonText == #"{"a":[true,null,2.5,-3,1000000000000000],"b":1,"c":{"z":"ü\"\\\n\u0001\u001f"}}"#)
        #expect(try JSONValue(jsonText: value.jsonText) == value)
        #expect(JSONValue.array([]).jsonText == "[]" && JSONValue.object([:]).jsonText == "{}")
    }

    @Test(
        "B6 every finite number survives the trip through text",
        arguments: [0, -0.0, 0.1, 1e-300, 1.7e308, .leastNonzeroMagnitude, 123456789.123, -2e53])
    func numbers(_ number: Double) throws {
        #expect(try JSONValue(jsonText: JSONValue.number(number).jsonText) == .number(number))
    }

    @Test("PB-01 NaN and infinities are never text that is not JSON, and never reach the wire")
    func notFinite() throws {
        for number in [Double.nan, .infinity, -.infinity] {
            #expect(JSONValue.array([.number(number)]).jsonText == "[null]")
            #expect(throws: WireFormatError.notFinite) { try JSONValue.object(["x": .number(number)]).wireValue.validateForSending() }
            let error = #expect(throws: ReactorError.self) { try JSONValue(encoding: ["x": number]) }
            #expect(error?.code == .badRequest)
        }
    }

    @Test(
        "text that is not JSON is DECODE_FAILED",
        arguments: ["", "{", "[1,]", "{\"a\" 1}", "tru", "01", "1e999", "\"\\x\"", "nul", "[1] x"])
    func notJSON(_ text: String) {
        let error = #expect(throws: ReactorError.self) { try JSONValue(jsonText: text) }
        #expect(error?.code == .decodeFailed)
    }

    @Test("B6 depth is limited, and over-limit input is DECODE_FAILED, not a crash")
    func depth() throws {
        func nested(_ levels: Int) -> String { String(repeating: "[", count: levels) + String(repeating: "]", count: levels) }
        _ = try JSONValue(jsonText: nested(FormatLimits.maxDepth))
        for levels in [FormatLimits.maxDepth + 2, 100_000] {
            #expect(throws: ReactorError.self) { try JSONValue(jsonText: nested(levels)) }
        }
    }

    private struct Prompt: Codable, Equatable {
        var text: String
        var steps: Int
        var strength: Double
        var on: Bool
        var seed: Int?
    }

    @Test("R-42 an Encodable and the same data as a literal give the same bytes")
    func encoding() throws {
        let typed = try JSONValue(encoding: Prompt(text: "fox", steps: 3, strength: 0.25, on: true))
        let literal: JSONValue = ["text": "fox", "steps": 3, "strength": 0.25, "on": true]
        #expect(typed == literal)
        #expect(typed.jsonText == literal.jsonText)
        #expect(try JSONValue(encoding: "only a string") == "only a string")
        #expect(try JSONValue(encoding: literal) == literal)
    }

    @Test("decoding gives the typed value, or DECODE_FAILED naming the key")
    func decoding() throws {
        let value: JSONValue = ["text": "fox", "steps": 3, "strength": 1, "on": false]
        #expect(try value.decode(Prompt.self) == Prompt(text: "fox", steps: 3, strength: 1, on: false))
        #expect(try value.decode(JSONValue.self) == value)
        let wrong: JSONValue = ["text": "fox", "steps": "three", "strength": 1, "on": false]
        let error = #expect(throws: ReactorError.self) { try wrong.decode(Prompt.self) }
        #expect(error?.code == .decodeFailed)
        #expect(error?.message.contains("steps") == true)
    }

    @Test("it is Codable with any coder, booleans and numbers apart")
    func codable() throws {
        let value: JSONValue = ["t": true, "one": 1, "list": [nil, "x", 0.5, ["k": []]]]
        let data = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: data) == value)
        #expect(try JSONDecoder().decode([String: JSONValue].self, from: Data("{\"a\":true,\"b\":1}".utf8)) == ["a": true, "b": 1])
    }

    @Test("wire values convert both ways")
    func wire() {
        let value: JSONValue = ["a": [1, "x", nil, true, ["b": 0.5]]]
        #expect(JSONValue(value.wireValue) == value)
    }

    @Test("a reply decodes its data, and one without data reads as null")
    func reply() throws {
        let reply = CommandReply(type: "prompt", data: ["text": "fox", "steps": 1, "strength": 0, "on": true])
        #expect(try reply.decode(Prompt.self).text == "fox")
        #expect(try CommandReply(type: nil, data: nil).decode(Prompt?.self) == nil)
        #expect(throws: ReactorError.self) { try CommandReply(type: nil, data: nil).decode(Prompt.self) }
    }
}
