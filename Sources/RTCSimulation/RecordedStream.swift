// A video stream written down before it is played: the datagrams a well-behaved sender would send, each with its time. For
// benchmarks and allocation counts, where making the packets must not be part of what is measured. Sizes of frames vary
// as those of an encoder with a constant bitrate do, by a seed: the same stream each time.

package import RTCBase
package import RTCEngine
import RTCWire

/// The datagrams of one video stream, in the order they arrive, without loss.
package struct RecordedStream: Sendable {
    package struct Configuration: Sendable {
        package var codec: VideoCodec = .vp9
        package var framesPerSecond = 30
        package var bitsPerSecond = 6_000_000
        package var frameCount = 300
        package var sendsMetadata = false
        package var seed: UInt64 = 1

        package init() {}
    }

    package struct Datagram: Sendable {
        package var arrival: MonotonicTime
        package var bytes: [UInt8]
        package var isRTCP: Bool
    }

    package private(set) var datagrams: [Datagram]
    package let frameCount: Int

    package init(_ configuration: Configuration, start: MonotonicTime = MonotonicTime(milliseconds: 1_000_000)) {
        var settings = SimulatedVideoSender.Configuration()
        settings.codec = configuration.codec
        settings.extensionIDs = Self.extensionIDs
        settings.framesPerSecond = configuration.framesPerSecond
        settings.sendsMetadata = configuration.sendsMetadata
        // libwebrtc paces at two and a half times the target.
        settings.pacingBitsPerSecond = Double(configuration.bitsPerSecond) * 2.5
        var sender = SimulatedVideoSender(settings, start: start)
        let sizes = Self.sizes(configuration)
        sender.makeFrame = { number, wantsKeyFrame in
            let size = sizes[Int(number) % sizes.count]
            let head = SyntheticFrame.bytes(number: number, codec: configuration.codec, isKeyFrame: wantsKeyFrame, count: 0)
            return (head + [UInt8](repeating: 0x5A, count: max(0, size - head.count)), wantsKeyFrame)
        }
        var datagrams: [Datagram] = []
        while let now = sender.nextDeadline() {
            sender.poll(now: now) { datagrams.append(Datagram(arrival: now, bytes: $0, isRTCP: $1)) }
            if sender.frames.count >= configuration.frameCount { sender.stop() }
        }
        self.datagrams = datagrams
        frameCount = sender.frames.count
    }

    /// The stream as it arrives when a share of its media packets is lost and each comes as a retransmission (RFC 4588) a
    /// round trip later.
    package func repaired(afterLosing share: Double, roundTripMilliseconds: Int64 = 40, seed: UInt64 = 1) -> RecordedStream {
        let settings = SimulatedVideoSender.Configuration()
        var generator = SplitMix64(seed: seed)
        var sequenceNumber: UInt16 = 1
        var result = self
        result.datagrams = datagrams.enumerated().map { index, datagram in
            // The first packets make the stream known.
            guard index > 50, !datagram.isRTCP, generator.chance(share), let payloadType = settings.rtxPayloadType,
                let header = try? RTPHeader(parsing: datagram.bytes.span.bytes)
            else { return datagram }
            var writer = ByteWriter()
            _ = Retransmission.write(
                original: datagram.bytes.span.bytes, header: header, payloadType: payloadType, ssrc: settings.rtxSSRC,
                sequenceNumber: sequenceNumber, into: &writer)
            sequenceNumber &+= 1
            let arrival = datagram.arrival.adding(milliseconds: roundTripMilliseconds)
            return Datagram(arrival: arrival, bytes: writer.bytes, isRTCP: false)
        }
        result.datagrams.sort { $0.arrival < $1.arrival }
        return result
    }

    /// Between 60 % and 140 % of the mean; a key frame is four of them.
    private static func sizes(_ configuration: Configuration) -> [Int] {
        let mean = configuration.bitsPerSecond / 8 / configuration.framesPerSecond
        var generator = SplitMix64(seed: configuration.seed)
        return (0..<max(1, configuration.frameCount)).map { index in
            index == 0 ? mean * 4 : mean * (60 + Int(generator.next() % 81)) / 100
        }
    }

    /// The session such a stream is part of: one video section that wants every kind of feedback.
    package static func session(codec: VideoCodec = .vp9, usesFrameMetadata: Bool = false) -> NegotiatedSession {
        let sender = SimulatedVideoSender.Configuration()
        let section = NegotiatedSection(
            mid: sender.mid, kind: .video, trackName: "main_video", receives: true,
            videoCodecs: [sender.payloadType: codec], rtxPayloadTypes: [99: sender.payloadType],
            announcedSSRCs: [sender.ssrc: sender.rtxSSRC], extensionIDs: extensionIDs, usesNACK: true, usesPLI: true,
            usesFIR: true, usesTransportFeedback: true)
        return NegotiatedSession(
            usernameFragment: "abcd", password: "abcdefghijklmnopqrstuv", fingerprints: [], isDTLSClient: true,
            usesFrameMetadata: usesFrameMetadata, sections: [section])
    }

    private static var extensionIDs: HeaderExtensionIDs {
        var ids = HeaderExtensionIDs()
        ids.mid = 1
        ids.transportSequenceNumber = 3
        ids.absoluteSendTime = 2
        return ids
    }
}
