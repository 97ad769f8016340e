/// Entry points for fuzzing: ordinary functions over bytes, compiled in every build so that they cannot rot.
/// Each must return for any input, in time and memory bounded by the input's size.
package enum CoreFuzz {
    /// Protobuf frames of both channels and both directions. What reads must write, and read back as the same value.
    ///
    /// - Returns: whether every round trip held.
    package static func protobuf(_ bytes: [UInt8]) -> Bool {
        roundTrips(DataClientMessage.self, bytes) && roundTrips(DataServerMessage.self, bytes)
            && roundTrips(ControlClientMessage.self, bytes) && roundTrips(ControlServerMessage.self, bytes)
    }

    /// Frames as they come from a channel: v1, v0 and the guess between them.
    package static func serverFrame(_ bytes: [UInt8]) {
        for channel in MessageChannel.allCases {
            for isText in [false, true] { _ = try? ServerFrameDecoder.decode(channel: channel, isText: isText, bytes: bytes) }
        }
    }

    /// The same as a server reads them, in the encoding that the first frame decides and in the other one.
    package static func clientFrame(_ bytes: [UInt8]) {
        _ = ChannelEncoding(firstFrame: bytes, isText: false)
        for channel in MessageChannel.allCases {
            for encoding in [ChannelEncoding.v0, .v1] {
                _ = try? ClientFrameDecoder.decode(channel: channel, encoding: encoding, bytes: bytes)
            }
        }
    }

    /// JSON text. What reads must write, and read back as the same value.
    package static func json(_ bytes: [UInt8]) -> Bool {
        guard let value = try? JSONText.parse(bytes) else { return true }
        guard let text = try? JSONText.write(value), let again = try? JSONText.parse(text) else { return false }
        return again == value
    }

    /// Answer bodies of the HTTP API.
    package static func httpBody(_ bytes: [UInt8]) {
        _ = try? SessionDescriptor(parsing: bytes).terminalError
        _ = try? IceServersResponse(parsing: bytes)
        _ = try? ConnectionResponse(parsing: bytes)
        _ = try? SDPAnswerResponse(parsing: bytes)
        _ = try? TokenResponse(parsing: bytes)
        _ = try? CreateUploadResponse(parsing: bytes)
        _ = ErrorBody.saysClosing(bytes)
        _ = RetryAfter.milliseconds(String(decoding: bytes, as: UTF8.self))
        _ = CoreError.http(status: 500, context: .createSession, body: bytes)
    }

    /// Playlists of clips, and the URLs in them.
    ///
    /// - Returns: whether every part that would be fetched has a URL that could be.
    package static func playlist(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        _ = MIMEType.guess(fileName: text)
        _ = URLReference(text).map { $0.resolving($0).text }
        var machine = ClipDownloadMachine(playlistURL: "https://host/clips/list.m3u8?a=b", waitMilliseconds: 1000, nowMilliseconds: 0)
        var action = machine.playlistArrived(text, url: "https://host/clips/list.m3u8?a=b", isSessionAlive: true, nowMilliseconds: 0)
        while case .fetch(let part) = action {
            guard URLReference(part.url)?.isFetchable == true else { return false }
            if let range = part.range, range.length <= 0 || range.offset < 0 { return false }
            action = machine.partWritten(nowMilliseconds: 0)
        }
        return true
    }

    private static func roundTrips<Payload>(_ type: Envelope<Payload>.Type, _ bytes: [UInt8]) -> Bool {
        guard var message = try? Envelope<Payload>(parsing: bytes) else { return true }
        message.unknownPayloadField = nil
        // A NaN marker is not equal to itself; compare what was written instead.
        guard let written = try? message.encode(), let again = try? Envelope<Payload>(parsing: written) else { return false }
        return (try? again.encode()) == written
    }
}
