import RTCBase
import Testing

@Suite struct SequenceTests {
    @Test("a 16-bit counter is followed over its wrap, with reordering around it") func unwrap() {
        var unwrapper = SequenceUnwrapper()
        let first = unwrapper.unwrap(65_534)
        let steps = [UInt16(0), 65_535, 1].map { unwrapper.unwrap($0) - first }
        #expect(steps == [2, 1, 3])
        #expect(unwrapper.last == first + 3)
    }

    @Test("a 32-bit timestamp is followed over its wrap") func timestamp() {
        var unwrapper = TimestampUnwrapper()
        let first = unwrapper.unwrap(0xFFFF_FF00)
        let second = unwrapper.unwrap(0x100)
        #expect(second == first + 0x200)
    }

    @Test("NTP times go forward and back, across the end of an era") func ntpArithmetic() {
        let time = NTPTimestamp(rawValue: .max)
        for nanoseconds in [0, 1, -1, 999_999_999, 1_000_000_000, -1_500_000_000, 3_600_000_000_000] as [Int64] {
            let other = time.adding(nanoseconds: nanoseconds)
            #expect(abs(other.nanoseconds(since: time) - nanoseconds) <= 1)
        }
        #expect(NTPTimestamp(unixNanoseconds: 0).adding(nanoseconds: 1_500_000_000) == NTPTimestamp(unixNanoseconds: 1_500_000_000))
    }

    @Test("NTP middle bits and conversion") func ntp() {
        let time = NTPTimestamp(unixNanoseconds: 1_500_000_000)
        #expect(time.rawValue >> 32 == 2_208_988_801)
        #expect(time.rawValue & 0xFFFF_FFFF == 1 << 31)
        #expect(time.middle32 == UInt32(truncatingIfNeeded: 2_208_988_801 & 0xFFFF) << 16 | 0x8000)
    }
}

@Suite struct ByteCursorTests {
    @Test("reads are big-endian and never pass the end") func reader() throws {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7]
        var reader = ByteReader(bytes.span.bytes)
        let (one, two, four) = (try reader.readUInt8(), try reader.readUInt16(), try reader.readUInt32())
        #expect(one == 1)
        #expect(two == 0x0203)
        #expect(four == 0x0405_0607)
        do {
            _ = try reader.readUInt8()
            Issue.record("read past the end")
        } catch { #expect(error == .truncated) }
        do {
            try reader.skip(-1)
            Issue.record("skipped backwards")
        } catch { #expect(error == .truncated) }
    }

    @Test("the writer's bytes read back") func writer() {
        var writer = ByteWriter()
        writer.write(UInt16(0xABCD))
        writer.writeUInt24(0x010203)
        writer.write(UInt64(5))
        writer.overwrite(0x1122, at: 0)
        writer.overwrite(0xFFFF, at: 100)
        #expect(writer.bytes == [0x11, 0x22, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 5])
    }
}

@Suite struct ContainerTests {
    @Test("a ring forgets what was overwritten") func ring() {
        var ring = SequenceRing<String>(capacity: 4)
        ring[10] = "a"
        ring[14] = "b"
        #expect(ring[10] == nil)
        #expect(ring[14] == "b")
        ring[10] = nil
        #expect(ring[14] == "b")
    }

    @Test("a queue refuses beyond its bound") func queue() {
        var queue = BoundedQueue<Int>(capacity: 2)
        let accepted = [1, 2, 3].map { queue.append($0) }
        #expect(accepted == [true, true, false])
        let popped = (0..<3).map { _ in queue.popFirst() }
        #expect(popped == [1, 2, nil])
    }

    @Test("a queue keeps its order while it grows, wherever its first element is") func queueGrowth() {
        for offset in 0..<9 {
            var queue = BoundedQueue<Int>(capacity: 21)
            for value in 0..<offset {
                let (isStored, popped) = (queue.append(value), queue.popFirst())
                #expect(isStored && popped == value)
            }
            var accepted = 0
            while queue.append(accepted) { accepted += 1 }
            #expect(accepted == 21 && queue.isFull && queue.first == 0)
            let popped = (0..<22).map { _ in queue.popFirst() }
            #expect(popped == (0..<21).map { $0 } + [nil])
        }
    }
}

@Suite struct FrameBufferPoolTests {
    @Test("memory is reused, bounded, and follows a change of size") func reuse() {
        let pool = FrameBufferPool(maxCached: 2)
        var address: UnsafeMutableRawPointer?
        do {
            let block = pool.take(capacity: 1000)
            address = block.base
        }
        #expect(pool.cachedCount == 1)
        do {
            let block = pool.take(capacity: 900)
            #expect(block.base == address)
        }
        do {
            let blocks = (0..<5).map { _ in pool.take(capacity: 1 << 20) }
            #expect(blocks.count == 5)
        }
        #expect(pool.cachedCount == 2)
    }

    @Test("I420 planes of odd sizes have room for (w+1)/2 x (h+1)/2 chroma") func oddSize() {
        let frame = PlanarFrame(width: 175, height: 143, pool: FrameBufferPool())
        #expect(frame.chromaWidth == 88)
        #expect(frame.chromaHeight == 72)
        #expect(frame.strideY >= 175)
        #expect(frame.offsetV + frame.strideV * 72 <= frame.memory.count)
    }
}
