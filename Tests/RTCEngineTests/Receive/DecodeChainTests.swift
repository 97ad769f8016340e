import RTCBase
import RTCEngine
import Testing

@Suite("DecodeChain")
struct DecodeChainTests {
    private func info(_ codec: VideoCodec, _ payload: [UInt8]) throws -> PayloadInfo {
        let info = PayloadInfo(codec: codec, payload: payload.span.bytes)
        return try #require(info)
    }

    /// A VP9 descriptor in flexible mode: 7-bit picture id, references.
    private func flexible(_ id: UInt8, _ references: [UInt8]) throws -> PayloadInfo {
        var payload: [UInt8] = [0xDC, id]
        for (index, reference) in references.enumerated() {
            payload.append(reference << 1 | (index < references.count - 1 ? 1 : 0))
        }
        return try info(.vp9, payload + [1])
    }

    private func keyFrame(_ id: UInt8) throws -> PayloadInfo {
        try info(.vp9, [0x8C, id, 1])
    }

    @Test("nothing but a key frame begins; without loss everything follows")
    func beginning() throws {
        var chain = DecodeChain()
        #expect(try !chain.canDecode(flexible(1, [1])))
        #expect(try chain.canDecode(keyFrame(5)))
        try chain.deliver(keyFrame(5))
        #expect(try chain.canDecode(flexible(6, [1])))
        #expect(try chain.canDecode(flexible(6, [90])))
    }

    @Test("VID-01 after a loss a frame needs exactly its references, over the wrap of the picture id")
    func references() throws {
        var chain = DecodeChain()
        try chain.deliver(keyFrame(125))
        try chain.deliver(flexible(126, [1]))
        try chain.deliver(flexible(127, [1]))
        // 0 is lost.
        #expect(try chain.canDecode(flexible(1, [2]), afterLoss: true))
        #expect(try chain.canDecode(flexible(1, [2, 3, 4]), afterLoss: true))
        #expect(try !chain.canDecode(flexible(1, [1]), afterLoss: true))
        #expect(try !chain.canDecode(flexible(1, [2, 1]), afterLoss: true))
        #expect(try !chain.canDecode(flexible(1, [100]), afterLoss: true))
        try chain.deliver(flexible(1, [2]), afterLoss: true)
        // From here on each frame is judged by its references.
        #expect(try chain.canDecode(flexible(2, [1])))
        #expect(try !chain.canDecode(flexible(2, [2])))
    }

    @Test("after many undecodable frames picture ids say nothing any more")
    func stale() throws {
        var chain = DecodeChain()
        try chain.deliver(keyFrame(0))
        for id in 2..<70 as Range<UInt8> { try chain.noteUndecodable(flexible(id, [1])) }
        #expect(chain.needsKeyFrame)
        #expect(try !chain.canDecode(flexible(1, [1])))
    }

    @Test("without picture ids and layers a loss needs a key frame")
    func plain() throws {
        var chain = DecodeChain()
        let key = try info(.vp8, [0x10, 0x10])
        let delta = try info(.vp8, [0x10, 0x11])
        chain.deliver(key)
        #expect(chain.canDecode(delta))
        chain.noteLoss()
        #expect(!chain.canDecode(delta))
        chain.deliver(key)
        #expect(chain.canDecode(delta))
    }
}
