import RTCBase
import RTCEngine
import RTCWire
import Testing

@Suite("OfferBuilder")
struct OfferBuilderTests {
    private let offer = NegotiationFixtures.offer()

    @Test("sections follow the declared tracks, the data section is last, all are bundled under index mids")
    func layout() {
        #expect(offer.sections.map(\.kind) == [.video, .audio, .video, .audio, .application])
        #expect(offer.sections.map(\.mid) == ["0", "1", "2", "3", "4"])
        #expect(offer.sections.map(\.direction).prefix(4) == [.sendonly, .sendonly, .recvonly, .recvonly])
        #expect(offer.bundleGroups == [["0", "1", "2", "3", "4"]])
        #expect(offer.sections.allSatisfy { $0.setup == .actpass && $0.port == 9 && !$0.isRejected })
        #expect(offer.sections.prefix(4).allSatisfy { $0.rtcpMux && $0.rtcpReducedSize })
        #expect(offer.sections.allSatisfy { $0.iceUsernameFragment == "abcd" && $0.fingerprints == [NegotiationFixtures.fingerprint] })
        #expect(offer.sections.map(\.candidates.count) == [1, 0, 0, 0, 0])
    }

    @Test("video is VP9 profile 0 and VP8 with RTX, audio is Opus; numbers are unique and outside 64...95 (SDP-12)")
    func codecs() throws {
        let video = offer.sections[2]
        #expect(video.codecs.map(\.name) == ["VP9", "rtx", "VP8", "rtx"])
        #expect(video.codecs[0].parameter("profile-id") == "0")
        #expect(video.codecs[1].parameter("apt") == String(video.codecs[0].payloadType))
        #expect(video.codecs[3].parameter("apt") == String(video.codecs[2].payloadType))
        #expect(Set(video.codecs[0].feedback) == ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"])
        #expect(offer.sections[3].codecs.map(\.name) == ["opus"])
        #expect(offer.sections[3].codecs[0].channels == 2)
        let all = (offer.sections[2].codecs + offer.sections[3].codecs).map(\.payloadType)
        #expect(Set(all).count == all.count)
        #expect(all.allSatisfy { $0 < 64 || $0 > 95 })
        var other = NegotiationFixtures.configuration
        other.videoCodecs = [.vp8]
        #expect(NegotiationFixtures.offer(other).sections[0].codecs.map(\.name) == ["VP8", "rtx"])
    }

    @Test("one extension id means the same in every section of the bundle")
    func extensions() {
        var uriOfID: [UInt8: String] = [:]
        for element in offer.sections.flatMap(\.headerExtensions) {
            #expect(uriOfID[element.id, default: element.uri] == element.uri)
            #expect((1...14).contains(element.id))
            uriOfID[element.id] = element.uri
        }
        #expect(uriOfID.count == 4)
    }

    @Test("SDP-15 audio and video we send carry one stream id and one CNAME; received sections carry none")
    func sources() throws {
        let video = offer.sections[0]
        let audio = offer.sections[1]
        let streams = [video, audio].map { $0.mediaStreamIDs.first?.split(separator: " ").first }
        #expect(streams == ["reactor-stream", "reactor-stream"])
        #expect(video.mediaStreamIDs != audio.mediaStreamIDs)
        #expect((video.sources + audio.sources).allSatisfy { $0.name == "cname" && $0.value == "our-cname" })
        #expect(video.sourceGroups.map(\.ssrcs) == [video.sources.map(\.ssrc)])
        #expect(Set((video.sources + audio.sources).map(\.ssrc)).count == 3)
        #expect(offer.sections.suffix(3).allSatisfy { $0.sources.isEmpty && $0.mediaStreamIDs.isEmpty })
    }

    @Test("session attributes declare trailers and chunking only when asked to")
    func sessionAttributes() {
        #expect(offer.attribute("x-reactor-frame-metadata")?.value == "1")
        #expect(offer.attribute("x-reactor-dc-chunking")?.value == "1 max-message-size=67108864")
        var configuration = NegotiationFixtures.configuration
        configuration.offersFrameMetadata = false
        configuration.chunkingMaxMessageBytes = nil
        let plain = NegotiationFixtures.offer(configuration)
        #expect(!plain.attributes.contains { $0.name.hasPrefix("x-reactor") })
    }

    @Test("another offer of the same session has the next version and the same sources (RFC 3264 §8)")
    func versions() {
        var builder = NegotiationFixtures.builder()
        let first = builder.offer(NegotiationFixtures.transport)
        var second = builder.offer(NegotiationFixtures.transport)
        #expect(second.sessionVersion == first.sessionVersion + 1)
        second.sessionVersion = first.sessionVersion
        #expect(first == second)
    }

    @Test("SDP-01, SDP-06 the text parses to the same description; each section has c=, the data section its RFC 8841 form")
    func text() throws {
        let text = offer.write()
        #expect(try SessionDescription(parsing: text) == offer)
        let lines = text.split(separator: "\r\n").map(String.init)
        #expect(lines.filter { $0 == "c=IN IP4 0.0.0.0" }.count == 5)
        #expect(lines.contains("m=application 9 UDP/DTLS/SCTP webrtc-datachannel"))
        #expect(lines.contains("a=sctp-port:5000"))
        #expect(lines.contains("a=msid-semantic:WMS reactor-stream"))
        let firstMedia = try #require(lines.firstIndex { $0.hasPrefix("m=") })
        #expect(try #require(lines.firstIndex { $0.hasPrefix("a=x-reactor") }) < firstMedia)
    }

    @Test("a session without tracks offers the data section alone")
    func dataOnly() {
        let offer = NegotiationFixtures.offer(OfferConfiguration(tracks: [], cname: "c"))
        #expect(offer.sections.map(\.kind) == [.application])
        #expect(offer.sections[0].candidates.count == 1)
    }
}
