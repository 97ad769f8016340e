import Testing

@testable import ReactorTesting

@Suite("PublisherSlots")
struct PublisherSlotsTests {
    private let first = ConnectionKey(id: 5000, generation: 1)
    private let second = ConnectionKey(id: 5001, generation: 2)

    // The macro takes no mutating call.
    private func claim(_ slots: inout PublisherSlots, _ track: String, by key: ConnectionKey) -> String? {
        slots.claim(track, by: key)
    }
    private func release(_ slots: inout PublisherSlots, _ track: String, by key: ConnectionKey) -> Bool {
        slots.release(track, by: key)
    }

    @Test("§6.3 one holder per track, first come first served; only the holder lets go")
    func oneHolder() {
        var slots = PublisherSlots(tracks: ["webcam", "mic"])
        #expect(claim(&slots, "webcam", by: first) == nil)
        #expect(claim(&slots, "webcam", by: second) == "track already published")
        #expect(claim(&slots, "mic", by: second) == nil)
        #expect(!release(&slots, "webcam", by: second))
        #expect(slots.holder(of: "webcam") == first)
        #expect(release(&slots, "webcam", by: first))
        #expect(!release(&slots, "webcam", by: first))
        #expect(claim(&slots, "webcam", by: second) == nil)
    }

    @Test("§6.4 the holder may claim again, and its replacement under the same id starts without slots")
    func repeatedClaim() {
        var slots = PublisherSlots(tracks: ["webcam", "mic"])
        #expect(claim(&slots, "webcam", by: first) == nil)
        #expect(claim(&slots, "webcam", by: first) == nil)
        #expect(claim(&slots, "mic", by: second) == nil)
        slots.releaseAll(of: first)
        #expect(slots.holder(of: "webcam") == nil)
        #expect(slots.holder(of: "mic") == second)
        #expect(claim(&slots, "webcam", by: ConnectionKey(id: 5000, generation: 3)) == nil)
    }

    @Test("§12, 26 a track that clients do not send is refused")
    func unknownNames() {
        var slots = PublisherSlots(tracks: ["webcam"])
        for name in ["", "main_video", "WEBCAM"] { #expect(claim(&slots, name, by: first) == "unknown track '\(name)'") }
    }
}
