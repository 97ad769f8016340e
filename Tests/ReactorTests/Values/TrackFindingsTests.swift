import Testing

@testable import Reactor

/// What `diagnose(track:)` makes of what is known.
@Suite struct TrackFindingsTests {
    private func findings(
        _ direction: TrackDirection?, status: ReactorStatus = .ready, _ change: (inout TrackFindings) -> Void = { _ in }
    ) -> Diagnosis {
        var findings = TrackFindings(
            name: "cam", status: status, declaredNames: ["main_video", "cam"], direction: direction,
            kind: direction == nil ? nil : .video)
        change(&findings)
        return findings.diagnosis
    }

    @Test("C9.12 each step of a received track is the first missing one in its turn, and the words say what to do")
    func received() {
        let changes: [(Diagnosis.Step, String, (inout TrackFindings) -> Void)] = [
            (.subscribed, "leaves the track out", { $0.isPaused = true }),
            (.resumed, "call resume()", { $0.isNegotiated = true }),
            (.received, "no packet", { $0.isPaused = false }),
            (.decoded, "7 packets", { $0.packetsReceived = 7 }),
            (.delivered, "videoFrames", { $0.framesDecoded = 1 }),
        ]
        var seen: [Diagnosis.Step] = [.connected, .declared]
        for index in changes.indices {
            let diagnosis = findings(.recvonly) { for change in changes[...index] { change.2(&$0) } }
            #expect(diagnosis.firstMissing == changes[index].0)
            #expect(diagnosis.passed == seen)
            #expect(diagnosis.description.contains(changes[index].1), "\(diagnosis)")
            seen.append(changes[index].0)
        }
        let whole = findings(.recvonly) {
            for change in changes { change.2(&$0) }
            $0.framesTaken = 1
        }
        #expect(whole.firstMissing == nil && whole.passed == seen)
    }

    @Test("C9.12 each step of a sent track")
    func sent() {
        #expect(findings(.sendonly) { $0.isNegotiated = true }.firstMissing == .published)
        let unpushed = findings(.sendonly) { ($0.isNegotiated, $0.isPublished) = (true, true) }
        #expect(unpushed.firstMissing == .sent && unpushed.description.contains("pushFrame()"))
        let stuck = findings(.sendonly) { ($0.isNegotiated, $0.isPublished, $0.framesPushed) = (true, true, 9) }
        #expect(stuck.firstMissing == .sent && stuck.description.contains("9 frames were pushed"))
        let unheard = findings(.sendonly) { ($0.isNegotiated, $0.isPublished, $0.packetsSent) = (true, true, 5) }
        #expect(unheard.firstMissing == .acknowledged)
        let whole = findings(.sendonly) {
            ($0.isNegotiated, $0.isPublished, $0.packetsSent, $0.isAcknowledged) = (true, true, 5, true)
        }
        #expect(whole.firstMissing == nil)
        #expect(whole.passed == [.connected, .declared, .subscribed, .published, .sent, .acknowledged])
    }

    @Test("C9.12 without a connection, without the track, with media refused")
    func early() {
        #expect(findings(nil, status: .disconnected).firstMissing == .connected)
        #expect(findings(.recvonly, status: .waiting).description.contains("waiting"))
        let unknown = findings(nil)
        #expect(unknown.firstMissing == .declared && unknown.description.contains("main_video, cam"))
        let refused = findings(.sendonly) { ($0.isNegotiated, $0.rejection) = (true, "no common codec") }
        #expect(refused.firstMissing == .subscribed && refused.description.contains("no common codec"))
    }
}
