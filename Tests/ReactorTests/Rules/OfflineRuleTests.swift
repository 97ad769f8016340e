import Dispatch
import Foundation
import ReactorCore
import Synchronization
import Testing

@testable import Reactor

/// Rules that need no server.
@Suite struct OfflineRuleTests {
    @Test("R-12 without an eventQueue a client has a serial queue of its own")
    func ownQueue() async throws {
        let (one, other) = (try Reactor(model: "a/b", local: true), try Reactor(model: "a/b", local: true))
        #expect(one.state.hub.queue !== other.state.hub.queue && one.state.hub.queue !== DispatchQueue.main)
        // Serial: however long one block takes, the next waits for it.
        let order = Mutex<[Int]>([])
        for number in 0..<50 {
            one.state.hub.queue.async {
                if number % 10 == 0 { Thread.sleep(forTimeInterval: 0.001) }
                order.withLock { $0.append(number) }
            }
        }
        await withCheckedContinuation { done in one.state.hub.queue.async { done.resume() } }
        #expect(order.withLock { $0 } == Array(0..<50))
    }

    @Test("R-14 a C library of another interface makes init throw versionMismatch; those of this machine fit")
    func nativeLibraries() throws {
        #expect(throws: Never.self) { try Reactor(model: "a/b") }
        let error = #expect(throws: ReactorError.self) { try Reactor.check(mismatchedLibraries: ["libvpx", "OpenSSL"]) }
        #expect(error?.code == .versionMismatch && error?.operation == "create")
        #expect(error?.message.contains("libvpx, OpenSSL") == true && error?.message.contains("rebuild") == true)
    }

    @Test("R-74 timeMicros() counts microseconds and never goes back")
    func monotonic() {
        var last = Reactor.timeMicros()
        for _ in 0..<10_000 {
            let now = Reactor.timeMicros()
            #expect(now >= last)
            last = now
        }
        let clock = ContinuousClock()
        let (begin, started) = (Reactor.timeMicros(), clock.now)
        while clock.now - started < .milliseconds(20) {}
        let (elapsed, counted) = (clock.now - started, Reactor.timeMicros() - begin)
        #expect(counted >= 20_000 && Duration.microseconds(counted) <= elapsed + .milliseconds(5))
    }

    @Test("R-76 timeMicros() is not the time of day")
    func notTheTimeOfDay() {
        let unix = Int64(Date().timeIntervalSince1970 * 1e6)
        // A machine that was set up in 1970 and never switched off would fail here.
        #expect(abs(Reactor.timeMicros() - unix) > 365 * 86_400 * 1_000_000)
    }

    @Test("X-16 the time limits: 30 s to be ready, 10 s for a request, a clip and a ping, 30 s for the token")
    func limits() {
        #expect(SessionEngine.readinessSeconds == 30)
        #expect(SessionEngine.pingMilliseconds == 10_000)
        #expect(APIClient.Limits().create == .seconds(30))
        for call in [PendingCall.command(type: "a"), .schema, .publish(track: "a"), .clip, .recording] {
            #expect(call.timeoutNanoseconds == 10_000_000_000)
        }
    }
}
