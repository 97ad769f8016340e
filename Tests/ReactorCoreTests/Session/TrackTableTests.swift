import Testing

@testable import ReactorCore

@Suite struct TrackTableTests {
    private let g1 = Generation(1)
    private let g2 = Generation(2)

    private func table() -> TrackTable {
        var table = TrackTable()
        table.declare(SessionMachineTests.capabilities.tracks)
        return table
    }

    @Test("tracks keep the order of declaration; outputs are the recvonly ones")
    func order() {
        #expect(table().names == ["webcam", "main_video", "main_audio"])
        #expect(table().outputNames == ["main_video", "main_audio"])
    }

    @Test("pause and resume: unknown names and inputs are refused")
    func pause() throws {
        var table = table()
        try table.pause("main_video")
        try table.pause("main_video")
        #expect(table.pausedNames == ["main_video"])
        try table.resume("main_video")
        #expect(table.pausedNames.isEmpty)
        let unknown = #expect(throws: CoreError.self) { try table.pause("nope") }
        #expect(unknown?.code == .transportError && unknown?.message == "unknown track: nope")
        let wrong = #expect(throws: CoreError.self) { try table.resume("webcam") }
        #expect(wrong?.code == .invalidState && wrong?.operation == .resumeTrack)
    }

    @Test("T-14, T-15 publish: only inputs, one at a time, granted once")
    func publish() throws {
        var table = table()
        #expect(throws: CoreError.self) { try table.beginPublish("main_video", generation: g1) }
        #expect(try table.beginPublish("webcam", generation: g1) == .request(unpublishFirst: false))
        #expect(!table.isPublished("webcam"))
        #expect(throws: CoreError.self) { try table.beginPublish("webcam", generation: g1) }
        try table.publishGranted("webcam", generation: g1)
        #expect(table.isPublished("webcam"))
        #expect(try table.beginPublish("webcam", generation: g1) == .alreadyPublished)
    }

    @Test("T-13 a grant under an older generation claims nothing")
    func staleGrant() throws {
        var table = table()
        _ = try table.beginPublish("webcam", generation: g1)
        table.leaveReady()
        let error = #expect(throws: CoreError.self) { try table.publishGranted("webcam", generation: g1) }
        #expect(error?.code == .disconnected)
        _ = try table.beginPublish("webcam", generation: g2)
        #expect(throws: CoreError.self) { try table.publishGranted("webcam", generation: g1) }
        #expect(!table.isPublished("webcam"))
        try table.publishGranted("webcam", generation: g2)
        #expect(table.isPublished("webcam"))
    }

    @Test("a refused publish may be tried again plainly; after a timeout the slot is given back first", arguments: [false, true])
    func failed(slotMayBeHeld: Bool) throws {
        var table = table()
        _ = try table.beginPublish("webcam", generation: g1)
        table.publishFailed("webcam", generation: g1, slotMayBeHeld: slotMayBeHeld)
        #expect(try table.beginPublish("webcam", generation: g1) == .request(unpublishFirst: slotMayBeHeld))
    }

    @Test("X-13 unpublish has nothing to do unless published; T-18 the track stays published until it was sent")
    func unpublish() throws {
        var table = table()
        #expect(try table.needsUnpublish("webcam") == false)
        _ = try table.beginPublish("webcam", generation: g1)
        try table.publishGranted("webcam", generation: g1)
        #expect(try table.needsUnpublish("webcam") == true)
        #expect(table.isPublished("webcam"))
        table.unpublished("webcam")
        #expect(!table.isPublished("webcam"))
        #expect(try table.beginPublish("webcam", generation: g1) == .request(unpublishFirst: false))
    }

    @Test("T-18, 6.4 an unpublish whose notification was lost: the next claim gives the slot back first")
    func lostUnpublish() throws {
        var table = table()
        _ = try table.beginPublish("webcam", generation: g1)
        try table.publishGranted("webcam", generation: g1)
        #expect(table.publishedNames == ["webcam"])
        table.unpublished("webcam", slotMayBeHeld: true)
        #expect(table.publishedNames.isEmpty)
        #expect(try table.beginPublish("webcam", generation: g1) == .request(unpublishFirst: true))
    }

    @Test("6.4 the notification of an unpublish may be lost with its connection: after a reconnect the slot is given back first")
    func unpublishedThenLost() throws {
        var table = table()
        _ = try table.beginPublish("webcam", generation: g1)
        try table.publishGranted("webcam", generation: g1)
        table.unpublished("webcam")
        table.leaveReady()
        #expect(try table.beginPublish("webcam", generation: g2) == .request(unpublishFirst: true))
    }
}
