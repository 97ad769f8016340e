import PeerTestSupport
import RTCBase
import RTCPeer
import Synchronization
import Testing

/// The way of sound between two ends in one process, in real time.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct AudioLoopbackTests {
    /// The parts: 20 ms until a packet is full, 6.5 ms that Opus looks ahead, the jitter buffer, and up to 10 ms until the block
    /// is due that the second half of a packet is in.
    @Test("a sound is heard at most 60 ms after its first sample, in the median of twelve")
    func pushToCallback() async throws {
        let call = try await PeerCall()
        try #require(await call.waitUntilOpen())
        let consumer = try call.audio.addAudioConsumer(capacityBlocks: 200)
        let tone = try TestTone(burstInterval: 25)
        await call.peer.run { $0.startAudio(mid: PeerCall.audioMid, tone) }
        var onsets: [MonotonicTime] = []
        // The first bursts are while the jitter buffer learns.
        while onsets.count < 16, let block = await consumer.next() {
            let now = NetworkThread.now()
            guard TestTone.share(of: TestTone.burstFrequency, in: block.samples) > 0.3 else { continue }
            if onsets.last.map({ now.milliseconds(since: $0) > 250 }) ?? true { onsets.append(now) }
        }
        let sent = tone.burstTimes.withLock { $0 }
        let delays = onsets.dropFirst(4).compactMap { onset in
            // A packet leaves when its last sample exists.
            sent.last { $0 <= onset }.map { onset.milliseconds(since: $0) + 20 }
        }.sorted()
        let audio = try #require(await call.connection.statistics.inbound.first { $0.track == "main_audio" }?.audio)
        let median = delays[delays.count / 2]
        print(
            "MEASURED audio_push_to_callback_ms \(median) ms; buffer \(audio.currentDelayMilliseconds), target \(audio.targetDelayMilliseconds)"
        )
        #expect(median <= 60 || audio.targetDelayMilliseconds > 15, "a busy machine may need more: \(delays), \(audio)")
        #expect(audio.packetsPlayed > 300)
        await call.end()
    }
}
