import RTCBase
import Testing

@testable import RTCWire

@Suite struct AllocationTests {
    @Test("what is parsed for every packet is plain memory: a reference in it would mean an allocation per packet")
    func plainValues() {
        #expect(_isPOD(RTPHeader.self))
        #expect(_isPOD(HeaderExtensionValues.self))
        #expect(_isPOD(VP8Descriptor.self))
        #expect(_isPOD(VP9Descriptor.self))
        #expect(_isPOD(PacketKind.self))
    }
}
