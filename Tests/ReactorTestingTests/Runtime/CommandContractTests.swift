import Reactor
import ReactorCore
import Testing

@testable import ReactorTesting

@Suite("CommandContract")
struct CommandContractTests {
    private let contract = CommandContract([
        LocalCommand(
            "set_effect",
            parameters: [LocalParameter("effect", .string(maxLength: nil, oneOf: ["none", "invert"]), default: "none")]),
        LocalCommand(
            "set",
            parameters: [
                LocalParameter("text", .string(maxLength: 3, oneOf: [])),
                LocalParameter("level", .number(0...1), default: 0.5),
                LocalParameter("count", .integer(1...10), default: 2),
                LocalParameter("on", .boolean, default: false),
                LocalParameter("map", .object, default: [:]),
                LocalParameter("list", .list, default: []),
            ]),
        LocalCommand("show", parameters: [LocalParameter("image", .upload)]),
    ])

    private func check(_ type: String, _ data: WireValue, uploads: [String: UploadReference] = [:]) throws -> [String: WireValue] {
        try contract.check(Command(type: type, data: data, uploads: uploads))
    }

    private func problem(_ type: String, _ data: WireValue) -> String? {
        do {
            _ = try check(type, data)
            return nil
        } catch {
            return (error as? CommandContract.Violation)?.message ?? "\(error)"
        }
    }

    @Test("Captured refusals read the same")
    func capturedTexts() {
        #expect(problem("nope", .object([:])) == "unknown command")
        #expect(problem("set_effect", .object(["effect": "bogus"])) == "effect: 'bogus' not in choices ['none', 'invert']")
        #expect(problem("set", .object(["text": "a", "level": .number(5)])) == "level: 5.0 > le(1.0)")
    }

    @Test("Missing arguments get their defaults; without one they are required")
    func defaults() throws {
        let arguments = try check("set", .object(["text": "abc"]))
        #expect(arguments["level"] == .number(0.5) && arguments["count"] == .number(2) && arguments["on"] == .bool(false))
        #expect(try check("set_effect", .object([:]))["effect"] == "none")
        #expect(problem("set", .object([:])) == "text: missing required argument")
    }

    @Test(
        "Types, ranges and lengths are checked, and an unknown argument is refused",
        arguments: [
            ("text", "abcd", "text: length 4 > max_length(3)"), ("text", .number(1), "text: expected a string, got a number"),
            ("level", .number(-0.1), "level: -0.1 < ge(0.0)"), ("level", "1", "level: expected a number, got a string"),
            ("text", "a\u{301}\u{302}\u{303}", "text: length 4 > max_length(3)"), ("count", .number(0), "count: 0.0 < ge(1)"),
            ("count", .number(11), "count: 11.0 > le(10)"),
            ("count", .number(2.5), "count: 2.5 is not an integer"), ("count", .number(1e300), "count: 1e+300 is not an integer"),
            ("count", .bool(true), "count: expected an integer, got a boolean"), ("on", .null, "on: expected a boolean, got null"),
            ("map", .list([]), "map: expected an object, got a list"), ("list", .object([:]), "list: expected a list, got an object"),
            ("other", .null, "other: unknown argument"),
        ] as [(String, WireValue, String)])
    func violations(name: String, value: WireValue, message: String) {
        var data: [String: WireValue] = ["text": "abc"]
        data[name] = value
        #expect(problem("set", .object(data)) == message)
    }

    @Test("§5.6 an integer that comes as 4.0 is one; bounds are inclusive; scalars are counted, not bytes")
    func accepted() throws {
        for count in [1.0, 4.0, 10.0] { #expect(problem("set", .object(["text": "", "count": .number(count)])) == nil) }
        #expect(problem("set", .object(["text": "äöü", "level": .number(1)])) == nil)
    }

    @Test("§5.6 a file is taken from the uploads or inline, and its id is found wherever it stands")
    func uploads() throws {
        let file = UploadReference(uploadID: "u1", name: "a.png", mimeType: "image/png", size: 3)
        let beside = try check("show", .object([:]), uploads: ["image": file])
        #expect(beside["image"] == file.inlineValue)
        #expect(try check("show", .object(["image": file.inlineValue])) == beside)
        #expect(problem("show", .object(["image": "u1"])) == "image: expected an uploaded file, got a string")
        #expect(CommandContract.uploadIDs(in: beside) == ["u1"])
        let nested: [String: WireValue] = ["a": .list([file.inlineValue, file.inlineValue]), "b": .object(["upload_id": "u2"])]
        #expect(CommandContract.uploadIDs(in: nested) == ["u1", "u2"])
    }

    @Test("A model that declares nothing gets everything")
    func unchecked() throws {
        let open = CommandContract(nil)
        let file = UploadReference(uploadID: "u1", name: "a", mimeType: "b/c", size: 1)
        let arguments = try open.check(Command(type: "any", data: .object(["x": .number(1)]), uploads: ["f": file]))
        #expect(arguments == ["x": .number(1), "f": file.inlineValue])
        #expect(throws: CommandContract.Violation("unknown command")) {
            try CommandContract([]).check(Command(type: "any", data: nil))
        }
    }
}
