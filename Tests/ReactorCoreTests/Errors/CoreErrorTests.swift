import Testing

@testable import ReactorCore

@Suite struct CoreErrorTests {
    @Test(
        "HTTP status to code and recoverable, wire-protocol 8.2",
        arguments: [
            (400, "BAD_REQUEST", false), (401, "UNAUTHORIZED", false), (403, "UNAUTHORIZED", false), (404, "NOT_FOUND", false),
            (409, "CONFLICT", false), (410, "BAD_REQUEST", false), (422, "BAD_REQUEST", false), (429, "RATE_LIMITED", true),
            (500, "SERVER_ERROR", true), (502, "SERVER_ERROR", true), (503, "SERVER_ERROR", true), (302, "SERVER_ERROR", true),
            (100, "SERVER_ERROR", true),
        ])
    func status(status: Int, code: String, recoverable: Bool) {
        let error = CoreError.http(status: status, context: .createSession, body: Array("no".utf8), retryAfter: "1.5")
        #expect(error.code.rawValue == code)
        #expect(error.recoverable == recoverable)
        #expect(error.status == status)
        #expect(error.message == "unexpected HTTP status \(status) from create session: no")
        #expect(error.retryAfterMilliseconds == 1500)
    }

    @Test("426 and 501 are version mismatches without a status and without a retry hint", arguments: [426, 501])
    func version(status: Int) {
        let error = CoreError.http(status: status, context: .getSession, body: [], retryAfter: "3")
        #expect(error.code == .versionMismatch)
        #expect(error.status == nil)
        #expect(error.retryAfterMilliseconds == nil)
        #expect(!error.recoverable)
    }

    @Test(
        "Retry-After is read as delta-seconds only",
        arguments: [
            ("0", 0.0), ("1", 1000), ("1.5", 1500), (" 2 ", 2000), ("-1", nil), ("nan", nil), ("inf", nil), ("0x10", nil), ("", nil),
            ("1 s", nil), ("Wed, 21 Oct 2015 07:28:00 GMT", nil), ("1e400", nil),
        ] as [(String, Double?)])
    func retryAfter(header: String, expected: Double?) {
        #expect(RetryAfter.milliseconds(header) == expected)
    }

    @Test("an unknown code keeps its text and is not recoverable; an empty one is INTERNAL_ERROR")
    func openCodes() {
        #expect(ErrorCode(rawValue: "too_many").rawValue == "too_many")
        #expect(!ErrorCode(rawValue: "too_many").isRecoverable)
        #expect(ErrorCode(rawValue: "") == .internalError)
    }

    @Test("a long body is quoted in part")
    func longBody() {
        let error = CoreError.http(status: 500, context: .iceServers, body: Array(repeating: UInt8(ascii: "x"), count: 100_000))
        #expect(error.message.utf8.count < 2200)
    }
}
