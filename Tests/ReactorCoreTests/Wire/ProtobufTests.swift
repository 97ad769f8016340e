import Testing

@testable import ReactorCore

func bytes(_ hex: String) -> [UInt8] {
    var result: [UInt8] = []
    var high: UInt8?
    for character in hex where character != " " {
        let digit = UInt8(character.hexDigitValue ?? 0)
        if let first = high {
            result.append(first << 4 | digit)
            high = nil
        } else {
            high = digit
        }
    }
    return result
}

@Suite struct ProtobufReaderTests {
    @Test("varints: ten bytes at most, the tenth holds one bit")
    func varints() throws {
        func read(_ hex: String) throws(WireFormatError) -> UInt64 {
            var reader = try ProtobufReader(bytes(hex))
            return try reader.readVarint()
        }
        #expect(try read("00") == 0)
        #expect(try read("ac02") == 300)
        #expect(try read("ffffffffffffffffff01") == .max)
        #expect(throws: WireFormatError.badVarint) { try read("ffffffffffffffffff02") }
        #expect(throws: WireFormatError.badVarint) { try read("8080808080808080808001") }
        #expect(throws: WireFormatError.truncated) { try read("80") }
        #expect(throws: WireFormatError.truncated) { try read("") }
    }

    @Test(
        "unknown fields of every wire type are skipped, groups included",
        arguments: [
            "a00601", "a1060102030405060708", "a2060301ff02", "a50601020304", "a306a406", "a3060801a406", "a306ab06ac06a406",
            "a306a2060401020304a406",
        ])
    func unknownFields(hex: String) throws {
        let message = try ControlClientMessage(parsing: bytes(hex) + bytes("10035200") + bytes(hex))
        #expect(message.kind == .notification)
        #expect(message.payload == .ping)
    }

    @Test(
        "malformed bytes throw",
        arguments: [
            "0a", "0a05", "0a0561", "0a ff ff ff ff ff ff ff ff ff 01", "07", "06", "0000", "a306", "a306ac06", "a406", "a306a506", "09 01",
            "0d 01", "ff ff ff ff ff ff ff ff ff 01", "12", "52", "52 05 0a", "0a 01 ff",
        ])
    func malformed(hex: String) {
        #expect(throws: WireFormatError.self) { try DataServerMessage(parsing: bytes(hex)) }
    }

    @Test("text that is not UTF-8 throws")
    func utf8() {
        #expect(throws: WireFormatError.badUTF8) { try DataServerMessage(parsing: bytes("0a02c328")) }
    }

    @Test("groups nested without end are bounded")
    func deepGroups() {
        let open = Array(repeating: bytes("a306"), count: 100_000).flatMap { $0 }
        #expect(throws: WireFormatError.tooDeep) { try DataServerMessage(parsing: open) }
    }

    @Test("a known field with another wire type is skipped like an unknown one")
    func otherWireType() throws {
        let message = try DataServerMessage(parsing: bytes("0801 1002 1205") + bytes("68656c6c6f"))
        #expect(message.requestID.isEmpty)
        #expect(message.kind == .response)
    }

    @Test("the last of repeated singular fields wins")
    func lastWins() throws {
        let message = try ControlServerMessage(parsing: bytes("0a0161 0a0162 1001 1002 3a00 6203 0a0178 6203 0a0179"))
        #expect(message.requestID == "b")
        #expect(message.kind == .response)
        #expect(message.payload == .clipFailed(reason: "y"))
        let other = try ControlServerMessage(parsing: bytes("6203 0a0178 7a03 0a0179"))
        #expect(other.payload == .sessionEnded(reason: "y"))
    }

    @Test("more bytes than the limit are refused")
    func tooLarge() {
        #expect(throws: WireFormatError.tooLarge) { try ProtobufReader([1, 2, 3], maxBytes: 2) }
    }
}

@Suite struct WireValueProtobufTests {
    private func roundTrip(_ data: WireValue) throws -> WireValue {
        let message = DataServerMessage(kind: .notification, payload: .message(ModelMessage(type: "t", data: data)))
        guard case .message(let read) = try DataServerMessage(parsing: message.encode()).payload else { return .null }
        return read.data
    }

    /// The bytes of a ModelMessage with type "t" and one Struct entry "a" whose Value has the given bytes.
    private func message(value hex: String) -> [UInt8] {
        var entry = ProtobufWriter()
        entry.write("a", field: 1)
        entry.write(bytes(hex), field: 2)
        var data = ProtobufWriter()
        data.write(entry.bytes, field: 1)
        var model = ProtobufWriter()
        model.write("t", field: 1)
        model.write(data.bytes, field: 2)
        var frame = ProtobufWriter()
        frame.write(model.bytes, field: 10)
        return frame.bytes
    }

    private func decoded(value hex: String) throws -> WireValue? {
        guard case .message(let message) = try DataServerMessage(parsing: message(value: hex)).payload else { return nil }
        return message.data["a"]
    }

    @Test("all kinds of value round trip, falsy ones included")
    func kinds() throws {
        let value = WireValue.object([
            "n": .null, "t": .bool(true), "f": .bool(false), "z": .number(0), "d": .number(-1.5), "e": "", "s": "é😀", "l": .list([]),
            "o": .object([:]), "x": .list([.null, .list([.object(["": .number(1)])])]),
        ])
        #expect(try roundTrip(value) == value)
    }

    @Test("PB-03 a value without a kind is null, an explicit null is null, a missing entry value is null")
    func noKind() throws {
        #expect(try decoded(value: "") == .null)
        #expect(try decoded(value: "0800") == .null)
        #expect(try decoded(value: "3800") == .null)
        guard case .message(let read) = try DataServerMessage(parsing: bytes("5207 1205 0a03 0a0161")).payload else {
            Issue.record("no message")
            return
        }
        #expect(read.data == .object(["a": .null]))
        #expect(read.data["b"] == nil)
    }

    @Test("PB-01 a number that JSON cannot say reads as null")
    func notFinite() throws {
        #expect(try decoded(value: "11000000000000f87f") == .null)
        #expect(try decoded(value: "11000000000000f0ff") == .null)
        #expect(try decoded(value: "11000000000000f03f") == .number(1))
    }

    @Test("missing data is null, empty data an empty object")
    func missingData() throws {
        #expect(try DataServerMessage(parsing: bytes("52030a0174")).payload == .message(ModelMessage(type: "t", data: .null)))
        #expect(try DataServerMessage(parsing: bytes("52050a01741200")).payload == .message(ModelMessage(type: "t", data: .object([:]))))
    }

    @Test("of two map entries with one key the last wins")
    func duplicateKeys() throws {
        let entry = { (value: String) in "0a07 0a0161 1202 20\(value)" }
        guard case .message(let read) = try DataServerMessage(parsing: bytes("5214 1212" + entry("00") + entry("01"))).payload else {
            Issue.record("no message")
            return
        }
        #expect(read.data == .object(["a": .bool(true)]))
    }

    @Test("nesting of 64 levels is read and written, one more is not")
    func depth() throws {
        var value = WireValue.object([:])
        for _ in 0..<63 { value = .object(["a": value]) }
        #expect(try roundTrip(value) == value)
        // By hand, since the writer's callers check before.
        var inner: [UInt8] = []
        for _ in 0..<80 {
            var list = ProtobufWriter()
            list.write(inner, field: 1)
            var wrapped = ProtobufWriter()
            wrapped.write(list.bytes.isEmpty ? [0x0A, 0x00] : list.bytes, field: 6)
            inner = wrapped.bytes
        }
        var entry = ProtobufWriter()
        entry.write("a", field: 1)
        entry.write(inner, field: 2)
        var data = ProtobufWriter()
        data.write(entry.bytes, field: 1)
        var model = ProtobufWriter()
        model.write(data.bytes, field: 2)
        var frame = ProtobufWriter()
        frame.write(model.bytes, field: 10)
        #expect(throws: WireFormatError.tooDeep) { try DataServerMessage(parsing: frame.bytes) }
    }

    @Test("two bytes per value cannot make more values than the limit")
    func amplification() {
        var list = ProtobufWriter()
        list.write(Array(repeating: [0x0A, 0x00] as [UInt8], count: FormatLimits.maxValues + 1).flatMap { $0 }, field: 6)
        var entry = ProtobufWriter()
        entry.write(list.bytes, field: 2)
        var data = ProtobufWriter()
        data.write(entry.bytes, field: 1)
        var model = ProtobufWriter()
        model.write(data.bytes, field: 2)
        var frame = ProtobufWriter()
        frame.write(model.bytes, field: 10)
        #expect(throws: WireFormatError.tooManyValues) { try DataServerMessage(parsing: frame.bytes) }
    }
}
