import RTCBase
import RTCPeer
import Reactor
import Testing

extension Interop {
    /// Consent freshness (RFC 7675) with the vendor's engine at the other end.
    @Suite("Consent")
    struct ConsentTests {
        @Test("ICE-07 the runtime answers every one of our consent checks, and the session outlives the first consent")
        func answered() async throws {
            try await withRuntime(["PROBE_FPS": "5"]) { runtime in
                let reactor = try client(runtime.url)
                try await reactor.connect()
                // Checks are 4 to 6 s apart, and begin anew when ICE finds a better pair, some seconds after the first at times.
                // The first consent, which ICE gave, lasts 30 s.
                let wanted = Settings.isFull ? 7 : 2
                let begin = Stopwatch()
                #expect(await eventually(within: Double(wanted) * 6 + 8) { await reactor.peerStatistics()?.consentAnswers ?? 0 >= wanted })
                let statistics = try #require(await reactor.peerStatistics())
                measured("consent_checks", Double(statistics.consentChecksSent), "checks")
                measured("consent_answers", Double(statistics.consentAnswers), "answers")
                // The last one may be under way.
                #expect(statistics.consentChecksSent - statistics.consentAnswers <= 1)
                #expect(statistics.consentChecksSent <= Int(begin.seconds / 4) + 1)
                #expect(statistics.drops[.unknownDatagram] == 0)
                #expect(reactor.status == .ready)
                try await reactor.disconnect()
                reactor.close()
            }
        }
    }
}
