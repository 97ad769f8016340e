import PeerTestSupport
import Synchronization
import Testing

@testable import Reactor

@Suite("Streamed bodies", .timeLimit(.minutes(1))) struct BodyStreamsTests {
    @Test("an answer's body takes what fits, then pauses, and is resumed once when it is read")
    func incoming() async {
        let body = IncomingBody(expectedStatus: 200)
        let resumes = Counter()
        body.attach { _ = resumes.next() }
        let piece = [UInt8](repeating: 7, count: IncomingBody.capacityBytes / 2)
        func put() -> Bool { piece.withUnsafeBytes { body.put($0) } }
        #expect(put() && put() && !put() && !put())
        #expect(await body.next()?.count == IncomingBody.capacityBytes)
        #expect(resumes.value == 1)
        #expect(put())
        body.finish()
        #expect(await body.next()?.count == piece.count)
        #expect(await body.next() == nil)
        #expect(resumes.value == 1)
    }

    @Test("a reader that waits is woken by bytes and by the end")
    func wakesReader() async {
        let body = IncomingBody(expectedStatus: 200)
        let reading = Task {
            var count = 0
            while let bytes = await body.next() { count += bytes.count }
            return count
        }
        await Task.yield()
        [1, 2, 3].withUnsafeBytes { #expect(body.put($0)) }
        body.finish()
        #expect(await reading.value == 24)
    }

    @Test("a request's body pauses while there is nothing, and a piece is not taken over before the last one is gone")
    func outgoing() async {
        let body = OutgoingBody(byteCount: 6)
        let resumes = Counter()
        body.attach { _ = resumes.next() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2, alignment: 1)
        defer { buffer.deallocate() }
        #expect(body.take(into: buffer) == .pause)
        let done = SharedFlag(false)
        let writing = Task {
            let isOpen = await body.put([1, 2, 3])
            done.value = true
            return isOpen
        }
        #expect(await eventually { resumes.value == 1 })
        #expect(body.take(into: buffer) == .bytes(2) && Array(buffer) == [1, 2])
        #expect(!done.value)
        #expect(body.take(into: buffer) == .bytes(1) && buffer[0] == 3)
        #expect(await writing.value)
        #expect(body.take(into: buffer) == .pause)
        body.finish()
        #expect(resumes.value == 2)
        #expect(body.take(into: buffer) == .end)
    }

    @Test("a transfer that ends lets the writer go, and takes nothing more")
    func closed() async {
        let body = OutgoingBody(byteCount: 3)
        let writing = Task { await body.put([1, 2, 3]) }
        await Task.yield()
        body.close()
        #expect(await !writing.value)
        #expect(await !body.put([1]))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2, alignment: 1)
        defer { buffer.deallocate() }
        #expect(body.take(into: buffer) == .abort)
    }
}
