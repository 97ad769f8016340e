import Testing

@testable import ReactorCLI

@Suite struct ArgumentsTests {
    @Test("the command comes first; an option before it is told, not taken for a command's value")
    func commandFirst() throws {
        var words = Arguments(["watch", "--url", "http://x", "--json"])
        #expect(try words.takeCommand() == "watch")
        var none = Arguments(["--help"])
        #expect(try none.takeCommand() == nil && none.takeFlag("--help"))
        var turned = Arguments(["--url", "http://x", "watch"])
        #expect(throws: UsageError.self) { try turned.takeCommand() }
        var empty = Arguments([])
        #expect(try empty.takeCommand() == nil)
    }

    @Test("an option whose value was left out does not take the next option")
    func missingValue() throws {
        var words = Arguments(["--snapshot", "--json"])
        #expect(throws: UsageError.self) { try words.takeOption("--snapshot") }
        var joined = Arguments(["--prompt=--odd", "--input", "-", "--x", "-3"])
        #expect(try joined.takeOption("--prompt") == "--odd")
        #expect(try joined.takeOption("--input") == "-")
        #expect(try joined.takeOption("--x") == "-3")
    }
}
