import Testing

@testable import Reactor

@Suite("Body excerpt")
struct BodyExcerptTests {
    private func text(_ body: String, secrets: [String] = []) -> String { BodyExcerpt.text(of: Array(body.utf8), secrets: secrets) }

    @Test("ordinary error bodies pass unchanged")
    func ordinary() {
        for body in [
            "{\"detail\":\"cannot start session while closing\"}", "Internal Server Error", "", "{\"detail\":\"invalid token: expired\"}",
            "Bearer token missing", "{\"id\":\"00000000-0000-0000-0000-000000000000\"}", "Grüße 日本",
        ] {
            #expect(text(body) == body)
        }
    }

    @Test("what looks like a credential is taken out")
    func credentials() {
        #expect(text("bad Bearer abcdefghijklmnop.qrs") == "bad Bearer [redacted]")
        #expect(text("token eyJhbGciOiJIUzI1NiJ9.e30.abc refused") == "token [redacted] refused")
        #expect(text("key rk_live_123 unknown") == "key [redacted] unknown")
        #expect(text("{\"jwt\": \"short\", \"password\":\"p\"}") == "{\"jwt\": \"[redacted]\", \"password\":\"[redacted]\"}")
        #expect(text("you sent hunter22, sorry", secrets: ["hunter22"]) == "you sent [redacted], sorry")
    }

    @Test("a secret does not slip through in part at the end of the excerpt")
    func secretAtTheCut() {
        let secret = "Zq9" + String(repeating: "w", count: 60)
        let excerpt = text(String(repeating: "a ", count: 250) + secret, secrets: [secret])
        #expect(!excerpt.contains("Zq9"))
    }

    @Test("at most 512 bytes of one line come out, cut between characters, whatever goes in")
    func bounded() {
        #expect(text(String(repeating: "x", count: 100_000)).utf8.count == 512)
        #expect(text(String(repeating: "é", count: 1000)).utf8.count == 512)
        #expect(text("a" + String(repeating: "é", count: 1000)).utf8.count == 511)
        #expect(text("<html>\r\n\tx\u{1B}[31m") == "<html>  x [31m")
        #expect(BodyExcerpt.text(of: [0xFF, 0xFE, 0x41]).hasSuffix("A"))
    }
}
