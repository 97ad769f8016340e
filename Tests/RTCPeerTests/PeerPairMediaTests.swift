import PeerTestSupport
import RTCBase
import RTCPeer
import Testing

/// Media between two of our ends, both ways at once, in either arrangement of sections.
@Suite(.serialized, .networkTurn, .timeLimit(.minutes(2))) struct PeerPairMediaTests {
    /// Sections that carry both ways, or one for each way.
    enum Sections: CaseIterable { case twoWay, separate }

    /// One end's tracks: what comes, what goes.
    private struct End {
        let video = RemoteTrack(name: "video")
        let audio = RemoteTrack(name: "audio")
        let camera: LocalTrack
        let microphone: LocalTrack
        let tracks: [TrackDeclaration]

        init(_ sections: Sections, isFar: Bool) {
            switch sections {
            case .twoWay:
                camera = LocalTrack(name: "video", kind: .video)
                microphone = LocalTrack(name: "audio", kind: .audio)
                tracks = [
                    TrackDeclaration(name: "video", kind: .video, direction: .sendonly, isTwoWay: true),
                    TrackDeclaration(name: "audio", kind: .audio, direction: .sendonly, isTwoWay: true),
                ]
            case .separate:
                camera = LocalTrack(name: "camera", kind: .video)
                microphone = LocalTrack(name: "microphone", kind: .audio)
                let there = [
                    TrackDeclaration(name: "camera", kind: .video, direction: .sendonly),
                    TrackDeclaration(name: "microphone", kind: .audio, direction: .sendonly),
                ]
                let back = [
                    TrackDeclaration(name: "video", kind: .video, direction: .recvonly),
                    TrackDeclaration(name: "audio", kind: .audio, direction: .recvonly),
                ]
                tracks = isFar ? back + there : there + back
            }
        }

        var remote: [String: RemoteTrack] { ["video": video, "audio": audio] }
        var local: [String: LocalTrack] { [camera.name: camera, microphone.name: microphone] }
    }

    @Test("video and audio go both ways between two of ours", arguments: Sections.allCases, [VideoCodec.vp9, .vp8])
    func bothWays(_ sections: Sections, _ codec: VideoCodec) async throws {
        let (near, far) = (End(sections, isFar: false), End(sections, isFar: true))
        var offering = PeerConfiguration()
        offering.videoCodecs = [codec]
        let pair = try await PeerPair(
            tracks: near.tracks, farTracks: far.tracks, remoteTracks: near.remote, farRemoteTracks: far.remote, localTracks: near.local,
            farLocalTracks: far.local, offering: offering)
        try #require(await pair.waitUntilOpen())
        #expect(pair.answer.receivedTracks.map(\.track) == ["video", "audio"] && pair.answer.rejectedTracks.isEmpty)
        #expect(Set(pair.answer.sentTracks.map(\.track)) == [far.camera.name, far.microphone.name])
        let consumers = [near, far].map { (video: $0.video.addVideoConsumer(), audio: $0.audio.addAudioConsumer(capacityBlocks: 400)) }
        for (connection, end) in [(pair.offerer, near), (pair.answerer, far)] {
            try await connection.setPublishing(true, track: end.camera.name)
            try await connection.setPublishing(true, track: end.microphone.name)
        }
        for number in 0..<8 {
            for (sender, consumer) in [(near, consumers[1]), (far, consumers[0])] {
                let isShown = await shows(number, of: sender.camera, at: consumer.video)
                #expect(isShown, "picture \(number)")
            }
        }
        for (sender, consumer, frequency) in [(near, consumers[1], 600.0), (far, consumers[0], 900)] {
            #expect(try await hears(frequency, of: sender.microphone, at: consumer.audio))
        }
        for connection in [pair.offerer, pair.answerer] {
            let statistics = await connection.statistics
            #expect(statistics.inbound.first { $0.kind == .video }?.codec == codec.rawValue)
            #expect(statistics.inbound.allSatisfy { $0.packetsReceived > 0 && $0.packetsLost == 0 })
            #expect(statistics.outbound.count == 2 && statistics.outbound.allSatisfy { $0.packetsSent > 0 })
        }
        #expect(pair.offererEvents.losses.isEmpty && pair.answererEvents.losses.isEmpty)
        await pair.end()
    }

    @Test("LEAK-01 twenty calls that end amid media leave no thread and no descriptor behind")
    func cycles() async throws {
        func cycle() async throws {
            let (near, far) = (End(.twoWay, isFar: false), End(.twoWay, isFar: true))
            let pair = try await PeerPair(
                tracks: near.tracks, farTracks: far.tracks, remoteTracks: near.remote, farRemoteTracks: far.remote,
                localTracks: near.local, farLocalTracks: far.local)
            try #require(await pair.waitUntilOpen())
            let consumers = [near, far].map { $0.video.addVideoConsumer() }
            for (connection, end) in [(pair.offerer, near), (pair.answerer, far)] {
                try await connection.setPublishing(true, track: "video")
                try await connection.setPublishing(true, track: "audio")
                let samples = TestTone.samples(frequency: 500, count: 9_600)
                _ = samples.withUnsafeBufferPointer { end.microphone.push(samples: $0, sampleRate: 48_000, channels: 1) }
            }
            #expect(await shows(1, of: near.camera, at: consumers[1]))
            #expect(await shows(2, of: far.camera, at: consumers[0]))
            await pair.end()
            #expect(!near.camera.isPublished && !far.microphone.isPublished)
        }
        for _ in 0..<3 { try await cycle() }
        let descriptors = ProcessResources.descriptorCount
        let threads = ProcessResources.threadCount
        for _ in 0..<20 { try await cycle() }
        #expect(await eventually { ProcessResources.descriptorCount <= descriptors + 2 })
        #expect(await eventually { ProcessResources.threadCount <= threads + 2 })
    }

    /// Pushes flat pictures of one number until they are shown at the other end.
    private func shows(_ number: Int, of camera: LocalTrack, at consumer: RemoteTrack.VideoConsumer) async -> Bool {
        let luma = TestVideo.luma(number)
        let grey = UInt8(((luma - 16) * 255 + 109) / 219)
        let pixels = [UInt8](repeating: grey, count: 64 * 48 * 4)
        return await eventually {
            _ = pixels.withUnsafeBytes { camera.push(bgra: $0, width: 64, height: 48) }
            while consumer.isPending {
                guard let picture = await consumer.next(), let shown = picture.bgra()?.buffer else { return false }
                let middle = (picture.height / 2 * picture.width + picture.width / 2) * 4
                if TestVideo.number(grey: Int(shown[middle])) == number { return true }
            }
            return false
        }
    }

    /// Pushes a stretch of a tone and listens until a tenth of a second of it was heard.
    private func hears(_ frequency: Double, of microphone: LocalTrack, at consumer: RemoteTrack.AudioConsumer) async throws -> Bool {
        let samples = TestTone.samples(frequency: frequency, count: 24_000)
        _ = samples.withUnsafeBufferPointer { microphone.push(samples: $0, sampleRate: 48_000, channels: 1) }
        var window: [Int16] = []
        for _ in 0..<400 {
            guard let block = await consumer.next() else { return false }
            window += block.samples
            if window.count > 4800 { window.removeFirst(480) }
            if window.count == 4800, TestTone.share(of: frequency, in: window) > 0.9 { return true }
        }
        return false
    }
}
