import PeerTestSupport
import ReactorCore
import Testing

/// Random and mutated bytes through the entries of `CoreFuzz`. A failure prints the seed of its input; see
/// `FuzzBudget` for replaying it, and for longer runs.
@Suite struct CoreFuzzTests {
    /// Real frames and bodies as starting points: random bytes alone rarely get past the first field.
    private static let protobufSamples = [
        "0a06646174615f311001527e0a117365745f6f7665726c61795f696d616765121f0a1d0a106f7665726c61795f737472656e677468120911000000000000d03f1a480a0d6f7665726c61795f696d61676512370a2032633164616237666335326634393061383464316466376662393138326330371205612e7478741a0a746578742f706c61696e200b",
        "0a06646174615f311002523e0a0e6566666563745f6368616e676564122c0a120a0665666665637412081a06696e766572740a160a09696e74656e73697479120911000000000000f03f",
        "0a066374726c5f3310017a080a0677656263616d",
        "0a066374726c5f351002c2022a0a0f7075626c6973685f726566757365641217747261636b20616c7265616479207075626c6973686564",
        "0a066374726c5f3610025a3c0a2462336363623163372d613132392d343062612d383162652d6139393933623637643134351204736e617019b4ccccccccccf43f30f782ddd4a2343a022f63",
        "a306ab06ac06a406100352006a0a0a01610a016222022a00",
    ].map(hexBytes)

    private static let jsonSamples = [
        #"{"scope":"application","data":{"type":"set_effect","data":{"effect":"bl\u00fcr","n":[1,-2.5e3,null,true]}}}"#,
        #"{"type":"response","method":"publish_track","request_id":"r2","error":{"code":"publish_refused","message":"x"}}"#,
        #"{"scope":"runtime","data":{"type":"clipReady","data":{"kind":"snap","predicted_ready_at_ms":1e300,"end_marker":4}}}"#,
        #"{"session_id":"s","state":"CLOSED","selected_transport":{"protocol":"webrtc","version":"1.0"},"capabilities":{"tracks":[{"name":"a","kind":"video","direction":"recvonly"}],"commands":[],"emission_fps":30}}"#,
        #"{"ice_servers":[{"uris":["stun:h:1"]},{"uris":["turn:h"],"credentials":{"username":"u","password":"p"}}]}"#,
        #"{"sdp_answer":"v=0\r\n","connection_id":8256,"jwt":"x","presigned_id":"a","presigned_url":"b"}"#,
    ].map { Array($0.utf8) }

    @Test("PB-05 mutated and random protobuf never traps, and what reads also round trips")
    func protobuf() {
        for seed in FuzzBudget(rounds: 4000) {
            let input = Self.input(seed: seed, samples: Self.protobufSamples)
            CoreFuzz.serverFrame(input)
            CoreFuzz.clientFrame(input)
            #expect(CoreFuzz.protobuf(input), "seed \(seed)")
        }
    }

    @Test("PB-05 mutated and random v0 JSON never traps, and what reads also round trips")
    func legacyJSON() {
        for seed in FuzzBudget(rounds: 4000) {
            let input = Self.input(seed: seed, samples: Self.jsonSamples)
            CoreFuzz.serverFrame(input)
            CoreFuzz.clientFrame(input)
            #expect(CoreFuzz.json(input), "seed \(seed)")
        }
    }

    @Test("mutated and random HTTP bodies never trap")
    func httpBodies() {
        for seed in FuzzBudget(rounds: 4000) { CoreFuzz.httpBody(Self.input(seed: seed, samples: Self.jsonSamples)) }
    }

    private static let playlistSamples = [
        "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-MAP:URI=\"/clips/init.mp4\",BYTERANGE=\"800@0\"\n#EXTINF:4.000,\n#EXT-X-BYTERANGE:100@5\n../c0.m4s?a=b\n#EXT-X-BYTERANGE:100\nhttps://other:8443/c1.m4s\n#EXT-X-ENDLIST\n"
    ].map { Array($0.utf8) }

    @Test("HLS-03 mutated and random playlists never trap, and name only what can be fetched")
    func playlists() {
        for seed in FuzzBudget(rounds: 4000) {
            #expect(CoreFuzz.playlist(Self.input(seed: seed, samples: Self.playlistSamples)), "seed \(seed)")
        }
    }

    @Test("every truncation of a real frame is handled")
    func truncations() {
        for sample in Self.protobufSamples + Self.jsonSamples {
            for count in 0...sample.count {
                let part = Array(sample.prefix(count))
                CoreFuzz.serverFrame(part)
                CoreFuzz.clientFrame(part)
                CoreFuzz.httpBody(part)
                #expect(CoreFuzz.protobuf(part) && CoreFuzz.json(part))
            }
        }
    }

    /// One input per seed: random bytes, or a sample with a few edits.
    private static func input(seed: UInt64, samples: [[UInt8]]) -> [UInt8] {
        var random = SeededBits(seed: seed)
        if random.next(below: 8) == 0 {
            let count = random.next(below: 200)
            return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        var bytes = samples[random.next(below: samples.count)]
        for _ in 0...random.next(below: 6) {
            let position = random.next(below: bytes.count + 1)
            switch random.next(below: 6) {
            case 0 where position < bytes.count: bytes[position] = UInt8(truncatingIfNeeded: random.next())
            case 1 where position < bytes.count: bytes[position] ^= 1 << UInt8(random.next(below: 8))
            case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: position)
            case 3: bytes.removeSubrange(position..<min(bytes.count, position + random.next(below: 8)))
            case 4:
                // Splice: structure inside structure.
                let other = samples[random.next(below: samples.count)]
                let start = random.next(below: other.count)
                bytes.insert(contentsOf: other[start..<min(other.count, start + random.next(below: 60))], at: position)
            default: bytes.insert(contentsOf: [0xFF, 0xFF, 0xFF, 0xFF, 0x7F], at: position)
            }
            if bytes.count > 4096 { break }
        }
        return bytes
    }
}

/// splitmix64: the same bits for the same seed on every machine.
private struct SeededBits {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    mutating func next(below bound: Int) -> Int { bound <= 0 ? 0 : Int(next() % UInt64(bound)) }
}

private func hexBytes(_ hex: String) -> [UInt8] {
    var digits = hex.compactMap(\.hexDigitValue)[...]
    var bytes: [UInt8] = []
    while let high = digits.popFirst(), let low = digits.popFirst() { bytes.append(UInt8(high << 4 | low)) }
    return bytes
}
