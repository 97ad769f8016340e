internal import RTCBase
internal import RTCPeer
internal import ReactorCore

// Calls over the data channels and what comes from them (wire protocol §5).
extension SessionEngine {
    // MARK: Calls

    nonisolated func sendCommand(_ name: String, arguments: JSONValue?, uploads: [String: FileRef]) async throws -> CommandReply? {
        guard let metrics = configuration.metrics else {
            return try await exchangeCommand(name, arguments: arguments, uploads: uploads)
        }
        let start = NetworkThread.now()
        do {
            let reply = try await exchangeCommand(name, arguments: arguments, uploads: uploads)
            metrics.commanded(failure: nil, duration: NetworkThread.now() - start)
            return reply
        } catch {
            metrics.commanded(failure: error, duration: NetworkThread.now() - start)
            throw error
        }
    }

    private nonisolated func exchangeCommand(
        _ name: String, arguments: JSONValue?, uploads: [String: FileRef]
    ) async throws -> CommandReply? {
        let reply = try await call(.command(type: name), named: "sendCommand(\"\(name)\")", on: .data) { id throws(CoreError) in
            let references = uploads.mapValues {
                UploadReference(uploadID: $0.uploadID, name: $0.name, mimeType: $0.mimeType, size: Int64($0.size))
            }
            let command = try Command(type: name, data: arguments?.wireValue, uploads: references)
            return try Self.encode(DataClientMessage(requestID: id, kind: .request, payload: .command(command)), operation: .sendCommand)
        }
        switch reply {
        case .model(let message): return CommandReply(type: message.type, data: JSONValue(message.data))
        case .failure(let error): throw ReactorError(error)
        case .acknowledged, .schema, .clip: return nil
        }
    }

    nonisolated func requestSchema() async throws -> JSONValue {
        let reply = try await call(.schema, named: "requestSchema()", on: .control) { id throws(CoreError) in
            try Self.encode(
                ControlClientMessage(requestID: id, kind: .request, payload: .requestSchema), operation: .requestSchema)
        }
        switch reply {
        case .schema(let document): return JSONValue(document)
        case .failure(let error): throw ReactorError(error)
        case .acknowledged, .model, .clip: throw ReactorError(PendingCall.schema.unreadableReply)
        }
    }

    func setPaused(_ isPaused: Bool, track name: String) async throws {
        do throws(CoreError) {
            let operation: CoreError.Operation = isPaused ? .pauseTrack : .resumeTrack
            try machine.requireReady(for: operation, call: isPaused ? "pause()" : "resume()")
            try machine.withTracks { table throws(CoreError) in
                if isPaused { try table.pause(name) } else { try table.resume(name) }
            }
        } catch {
            throw ReactorError(error)
        }
        publishSnapshot()
        sendControl(isPaused ? .pauseTrack(name: name) : .resumeTrack(name: name))
        if let generation = machine.readyGeneration, let peer = connections[generation]?.peer {
            await peer.setReceiving(!isPaused, track: name)
        }
    }

    /// Sends a request and waits for the reply, its deadline, the loss of the connection or cancellation.
    ///
    /// The wait is outside of the actor: what an actor waits for itself is resumed by way of the global pool and hops back
    /// to the network thread, two thread switches more than the reply going from the network thread to the caller.
    ///
    /// - Parameter name: how the app wrote the call, for the error outside of `.ready`.
    /// - Throws: `ReactorError` or `CancellationError`.
    nonisolated func call(
        _ call: PendingCall, named name: String, on channel: MessageChannel,
        _ encode: @escaping @Sendable (String) throws(CoreError) -> [UInt8]
    ) async throws -> Reply {
        try Task.checkCancellation()
        let ticket = CallTicket()
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Reply, any Error>) in
                    NetworkThread.execute { [self] in
                        assumeIsolated { $0.begin(call, named: name, on: channel, ticket, continuation, encode) }
                    }
                }
            } onCancel: {
                NetworkThread.execute { [self] in assumeIsolated { $0.cancel(ticket, on: channel) } }
            }
        } catch let refusal as NotReady {
            throw ReactorError(refusal.error)
        } catch let error as CoreError {
            if error.operation == .sendCommand, error.code == .invalidState { state.hub.post(error: ReactorError.event(error)) }
            throw ReactorError(error)
        }
    }

    private func begin(
        _ call: PendingCall, named name: String, on channel: MessageChannel, _ ticket: CallTicket,
        _ continuation: CheckedContinuation<Reply, any Error>, _ encode: (String) throws(CoreError) -> [UInt8]
    ) {
        if ticket.isCancelled { return continuation.resume(throwing: CancellationError()) }
        do throws(CoreError) {
            try machine.requireReady(for: call.operation, call: name)
        } catch {
            return continuation.resume(throwing: NotReady(error: error))
        }
        do throws(CoreError) {
            guard let generation = machine.readyGeneration, let peer = connections[generation]?.peer else {
                throw .channelNotOpen(state: "Closed", operation: call.operation)
            }
            let now = NetworkThread.now().nanoseconds
            let limit = configuration.commandTimeout.map(Self.nanoseconds)
            let id =
                switch channel {
                case .data: try dataCalls.register(call, waiter: continuation, nowNanoseconds: now, timeoutNanoseconds: limit)
                case .control: try controlCalls.register(call, waiter: continuation, nowNanoseconds: now, timeoutNanoseconds: limit)
                }
            ticket.id = id
            do throws(CoreError) {
                try send(try encode(id), on: channel, over: peer, operation: call.operation)
            } catch {
                // Resumed already when sending brought the connection down.
                guard take(id, on: channel) != nil else { return }
                throw error
            }
            rearm()
        } catch {
            continuation.resume(throwing: error)
        }
    }

    private func cancel(_ ticket: CallTicket, on channel: MessageChannel) {
        ticket.isCancelled = true
        guard let id = ticket.id, let entry = take(id, on: channel) else { return }
        entry.waiter.resume(throwing: CancellationError())
        rearm()
    }

    private func take(_ id: String, on channel: MessageChannel) -> RequestCorrelator<CheckedContinuation<Reply, any Error>>.Entry? {
        switch channel {
        case .data: dataCalls.take(id)
        case .control: controlCalls.take(id)
        }
    }

    /// On the network thread already, so the hop into the connection is a plain call.
    func send(
        _ bytes: [UInt8], on channel: MessageChannel, over peer: PeerConnection, operation: CoreError.Operation
    ) throws(CoreError) {
        let result: Result<Void, PeerError> = peer.assumeIsolated { peer in
            do throws(PeerError) {
                return .success(try peer.send(bytes, channel: channel.rawValue))
            } catch {
                return .failure(error)
            }
        }
        if case .failure(let error) = result { throw CoreError(error, operation: operation) }
    }

    /// A notification on the control channel; without a connection there is nobody to tell. Whether it is on its way.
    @discardableResult
    func sendControl(_ payload: ControlClientPayload) -> Bool {
        guard let generation = machine.readyGeneration, let peer = connections[generation]?.peer,
            let bytes = try? ControlClientMessage.notification(payload).encode()
        else { return false }
        do throws(CoreError) {
            try send(bytes, on: .control, over: peer, operation: .connect)
            return true
        } catch {
            log(.debug, "a notification was not sent", ["reason": error.message])
            return false
        }
    }

    static func encode<Payload>(_ message: Envelope<Payload>, operation: CoreError.Operation) throws(CoreError) -> [UInt8] {
        do throws(WireFormatError) {
            return try message.encode()
        } catch {
            throw CoreError(.decodeFailed, "the message cannot be sent: \(error)", operation: operation)
        }
    }

    // MARK: Ready, lost, late

    func becomeReady(resuming names: [String]) {
        if configuration.autoResumeTracks {
            for name in names { sendControl(.resumeTrack(name: name)) }
        }
        sendControl(.ping)
        nextPing = NetworkThread.now().adding(milliseconds: Self.pingMilliseconds)
    }

    func failPending(_ code: ErrorCode, _ message: String) {
        nextPing = nil
        let entries = dataCalls.takeAll() + controlCalls.takeAll()
        for entry in entries { entry.waiter.resume(throwing: entry.call.interrupted(code: code, message: message)) }
    }

    func failExpiredCalls(now: MonotonicTime) {
        let entries =
            dataCalls.takeExpired(nowNanoseconds: now.nanoseconds) + controlCalls.takeExpired(nowNanoseconds: now.nanoseconds)
        let limit = configuration.commandTimeout.map(Self.nanoseconds)
        for entry in entries { entry.waiter.resume(throwing: entry.call.timedOut(afterNanoseconds: limit)) }
    }

    // MARK: Messages in

    func receive(_ bytes: [UInt8], isText: Bool, channel: MessageChannel, generation: Generation) {
        let message: ServerMessage
        do throws(WireFormatError) {
            message = try ServerFrameDecoder.decode(channel: channel, isText: isText, bytes: bytes)
        } catch {
            // PB-05: dropped and counted; the session goes on.
            drops.count(.malformedMessage)
            if drops[.malformedMessage] == 1 {
                log(.warning, "a message could not be read and was dropped", ["channel": channel.rawValue, "reason": "\(error)"])
            }
            return
        }
        let entry = message.requestID.isEmpty ? nil : take(message.requestID, on: channel)
        let route = message.route(awaitedBy: entry?.call, apiURL: endpoint.baseURL)
        if let entry, let reply = route.reply { entry.waiter.resume(returning: reply) }
        for publication in route.publications {
            switch publication {
            case .model(let message):
                state.hub.post(message: .object(["type": .string(message.type), "data": JSONValue(message.data)]))
            case .runtime(let message):
                if message.announcesEnd { perform(.endAnnounced(reason: message.type, generation)) }
                state.hub.post(runtimeMessage: .object(["type": .string(message.type), "data": JSONValue(message.data)]))
            case .error(let error):
                state.hub.post(error: ReactorError.event(error))
            }
        }
    }

    static func nanoseconds(_ duration: Duration) -> Int64 {
        if duration <= .zero { return 0 }
        // Taken apart only within bounds: `components` traps on what is longer than 2^63 seconds.
        if duration >= .nanoseconds(Int64.max) { return .max }
        let (seconds, attoseconds) = duration.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// What a call and its cancellation handler, which may run before it, know of each other.
private final class CallTicket: @unchecked Sendable {  // protected by being used on the network thread only
    /// The request id, once the call is registered.
    var id: String?
    var isCancelled = false
}

/// The session was not ready when the call was made; no event goes with it.
private struct NotReady: Error {
    let error: CoreError
}
