import Testing

@testable import ReactorCore

@Suite struct JSONTextTests {
    private func parse(_ text: String) throws(WireFormatError) -> WireValue { try JSONText.parse(Array(text.utf8)) }

    @Test("all six kinds of value round trip, keys sorted, integers without a fraction")
    func roundTrip() throws {
        let text = #"{"a":[null,true,false],"b":{"x":-1.5e-7},"n":4,"s":"\"\\\n\u0001é😀"}"#
        let value = try parse(text)
        #expect(try JSONText.string(value) == #"{"a":[null,true,false],"b":{"x":-1.5e-07},"n":4,"s":"\"\\\n\u0001é😀"}"#)
        #expect(value["n"] == .number(4))
        #expect(value["a"]?.listValue == [.null, .bool(true), .bool(false)])
    }

    @Test(
        "escapes of RFC 8259 section 7, with surrogate pairs",
        arguments: [
            (#""\u00e9""#, "é"), (#""\ud83d\ude00""#, "😀"), (#""\/\b\f\n\r\t""#, "/\u{8}\u{c}\n\r\t"),
            (#""\ud83d""#, "\u{FFFD}"), (#""\ud83dx""#, "\u{FFFD}x"), (#""\ud83d\u0041""#, "\u{FFFD}A"), (#""\ude00""#, "\u{FFFD}"),
        ])
    func escapes(text: String, expected: String) throws {
        #expect(try parse(text) == .string(expected))
    }

    @Test(
        "text that is not JSON is refused",
        arguments: [
            "", " ", "{", "[", "[1,", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "'x'", "01", "1.", ".5", "+1", "1e", "-", "tru",
            "nul", "NaN", "Infinity", "-Infinity", "1e999", "\"", "\"\\", "\"\\u12\"", "\"\\x\"", "\"a\nb\"", "1 2", "[1]]", "{}x",
        ])
    func notJSON(text: String) {
        #expect(throws: WireFormatError.self) { try parse(text) }
    }

    @Test("invalid UTF-8 in a string is refused")
    func invalidUTF8() {
        #expect(throws: WireFormatError.badUTF8) { try JSONText.parse([0x22, 0xFF, 0x22]) }
        #expect(throws: WireFormatError.badUTF8) { try JSONText.parse([0x22, 0x5C, 0x6E, 0xC3, 0x22]) }
    }

    @Test("depth 64 is read, depth 65 is not")
    func depth() throws {
        let fits = String(repeating: "[", count: 64) + "1" + String(repeating: "]", count: 64)
        _ = try parse(fits)
        #expect(throws: WireFormatError.tooDeep) { try parse("[" + fits + "]") }
        #expect(throws: WireFormatError.tooDeep) { try parse(String(repeating: "[", count: 1_000_000)) }
    }

    @Test("size and number of values are bounded")
    func bounds() {
        #expect(throws: WireFormatError.tooLarge) { try JSONText.parse(Array("[1,2]".utf8), maxBytes: 4) }
        let many = "[" + String(repeating: "0,", count: FormatLimits.maxValues) + "0]"
        #expect(throws: WireFormatError.tooManyValues) { try parse(many) }
    }

    @Test("PB-01 NaN and infinities are refused before anything is written", arguments: [Double.nan, .infinity, -.infinity])
    func notFinite(number: Double) {
        #expect(throws: WireFormatError.notFinite) { try JSONText.write(.object(["a": .list([.number(number)])])) }
    }

    @Test("a value nested too deep by the caller is refused when writing")
    func deepValue() {
        var value = WireValue.null
        for _ in 0..<65 { value = .list([value]) }
        #expect(throws: WireFormatError.tooDeep) { try JSONText.write(value) }
    }

    @Test("integers above 2^53 keep the shortest form that reads back the same")
    func largeNumbers() throws {
        for number in [9_007_199_254_740_992.0, 1e300, -0.0, Double.leastNonzeroMagnitude, 123_456_789_012_345_680] {
            #expect(try parse(JSONText.string(.number(number))) == .number(number))
        }
    }
}
