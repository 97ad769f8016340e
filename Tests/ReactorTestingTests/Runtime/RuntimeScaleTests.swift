import Foundation
import PeerTestSupport
import Reactor
import ReactorCore
import Synchronization
import Testing

@testable import ReactorTesting

/// Many runtimes and many sessions in one process, and what they leave behind. One after another: they count the process's threads and
/// descriptors.
@Suite("LocalRuntime, many of them", .serialized, .networkTurn)
struct RuntimeScaleTests {
    private struct Streaming: LocalModel {
        let tracks = [LocalTrack("main_video", kind: .video, direction: .recvonly, rate: 15)]
        func run(in session: LocalSession) async throws {
            var grey: UInt8 = 0
            while true {
                grey = grey == 200 ? 40 : grey &+ 1
                try await session.pushVideo(greyFrame(grey, width: 160, height: 90), to: "main_video")
                try await Task.sleep(for: .milliseconds(66))
            }
        }
    }

    @Test("20 runtimes with a client each, all streaming 160x90@15")
    func twenty() async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    try await withRuntime(Streaming()) { runtime in
                        let client = try await runtime.connectedClient()
                        var count = 0
                        for await frame in try client.track("main_video").videoFrames {
                            #expect(frame.width == 160 && frame.height == 90)
                            count += 1
                            if count == 45 { break }
                        }
                        #expect(count == 45)
                        #expect(client.status == .ready)
                        try await client.disconnect()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("1000 half-open offers: bounded threads, descriptors and memory, and the next client is served when they are reaped")
    func halfOpenOffers() async throws {
        try await withCore(TestModel(), { $0.negotiationTimeout = .seconds(2) }) { core in
            let before = (ProcessResources.threadCount, openDescriptors(), residentBytes())
            let offer = try await RawClient.makeOffer()
            var refused = 0
            for id in 0..<1000 {
                do {
                    try await core.offer(OfferRequest(sdp: offer, trackMapping: []), connection: 2000 + id)
                } catch let error as RouteFailure {
                    #expect(error.status == 503 && error.retryAfterSeconds == 1)
                    refused += 1
                }
            }
            let most = RuntimeCore.mostConnections
            // On a slow machine the first may be reaped before the last has come.
            #expect(refused > 0 && refused <= 1000 - most)
            #expect(await core.connectionCount <= most)
            #expect(ProcessResources.threadCount <= before.0 + 2)
            #expect(openDescriptors() <= before.1 + 10 * most)
            #expect(residentBytes() <= before.2 + most << 20)
            #expect(await eventually(within: 10) { await core.connectionCount == 0 })
            #expect(await eventually(within: 10) { openDescriptors() <= before.1 + 4 })
            let client = try await RawClient(core)
            #expect(await client.waitUntilOpen())
            try await client.command("ack")
            #expect(await client.reply("data_1") == .acknowledgement)
        }
    }

    @Test("200 idle sessions: at most 4 threads more than one needs, and at most 1 MB each, the client included")
    func idle() async throws {
        let sessions = 200
        var pairs = [try await idlePair()]
        let threads = ProcessResources.threadCount
        let memory = Self.residentKilobytes
        while pairs.count < sessions { pairs.append(try await idlePair()) }
        let more = ProcessResources.threadCount - threads
        let each = (Self.residentKilobytes - memory) / (sessions - 1)
        print("idle sessions: \(more) more threads for \(sessions), \(each) KB each with runtime and client")
        #expect(pairs.allSatisfy { $0.1.status == .ready })
        #expect(more <= 4)
        if !ProcessResources.isSanitized { #expect(each <= 1024) }
        for (runtime, client) in pairs {
            client.close()
            await runtime.stop()
        }
    }

    private func idlePair() async throws -> (LocalRuntime, Reactor) {
        let runtime = try await LocalRuntime(model: TestModel())
        return (runtime, try await runtime.connectedClient())
    }

    @Test("ICE-14, LEAK-01 started and stopped again and again, with a client: descriptors and threads come back")
    func cycles() async throws {
        func cycle() async throws {
            try await withRuntime(TestModel { _ in try await untilCancelled() }) { runtime in
                let client = try await runtime.connectedClient()
                try await client.sendCommand("echo")
                try await client.disconnect()
                client.close()
            }
        }
        for _ in 0..<3 { try await cycle() }
        let descriptors = ProcessResources.descriptorCount
        let threads = ProcessResources.threadCount
        for _ in 0..<20 { try await cycle() }
        #expect(await eventually(within: 20) { ProcessResources.descriptorCount <= descriptors + 2 })
        #expect(await eventually(within: 20) { ProcessResources.threadCount <= threads + 2 })
    }

    @Test("A runtime is there within a tenth of a second")
    func startTime() async throws {
        _ = try await withRuntime(TestModel()) { _ in }
        var times: [Duration] = []
        for _ in 0..<5 {
            let start = ContinuousClock.now
            let runtime = try await LocalRuntime(model: TestModel())
            times.append(ContinuousClock.now - start)
            await runtime.stop()
        }
        print("start of a runtime: \(times.map { $0 / .milliseconds(1) }) ms")
        #expect(times.min() ?? .seconds(1) < .milliseconds(100))
    }

    private static var residentKilobytes: Int {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}
