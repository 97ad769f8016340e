import Testing

@testable import Reactor

@Suite struct RuntimeEventTests {
    @Test("8.5 the platform's messages as typed events, and what cannot be read as it came")
    func typed() throws {
        let clip: JSONValue = ["playlist_url": "http://h/clips", "kind": "snap"]
        #expect(RuntimeEvent(["type": "clipReady", "data": clip]) == .clipReady(try Clip(payload: clip)))
        #expect(RuntimeEvent(["type": "clipReady", "data": [:]]) == .other(type: "clipReady", data: [:]))
        guard case .clipFailed(let error) = RuntimeEvent(["type": "clipFailed", "data": ["reason": "recorder disabled"]]) else {
            Issue.record("not a failure")
            return
        }
        #expect(error.code == .recorderDisabled && error.operation == "request_clip")
        let notice: JSONValue = [
            "action": "terminate", "input_kind": "text", "command": "set_prompt", "categories": ["violence"], "message": "no",
        ]
        guard case .moderation(let event) = RuntimeEvent(["type": "moderation", "data": notice]) else {
            Issue.record("not a moderation")
            return
        }
        #expect(
            event.action == .terminate && event.inputKind == "text" && event.command == "set_prompt" && event.categories == ["violence"])
        #expect(try JSONValue(encoding: event) == notice)
        #expect(RuntimeEvent(["type": "sessionEnded", "data": ["reason": "x"]]) == .other(type: "sessionEnded", data: ["reason": "x"]))
        #expect(RuntimeEvent(.null) == .other(type: "", data: .null))
    }
}
