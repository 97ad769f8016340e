import Foundation

/// Answers of a local runtime that goes as far as taking the offer and then has no answer yet.
enum CannedRuntime {
    /// One video track, received by the client.
    static let descriptor = """
        {"session_id":"\(RuntimeProcess.sessionID)","state":"waiting","cluster":"local","model":{"name":"probe"},
         "selected_transport":{"protocol":"webrtc","version":"1.0"},
         "capabilities":{"protocol_version":"v0","commands":[],
          "tracks":[{"name":"main_video","kind":"video","direction":"recvonly"}]}}
        """

    static func answer(_ request: FaultServer.Request) -> FaultServer.Answer {
        switch request.key {
        case "POST start_session", "GET session": .status(200, body: descriptor)
        case "GET ice_servers": .status(200, body: "{\"ice_servers\":[]}")
        case "POST connections": .status(201, body: "{\"connection_id\":5001}")
        case "POST sdp_params", "PUT sdp_params": .status(202, body: "{\"connection_id\":5001}")
        case "GET sdp_params", "POST ice_candidates": .status(202, body: "")
        case "POST stop_session": .status(200, body: "")
        default: .status(404)
        }
    }

    static func answerBody(_ sdp: String) -> FaultServer.Answer {
        guard let body = try? JSONSerialization.data(withJSONObject: ["sdp_answer": sdp, "connection_id": 5001]) else {
            return .status(500)
        }
        return .status(200, body: String(decoding: body, as: UTF8.self))
    }

    static func offer(in request: FaultServer.Request) -> String {
        let object = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
        return object?["sdp_offer"] as? String ?? ""
    }

    enum Video { case h264, refused }

    /// An answer to every section of `offer`, with the video as asked.
    static func sdpAnswer(to offer: String, video: Video) -> String {
        let sections = offer.components(separatedBy: "\r\nm=").dropFirst()
        let mids = sections.map { section in
            section.components(separatedBy: "\r\n").first { $0.hasPrefix("a=mid:") }.map { String($0.dropFirst(6)) } ?? "0"
        }
        let accepted = zip(sections, mids).filter { !($0.0.hasPrefix("video") && video == .refused) }.map(\.1)
        var lines = ["v=0", "o=- 77 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE " + accepted.joined(separator: " ")]
        let transport = [
            "c=IN IP4 0.0.0.0", "a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuv", "a=setup:active",
            "a=fingerprint:sha-256 " + Array(repeating: "A5", count: 32).joined(separator: ":"),
        ]
        for (section, mid) in zip(sections, mids) {
            if section.hasPrefix("application") {
                lines += ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel"] + transport
                lines += ["a=mid:\(mid)", "a=sctp-port:5000", "a=max-message-size:262144"]
            } else if video == .refused {
                lines += ["m=video 0 UDP/TLS/RTP/SAVPF 0", "c=IN IP4 0.0.0.0", "a=mid:\(mid)", "a=inactive"]
            } else {
                lines += ["m=video 9 UDP/TLS/RTP/SAVPF 102"] + transport
                lines += ["a=mid:\(mid)", "a=sendonly", "a=rtcp-mux", "a=rtpmap:102 H264/90000", "a=fmtp:102 packetization-mode=1"]
            }
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }
}
