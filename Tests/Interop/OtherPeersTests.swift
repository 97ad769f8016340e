import RTCBase
import RTCPeer
import Testing

extension Interop {
    /// Both roles with WebRTC stacks that have nothing to do with the vendor's.
    @Suite("Other peers")
    struct OtherPeersTests {
        @Test(
            "aiortc: video, audio and data, offering and answering",
            .enabled(if: OtherPeer.aiortc.isInstalled, "\(OtherPeer.aiortc.missing)"), arguments: OtherPeer.Role.allCases)
        func aiortc(_ role: OtherPeer.Role) async throws { try await Self.call(.aiortc, role, .vp8) }

        @Test(
            "Chromium: video, audio and data, offering and answering, VP8 and VP9",
            .enabled(if: OtherPeer.chromium.isInstalled, "\(OtherPeer.chromium.missing)"), arguments: OtherPeer.Role.allCases,
            [VideoCodec.vp8, .vp9])
        func chromium(_ role: OtherPeer.Role, _ codec: VideoCodec) async throws { try await Self.call(.chromium, role, codec) }

        @Test(
            "GStreamer's webrtcbin: video, audio and data, offering and answering, VP8 and VP9",
            .enabled(if: OtherPeer.gstreamer.isInstalled, "\(OtherPeer.gstreamer.missing)"), arguments: OtherPeer.Role.allCases,
            [VideoCodec.vp8, .vp9])
        func gstreamer(_ role: OtherPeer.Role, _ codec: VideoCodec) async throws { try await Self.call(.gstreamer, role, codec) }

        @Test(
            "ICE-01 Chromium's .local candidates are skipped, its own checks reach us",
            .enabled(if: OtherPeer.chromium.isInstalled, "\(OtherPeer.chromium.missing)"), arguments: OtherPeer.Role.allCases)
        func mdns(_ role: OtherPeer.Role) async throws {
            let (seen, report) = try await OtherPeerCall.run(.chromium, role, seconds: 2, options: ["--mdns"])
            let candidates = seen.description.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("a=candidate:") }
            #expect(!candidates.isEmpty && candidates.allSatisfy { $0.contains(".local ") })
            #expect(report.state == "connected" && seen.isWhole)
            #expect(seen.remoteCandidateType == "prflx")
            #expect(seen.pongs > 0 && seen.counters.count > 10)
        }

        /// Media both ways with the counters and the tone read, and pings both ways.
        private static func call(_ peer: OtherPeer, _ role: OtherPeer.Role, _ codec: VideoCodec) async throws {
            let (seen, report) = try await OtherPeerCall.run(peer, role, codec: codec)
            let name = "\(peer)_\(role)_\(codec.rawValue)"
            measured("\(name)_received_frames", Double(seen.distinct), "of \(seen.span)")
            measured("\(name)_received_age_p50", percentile(seen.agesMilliseconds, 0.5), "ms")
            measured("\(name)_received_tone", seen.amplitude(of: peer.toneHertz), "amplitude")
            measured("\(name)_sent_frames", Double(report.videoFrames), "seen, \(report.missing) missing, \(seen.pushed) pushed")
            measured("\(name)_sent_age_p50", report.latencyMilliseconds ?? .nan, "ms")
            measured("\(name)_sent_tone", report.audioHertz ?? .nan, "Hz of \(OtherPeerCall.toneHertz)")
            measured("\(name)_pongs", Double(seen.pongs), "of ours")

            // Of 30 a second; a quick run shares its machine with whatever else is on it.
            let leastFrames = Settings.seconds * 20
            #expect(report.state == "connected" && seen.isWhole)
            #expect(seen.openedChannels == ["data"])
            #expect(seen.pings > 5 && seen.pongs > 5)
            #expect(report.channelMessages > 10)
            // GStreamer's script hands its pings to a main loop of its own and may not have counted the answers in time.
            #expect((report.roundTripMilliseconds ?? 0) < 1000)

            // On a busy machine a sender may make them smaller for a while.
            #expect(seen.sizes.contains("640x360"))
            #expect(seen.inbound?.codec == codec.rawValue)
            #expect(Double(seen.counters.count) > leastFrames)
            #expect(zip(seen.counters, seen.counters.dropFirst()).allSatisfy { $0 <= $1 })
            // webrtcbin's first pictures are coarse, for other receivers too.
            #expect(seen.unreadable <= seen.counters.count / (peer == .gstreamer ? 5 : 10))
            let tone = seen.amplitude(of: peer.toneHertz)
            #expect(tone > 1000)
            for other in [300.0, OtherPeerCall.toneHertz, 1000] { #expect(seen.amplitude(of: other) < tone / 5, "\(other) Hz") }

            // What the far end saw of ours.
            #expect(report.sizes.contains([640, 360]))
            #expect(report.counters.count == 2 && Double(report.videoFrames) > leastFrames)
            #expect(report.unreadFrames <= report.videoFrames / 10)
            #expect(
                report.audioHertz.map { abs($0 - OtherPeerCall.toneHertz) < 15 } == true,
                "the far end: \(report.text)ours: \(seen.outbound)")
            let outbound = seen.outbound.first { $0.kind == .video }
            #expect(outbound?.codec == codec.rawValue && outbound?.framesEncoded ?? 0 > 0)
        }
    }
}
