import Foundation
import Synchronization
import Testing

@testable import Reactor

@Suite("Settings, tokens, logs and wire spellings")
struct ReactorConfigurationTests {
    @Test("the defaults")
    func defaults() {
        let configuration = ReactorConfiguration()
        #expect(configuration.apiURL == "https://api.reactor.inc" && !configuration.local && configuration.autoResumeTracks)
        #expect(configuration.connectTimeout == nil && configuration.commandTimeout == nil && configuration.iceTransport == .all)
        #expect(configuration.eventQueue == nil && configuration.logger == nil)
    }

    @Test("T-46 raw values are the wire spelling")
    func spellings() {
        #expect(ReactorStatus.allCases.map(\.rawValue) == ["disconnected", "connecting", "waiting", "ready"])
        #expect(TrackKind.allCases.map(\.rawValue) == ["video", "audio"])
        #expect(TrackDirection.allCases.map(\.rawValue) == ["sendonly", "recvonly"])
    }

    @Test("token options default to nothing and both spellings of the type are one")
    func tokenOptions() {
        let options: Reactor.TokenOptions = TokenOptions(models: ["reactor/helios"], maxSessions: 1, expiresAfter: 60)
        #expect(options.sessions == nil && options.maxSessionDuration == nil)
        #expect(TokenOptions() == TokenOptions(models: nil))
    }

    @Test("providers give what they were made with, and a token does not show in a description")
    func providers() async throws {
        let fixed = StaticToken("s3cr3t")
        #expect(try await fixed.token(for: "m", sessionID: nil) == "s3cr3t")
        var dumped = ""
        dump(fixed, to: &dumped)
        for text in ["\(fixed)", String(reflecting: fixed), dumped] { #expect(!text.contains("s3cr3t")) }
        let closure = TokenClosure { model, session in "\(model)|\(session ?? "-")" }
        #expect(try await closure.token(for: "m", sessionID: "s") == "m|s")
    }

    @Test("a logger gets what is at or above its level, and nothing is made for the rest")
    func logger() {
        let records = Mutex<[ReactorLogger.Record]>([])
        let logger = ReactorLogger(minimumLevel: .notice) { record in records.withLock { $0.append(record) } }
        var made = 0
        func message(_ text: String) -> String {
            made += 1
            return text
        }
        logger.log(.debug, "http", message("unwanted"))
        logger.log(.warning, "session", message("wanted"), ["id": "1"])
        #expect(made == 1)
        let got = records.withLock { $0 }
        #expect(got.map(\.message) == ["wanted"] && got.first?.metadata == ["id": "1"] && got.first?.category == "session")
        #expect(ReactorLogger.Level.trace < .error && ReactorLogger.standardError.minimumLevel == .info)
    }

    @Test("frames keep what they are made of")
    func frames() {
        let frame = VideoFrame(trackName: "t", pixels: Data([1, 2, 3, 4]), width: 1, height: 1, frameID: 7, userData: Data([9]))
        #expect(frame.pixels.count == 4 && frame.frameID == 7 && frame.captureTimeUs == 0 && frame.userData == Data([9]))
        let audio = AudioFrame(trackName: "a", samples: [1, -1], sampleRate: 48000, channels: 2)
        #expect(audio.samples == [1, -1] && audio.channels == 2)
    }
}
