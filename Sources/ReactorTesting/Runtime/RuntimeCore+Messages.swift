internal import RTCBase
internal import RTCPeer
internal import Reactor
internal import ReactorCore

// What comes over the channels, and what goes out (wire-protocol 5, 6).
extension RuntimeCore {
    func handle(_ event: PeerEvent, from key: ConnectionKey) {
        guard let connection = connections[key.id], connection.key == key else { return }
        switch event {
        case .channelOpened(let label):
            guard connection.channelOpened(label) else { return }
            opened(connection)
            while let message = connection.nextHeld() { receive(message, on: connection) }
        case .message(let label, let isText, let bytes):
            connection.lastHeard = NetworkThread.now()
            let message = RuntimeConnection.HeldMessage(channel: MessageChannel(label: label), isText: isText, bytes: bytes)
            if connection.isOpen {
                receive(message, on: connection)
            } else if !connection.hold(message) {
                drops.count(.subscriberOverflow)
            }
        case .lost(let loss):
            settings.log(.debug, "connection lost", ["conn_id": String(key.id), "reason": loss.message])
            drop(connection)
        case .warning(let text):
            settings.log(.debug, text, ["conn_id": String(key.id)])
        case .localCandidate, .gatheringDone, .iceConnected, .dtlsConnected, .channelClosed, .mediaStarted:
            break
        }
    }

    private func receive(_ message: RuntimeConnection.HeldMessage, on connection: RuntimeConnection) {
        if !connection.hasSpoken {
            connection.hasSpoken = true
            use(ChannelEncoding(firstFrame: message.bytes, isText: message.isText), for: connection)
        }
        guard let encoding = connection.encoding else { return }
        do throws(WireFormatError) {
            let decoded = try ClientFrameDecoder.decode(channel: message.channel, encoding: encoding, bytes: message.bytes)
            handle(decoded, byteCount: message.bytes.count, on: connection)
        } catch {
            drops.count(.malformedMessage)
            settings.log(.debug, "a message cannot be read", ["channel": message.channel.rawValue, "error": "\(error)"])
        }
    }

    private func handle(_ message: ClientMessage, byteCount: Int, on connection: RuntimeConnection) {
        // A request without an id is answered all the same, under an id of ours (wire-protocol 5.5).
        let id = message.requestID.isEmpty ? Self.mintRequestID() : message.requestID
        func reply(_ content: ServerMessage.Content, on channel: MessageChannel = .control) {
            send(ServerMessage(channel: channel, requestID: id, content: content), to: connection)
        }
        switch message.content {
        case .ping, .fileUploaded, .other: break
        case .command(let command):
            if !connection.commands.append(CommandQueue.Request(requestID: id, command: command, byteCount: byteCount)) {
                drops.count(.subscriberOverflow)
                reply(.error(ErrorMessage(code: "internal_error", message: "too many commands wait")), on: .data)
            }
        case .requestSchema: reply(.schema(schemaDocument))
        case .requestClip(let seconds): reply(content(session?.recorder?.clip(durationSeconds: seconds)))
        case .requestRecording: reply(content(session?.recorder?.recording()))
        case .publishTrack(let name):
            if let refusal = slots.claim(name, by: connection.key) {
                return reply(.error(ErrorMessage(code: "publish_refused", message: refusal)))
            }
            connection.inputs[name]?.setForwarding(true)
            reply(.publishGranted)
        case .unpublishTrack(let name):
            if slots.release(name, by: connection.key) { connection.inputs[name]?.setForwarding(false) }
        case .resumeTrack(let name): setSending(true, name, on: connection)
        case .pauseTrack(let name): setSending(false, name, on: connection)
        }
    }

    /// The model's handler never hears of a name it does not know.
    private func setSending(_ isOn: Bool, _ name: String, on connection: RuntimeConnection) {
        guard connection.outputs[name] != nil, let peer = connection.peer else { return }
        do {
            try peer.assumeIsolated { try $0.setPublishing(isOn, track: name) }
        } catch {
            settings.log(.debug, "a track cannot be sent", ["track": name, "reason": "\(error)"])
        }
    }

    private func content(_ answer: ClipAnswer?) -> ServerMessage.Content {
        switch answer ?? .disabled {
        case .ready(let clip): .clipReady(clip)
        case .failed(let reason): .clipFailed(reason: reason)
        }
    }

    // MARK: Out

    /// What waited for it goes out.
    func use(_ encoding: ChannelEncoding, for connection: RuntimeConnection) {
        connection.encoding = encoding
        connection.encodingDeadline = nil
        while let message = connection.unencoded.popFirst() { send(message, to: connection) }
    }

    /// Sends one message; what cannot go is dropped and counted (wire-protocol 5.7).
    ///
    /// - Returns: false when the client will not get it.
    @discardableResult
    func send(_ message: ServerMessage, to connection: RuntimeConnection) -> Bool {
        guard connection.isOpen, let peer = connection.peer else { return false }
        guard let encoding = connection.encoding else {
            if connection.unencoded.append(message) { return true }
            drops.count(.subscriberOverflow)
            return false
        }
        do {
            guard let frame = try ServerFrameEncoder.encode(message, encoding) else { return true }
            let label = connection.label(frame.channel)
            try peer.assumeIsolated { try $0.send(frame.bytes, isText: frame.isText, channel: label) }
            return true
        } catch let error as PeerError {
            drops.count(error.kind == .messageTooLarge ? .messageTooLarge : .sendFailed)
            settings.log(.warning, "a message was not sent", ["channel": message.channel.rawValue, "reason": error.message])
        } catch {
            drops.count(.malformedMessage)
            settings.log(.warning, "a message was not sent", ["channel": message.channel.rawValue, "reason": "\(error)"])
        }
        return false
    }

    func broadcast(_ content: ServerMessage.Content, on channel: MessageChannel, session handle: LocalSession) throws {
        guard let session, session.handle === handle else {
            throw ReactorError(.sessionTerminal, "the session has ended", operation: "send")
        }
        let message = ServerMessage(channel: channel, requestID: "", content: content)
        for connection in connections.values where connection.isOpen { send(message, to: connection) }
    }

    func reply(_ content: ServerMessage.Content, to requestID: String, of key: ConnectionKey) {
        guard let connection = connections[key.id], connection.key == key else { return }
        if send(ServerMessage(channel: .data, requestID: requestID, content: content), to: connection) { return }
        let error = ErrorMessage(code: "internal_error", message: "the reply could not be sent: it may be too large")
        send(ServerMessage(channel: .data, requestID: requestID, content: .error(error)), to: connection)
    }

    private static func mintRequestID() -> String {
        let digits = "0123456789abcdef"
        return String((0..<32).compactMap { _ in digits.randomElement() })
    }
}
