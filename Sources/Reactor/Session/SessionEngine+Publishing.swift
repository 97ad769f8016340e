internal import RTCBase
internal import RTCPeer
internal import ReactorCore

// What this client sends: claims of slots, giving them back, bounds of bitrate (wire protocol §6.3, §6.4).
//
// In: calls of `Track` and `Reactor`. Out: requests and notifications on the control channel, and the word to the peer
// connection that a track's media starts or stops. The table of the machine says what is allowed; a track is published only
// between a grant and the end of the connection that got it.
extension SessionEngine {
    // MARK: Publishing

    /// Claims the track's slot and starts sending what is pushed. Refusals and time limits are error events as well (§8.4).
    func publish(_ name: String) async throws {
        guard let generation = try beginPublish(name) else { return }
        try await claim(name, generation)
        try startSending(name, generation)
        publishSnapshot()
    }

    /// Checks whether the track can be claimed now; nil when it is published already.
    private func beginPublish(_ name: String) throws -> Generation? {
        do throws(CoreError) {
            try machine.requireReady(for: .publishTrack, call: "publish()")
            guard let generation = machine.readyGeneration, let connection = connections[generation] else {
                throw .channelNotOpen(state: "Closed", operation: .publishTrack)
            }
            if let reason = connection.rejections[name] { throw CoreError(.transportError, reason, operation: .publishTrack) }
            let start = try machine.withTracks { table throws(CoreError) in
                try table.beginPublish(name, generation: generation)
            }
            guard case .request(let unpublishFirst) = start else { return nil }
            // A runtime keeps the slot for a connection that was replaced before it noticed the loss (§6.4).
            if unpublishFirst { sendControl(.unpublishTrack(name: name)) }
            return generation
        } catch {
            throw ReactorError(error)
        }
    }

    /// The request and its answer. Whatever goes wrong leaves the track unpublished.
    private func claim(_ name: String, _ generation: Generation) async throws {
        let reply: Reply
        do {
            reply = try await call(.publish(track: name), named: "publish()", on: .control) { id throws(CoreError) in
                try Self.encode(
                    ControlClientMessage(requestID: id, kind: .request, payload: .publishTrack(name: name)), operation: .publishTrack)
            }
        } catch let error as ReactorError {
            withdraw(name, generation, slotMayBeHeld: error.code == .requestTimeout)
            throw reported(error, generation)
        } catch {
            withdraw(name, generation, slotMayBeHeld: true)
            throw error
        }
        switch reply {
        case .acknowledged: break
        case .failure(let error):
            // What a reply that cannot be read has granted is not known.
            withdraw(name, generation, slotMayBeHeld: error.code == .decodeFailed)
            throw reported(ReactorError(error), generation)
        case .model, .schema, .clip:
            withdraw(name, generation, slotMayBeHeld: true)
            throw reported(ReactorError(PendingCall.publish(track: name).unreadableReply), generation)
        }
        guard !Task.isCancelled else {
            withdraw(name, generation, slotMayBeHeld: true)
            throw CancellationError()
        }
    }

    private func startSending(_ name: String, _ generation: Generation) throws {
        do throws(CoreError) {
            try machine.withTracks { table throws(CoreError) in try table.publishGranted(name, generation: generation) }
        } catch {
            throw ReactorError(error)
        }
        do throws(CoreError) {
            try setPublishing(true, name, generation)
        } catch {
            machine.takeBack(name, slotMayBeHeld: !sendControl(.unpublishTrack(name: name)))
            throw reported(ReactorError(error), generation)
        }
    }

    /// The request is void. A grant that may still come is given back at once, and once more before the next claim.
    private func withdraw(_ name: String, _ generation: Generation, slotMayBeHeld: Bool) {
        try? machine.withTracks { table throws(CoreError) in
            table.publishFailed(name, generation: generation, slotMayBeHeld: slotMayBeHeld)
        }
        if slotMayBeHeld, machine.readyGeneration == generation { sendControl(.unpublishTrack(name: name)) }
    }

    /// A failed publish is an error event too, unless the loss of the connection or the client's end is one already.
    private func reported(_ error: ReactorError, _ generation: Generation) -> ReactorError {
        if machine.readyGeneration == generation { state.hub.post(error: ReactorError.event(error)) }
        return error
    }

    /// Any thread; returns at once. The snapshot says "unpublished" already.
    nonisolated func postUnpublish(_ name: String) {
        NetworkThread.execute { [weak self] in self?.assumeIsolated { $0.unpublish(name) } }
    }

    private func unpublish(_ name: String) {
        state.write { _ = $0.unpublishing.remove(name) }
        // The connection may have gone meanwhile, and the publication with it.
        if let generation = machine.readyGeneration, machine.tracks.isPublished(name) {
            try? setPublishing(false, name, generation)
            machine.takeBack(name, slotMayBeHeld: !sendControl(.unpublishTrack(name: name)))
        }
        publishSnapshot()
    }

    /// On the network thread already, so the hop into the connection is a plain call.
    private func setPublishing(_ on: Bool, _ name: String, _ generation: Generation) throws(CoreError) {
        guard let peer = connections[generation]?.peer else {
            throw .channelNotOpen(state: "Closed", operation: .publishTrack)
        }
        let result: Result<Void, PeerError> = peer.assumeIsolated { peer in
            do throws(PeerError) {
                return .success(try peer.setPublishing(on, track: name))
            } catch {
                return .failure(error)
            }
        }
        if case .failure(let error) = result { throw CoreError(error, operation: .publishTrack) }
    }

    // MARK: Bitrate

    func setBitrate(_ bounds: BitrateBounds) async throws {
        do throws(CoreError) {
            bitrates.connection = try bitrates.connection.updated(with: bounds, operation: .setBitrate)
        } catch {
            throw ReactorError(error)
        }
        await applyBitrates()
    }

    func setBitrate(_ bounds: BitrateBounds, track name: String) async throws {
        do throws(CoreError) {
            let merged = try (bitrates.tracks[name] ?? BitrateBounds()).updated(with: bounds, operation: .setTrackBitrate)
            bitrates.tracks[name] = merged
        } catch {
            throw ReactorError(error)
        }
        await applyBitrates()
    }

    private func applyBitrates() async {
        guard let generation = machine.readyGeneration, let peer = connections[generation]?.peer else { return }
        await applyBitrates(to: peer)
    }

    /// Everything that was set, for a connection that is new or has new bounds to learn.
    func applyBitrates(to peer: PeerConnection) async {
        do {
            let all = bitrates.connection
            if !all.isEmpty { try await peer.setBitrateLimits(min: all.min, start: all.start, max: all.max) }
            for (name, bounds) in bitrates.tracks where machine.tracks[name]?.track.direction == .sendonly {
                try await peer.setBitrateLimits(track: name, min: bounds.min, max: bounds.max)
            }
        } catch {
            // Closed meanwhile: the next connection is told.
            log(.debug, "bitrate bounds were not taken", ["reason": "\(error)"])
        }
    }
}

extension SessionMachine {
    fileprivate mutating func takeBack(_ name: String, slotMayBeHeld: Bool) {
        try? withTracks { table throws(CoreError) in table.unpublished(name, slotMayBeHeld: slotMayBeHeld) }
    }
}
