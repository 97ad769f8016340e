import PeerTestSupport
import Testing

@testable import ReactorTesting

/// Random, mutated and truncated input through the parsers behind the routes: none may trap. A failure prints its seed.
@Suite("HTTP parser fuzz")
struct HTTPParserFuzzTests {
    private static func run(_ samples: [String], name: String = #function, _ entry: ([UInt8]) -> Bool) {
        let samples = samples.map { Array($0.utf8) }
        for seed in FuzzBudget(rounds: 2000, name: name) where !entry(FuzzInput.bytes(seed: seed, samples: samples)) {
            Issue.record("seed \(seed)")
        }
        for sample in samples { for count in 0...sample.count { #expect(entry(Array(sample.prefix(count)))) } }
    }

    @Test("targets and queries never trap, and what is written back reads the same")
    func targets() {
        Self.run(
            [
                "/sessions/0000/transport/webrtc/connections/5000/sdp_params", "/clips?session_id=a%20b&start=1.5&end=%C3%A9+x&end=",
                "/%2e%2e/%00/%zz?=&&a=b=c", "http://host:1/a?b", "*", "/",
            ], HTTPFuzz.target)
    }

    @Test("ranges and other fields never trap, and a range never leaves its file")
    func fields() {
        Self.run(
            [
                "bytes=0-99", "bytes=-5", "bytes=18446744073709551616-", "bytes=9223372036854775807-9223372036854775807", "bytes=1-1,2-3",
                "W/\"a-b\", *", "[::1]:8080",
            ], HTTPFuzz.fields)
    }

    @Test("names of files never trap and never lead anywhere")
    func fileNames() { Self.run(["../../etc/passwd", "C:\\a\\b.txt", "größe\u{202E}.png", "...", " a"], HTTPFuzz.fileName) }

    @Test("bodies of every route never trap, whatever their shape")
    func bodies() {
        Self.run(
            [
                #"{"session_id":"aaaaaaaa-bbbb","extra_args":{"k":1},"generation":"streamed","steps":3,"starting_input":{"state":{},"commands":[{"command":"a","data":{}}]}}"#,
                #"{"sdp_offer":"v=0","track_mapping":[{"name":"a","kind":"video","direction":"sendonly","mid":"0"}]}"#,
                #"{"candidates":[{"candidate":"c","sdp_mid":"0","sdp_mline_index":0}],"is_final":false}"#,
                #"{"name":"a","size":1e18,"mime_type":"x/y","upload_id":"z"}"#, #"{"moderate":true,"reason":"x"}"#, "[[[[1]]]]", "null",
            ], HTTPFuzz.body)
    }

    @Test("random bytes into a socket leave the server as it was")
    func sockets() async throws {
        let samples = [
            "POST /start_session HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
            "PUT /uploads/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "GET /clips?session_id=x&start=0&end=1 HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\n\r\n",
        ]
        try await TestRuntime.with { runtime in
            let port = runtime.port
            try await onThread {
                for seed in FuzzBudget(rounds: 500) {
                    let http = try RawHTTP(port: port)
                    http.send(FuzzInput.bytes(seed: seed, samples: samples.map { Array($0.utf8) }))
                    if seed % 2 == 0 { http.finishSending() }
                }
            }
            #expect(await becomesTrue { runtime.http.connectionCount == 0 })
            #expect(try await onThread { try RawHTTP(port: port).request("GET", "/session").status } == 200)
        }
    }
}

/// The same bytes for the same seed: random ones, and samples with bytes changed, cut out and doubled.
enum FuzzInput {
    static func bytes(seed: UInt64, samples: [[UInt8]]) -> [UInt8] {
        var random = Generator(state: seed &* 0x9E37_79B9_7F4A_7C15 &+ 1)
        if seed % 8 == 0 { return (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) } }
        var bytes = samples.randomElement(using: &random) ?? []
        for _ in 0..<Int.random(in: 0...6, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &random)))
            case 2: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 16)], at: place)
            default: bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
            }
        }
        return bytes
    }

    /// SplitMix64.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
            return value ^ value >> 31
        }
    }
}
