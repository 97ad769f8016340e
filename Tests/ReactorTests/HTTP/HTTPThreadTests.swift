import Foundation
import Testing

@testable import Reactor

/// What many requests leave behind. Other tests run beside these in the same process, so limits are far below what a leak
/// would reach and far above what they use.
@Suite("HTTP thread", .timeLimit(.minutes(2)), .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/task"), "reads /proc"))
struct HTTPThreadTests {
    private func threadNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap {
            try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8).trimmingCharacters(in: .newlines)
        }
    }

    private func descriptorCount() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }

    private func residentKilobytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return Int(line?.split(separator: " ").dropFirst().first ?? "") ?? 0
    }

    @Test("HTTP-02 a thousand requests share one thread and one connection")
    func thousandRequests() async throws {
        let server = try ScriptedServer(.reply(200, "{}"))
        let descriptors = try descriptorCount()
        for _ in 0..<1000 {
            #expect(try await HTTPClient().send(HTTPRequest(.get, server.url)).status == 200)
        }
        #expect(server.requests.count == 1000)
        #expect(server.connectionCount <= 2)
        #expect(try threadNames().filter { $0 == "reactor-http" }.count == 1)
        #expect(try descriptorCount() - descriptors < 200)
    }

    @Test("HTTP-02 a thousand connections leave no descriptors behind")
    func thousandConnections() async throws {
        let server = try ScriptedServer(.reply(200, "{}", headers: ["Connection: close"]), .close)
        let descriptors = try descriptorCount()
        for _ in 0..<1000 { _ = try await HTTPClient().send(HTTPRequest(.get, server.url)) }
        #expect(server.connectionCount == 1000)
        #expect(try descriptorCount() - descriptors < 200)
    }

    @Test("HTTP-04 memory stays flat over thousands of large bodies")
    func flatMemory() async throws {
        let server = try ScriptedServer(.reply(200, bytes: [UInt8](repeating: 7, count: 100_000)))
        let request = HTTPRequest(.post, server.url, body: [UInt8](repeating: 1, count: 1000))
        for _ in 0..<100 { _ = try await HTTPClient().send(request) }
        let before = try residentKilobytes()
        for _ in 0..<3000 { _ = try await HTTPClient().send(request) }
        // 3000 bodies are 300 MB.
        #expect(try residentKilobytes() - before < 100_000)
    }

    @Test("a warm loopback request takes well below the 10 ms of the poll interval")
    func warmLatency() async throws {
        let server = try ScriptedServer(.reply(202))
        let clock = ContinuousClock()
        var times: [Duration] = []
        for _ in 0..<200 {
            times.append(try await clock.measure { _ = try await HTTPClient().send(HTTPRequest(.get, server.url)) })
        }
        // The quicker tenth: the rest measures how busy the machine is.
        #expect(times.sorted()[20] < .milliseconds(5))
    }

    @Test("idle connections close when asked, and the next request works")
    func closeIdle() async throws {
        let server = try ScriptedServer(.reply(200))
        _ = try await HTTPClient().send(HTTPRequest(.get, server.url))
        // Other tests may keep the thread busy; the linger of a few seconds after them closes the connection at the latest.
        HTTPClient.closeIdleConnections()
        _ = try await HTTPClient().send(HTTPRequest(.get, server.url))
        #expect(server.requests.count == 2)
    }
}
