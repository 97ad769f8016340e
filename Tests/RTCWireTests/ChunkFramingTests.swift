import Testing

@testable import RTCWire

@Suite struct ChunkFramingTests {
    @Test("wire protocol §5.8: which attribute values declare chunking")
    func declarations() {
        typealias Declaration = ChunkFraming.Declaration
        #expect(Declaration(attributeValue: "1 max-message-size=67108864") == Declaration(maxMessageBytes: 67_108_864))
        #expect(Declaration(attributeValue: "1") == Declaration(maxMessageBytes: nil))
        #expect(Declaration(attributeValue: "1 x=y max-message-size=1000") == Declaration(maxMessageBytes: 1000))
        for value in ["2 max-message-size=1", "", "1x", "1 max-message-size=big", "1 max-message-size=-5", "1 max-message-size="] {
            #expect(Declaration(attributeValue: value) == nil, "\(value)")
        }
        #expect(Declaration(attributeValue: nil) == nil)
        #expect(Declaration(maxMessageBytes: 5).attributeValue == "1 max-message-size=5")
        #expect(Declaration(maxMessageBytes: nil).attributeValue == "1")
    }
}
