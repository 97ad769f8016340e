import ReactorCore
import Testing

@testable import ReactorTesting

@Suite("Command queue", .timeLimit(.minutes(1)))
struct CommandQueueTests {
    private static func request(_ id: String, bytes: Int) throws -> CommandQueue.Request {
        try CommandQueue.Request(requestID: id, command: Command(type: "work", data: .object([:])), byteCount: bytes)
    }

    @Test("commands that wait are bounded in count")
    func count() throws {
        let queue = CommandQueue()
        for index in 0..<CommandQueue.mostWaiting { #expect(try queue.append(Self.request("\(index)", bytes: 1))) }
        #expect(try !queue.append(Self.request("one more", bytes: 1)))
    }

    @Test("commands that wait are bounded in bytes, a single large one has room, and what is carried out makes room again")
    func bytes() async throws {
        let queue = CommandQueue()
        #expect(try queue.append(Self.request("large", bytes: 2 * CommandQueue.mostBytes)))
        #expect(try !queue.append(Self.request("small", bytes: 1)))
        let (done, report) = AsyncStream.makeStream(of: String.self)
        let task = queue.start {
            report.yield($0.requestID)
        } atEnd: {
            report.finish()
        }
        var names = done.makeAsyncIterator()
        #expect(await names.next() == "large")
        // Its room is given back behind the call.
        while try !queue.append(Self.request("after", bytes: CommandQueue.mostBytes)) { await Task.yield() }
        #expect(await names.next() == "after")
        queue.finish()
        await task.value
        #expect(await names.next() == nil)
        #expect(try !queue.append(Self.request("too late", bytes: 1)))
    }
}
