import CUsrSCTP
package import RTCBase

// The process-wide side of SCTP: usrsctp, run without threads of its own.
//
// In: time, from the owner's timer. Out: callbacks to associations, found by number. The library has one state per process, so
// everything here and in `SCTPAssociation` belongs on one thread (the network thread; a test's own thread in a process without
// one). Replacing usrsctp means replacing this file, `SCTPAssociation` and the shim.
//
// The library calls back while it holds its locks. Nothing of ours runs then: packets, messages and events are put aside and
// handed out when the outermost call into the library has returned. An association is named by a number that is never used
// twice; a callback that comes after `close` finds nothing under it and is dropped.

/// usrsctp and the associations that exist. Network thread only.
package final class SCTPStack {
    // The library beneath is one per process and used from the network thread only; so is this object.
    nonisolated(unsafe) package static let shared = SCTPStack()

    /// Callbacks for associations that are gone, and received parts nobody waits for.
    package private(set) var drops = DropCounters()

    private var associations: [UInt64: Entry] = [:]
    private var lastID: UInt64 = 0
    private var inbox: [Delivery] = []
    /// Associations that the library has called since they were last serviced; some of them several times.
    private var called: [UInt64] = []
    private var depth = 0
    private var isDraining = false

    private var lastTick: MonotonicTime?
    private var remainderNanoseconds: Int64 = 0
    /// Ticks still to come after the last association has gone, for what the library frees late.
    private var closingTicks = 0

    private init() {
        var callbacks = csctp_callbacks()
        callbacks.output = sctpOutput
        callbacks.message = sctpMessage
        callbacks.event = sctpEvent
        callbacks.writable = sctpWritable
        csctp_start(&callbacks)
    }

    package var associationCount: Int { associations.count }

    /// When `tick` is wanted next; nil while there is nothing to do.
    package var nextDeadline: MonotonicTime? {
        guard !associations.isEmpty || closingTicks > 0 else { return nil }
        return lastTick.map { $0.adding(milliseconds: SCTPStack.tickMilliseconds) } ?? MonotonicTime(nanoseconds: 0)
    }

    /// Lets the library's timers run up to `now`.
    package func tick(now: MonotonicTime) {
        guard !associations.isEmpty || closingTicks > 0 else {
            lastTick = nil
            return
        }
        if associations.isEmpty { closingTicks -= 1 }
        let elapsed = max(0, lastTick.map { now.nanoseconds(since: $0) } ?? 0) + remainderNanoseconds
        lastTick = now
        remainderNanoseconds = elapsed % 1_000_000
        enter { csctp_tick(UInt32(clamping: elapsed / 1_000_000)) }
        for entry in Array(associations.values) { entry.association?.onTick(now) }
        if associations.isEmpty, closingTicks == 0 { lastTick = nil }
    }

    // MARK: For associations

    /// A weak entry: an association nobody owns any more closes itself.
    private struct Entry { weak var association: SCTPAssociation? }

    func register(_ association: SCTPAssociation) -> UInt64 {
        // With nobody to tick for, the library's clock stood still: its first tick must not count that time.
        if associations.isEmpty { lastTick = nil }
        lastID += 1
        associations[lastID] = Entry(association: association)
        return lastID
    }

    func unregister(_ id: UInt64) {
        associations[id] = nil
        if associations.isEmpty { closingTicks = SCTPStack.ticksAfterLast }
    }

    /// Runs a call into the library, then hands out what it put aside. Nested calls leave that to the outermost one.
    func enter<T>(_ call: () -> T) -> T {
        depth += 1
        let result = call()
        depth -= 1
        drain()
        return result
    }

    private func drain() {
        guard depth == 0, !isDraining else { return }
        isDraining = true
        repeat {
            // Packets first: what the peer waits for leaves before the application thinks about what came.
            serviceAssociations()
            let deliveries = inbox
            inbox.removeAll(keepingCapacity: true)
            for delivery in deliveries { hand(delivery) }
        } while !inbox.isEmpty
        serviceAssociations()
        isDraining = false
    }

    private func serviceAssociations() {
        while let id = called.popLast() {
            if let association = associations[id]?.association, association.hasWork { association.service() }
        }
    }

    private func hand(_ delivery: Delivery) {
        guard let association = associations[delivery.id]?.association else {
            if case .message(let part) = delivery.content { csctp_free(part.bytes) }
            drops.count(.staleGeneration)
            return
        }
        switch delivery.content {
        case .message(let part):
            association.handle(part)
            csctp_free(part.bytes)
        case .event(let event):
            association.handle(event)
            note(delivery.id)
        }
    }

    // MARK: Callbacks of the library; only put aside

    fileprivate func output(_ id: UInt64, _ packet: UnsafeRawBufferPointer) -> Bool {
        guard let association = associations[id]?.association else {
            drops.count(.staleGeneration)
            return true
        }
        note(id)
        return association.enqueue(packet)
    }

    fileprivate func putAside(_ id: UInt64, _ content: Delivery.Content) { inbox.append(Delivery(id: id, content: content)) }

    fileprivate func writable(_ id: UInt64, _ freeBytes: Int) {
        note(id)
        associations[id]?.association?.noteFree(freeBytes)
    }

    private func note(_ id: UInt64) {
        if called.last != id { called.append(id) }
    }

    struct Delivery {
        enum Content {
            case message(MessagePart)
            case event(Event)
        }
        var id: UInt64
        var content: Content
    }

    /// Bytes from the library's heap; freed by `hand`.
    struct MessagePart {
        var stream: UInt16
        var ppid: UInt32
        var isUnordered: Bool
        var isEnd: Bool
        var bytes: UnsafeMutableRawPointer?
        var count: Int
    }

    struct Event {
        var kind: Int32
        var detail: UInt32
        var streams: [UInt16]
    }

    /// Half of the delayed acknowledgement; timers of the protocol are ten times longer.
    private static let tickMilliseconds: Int64 = 10
    private static let ticksAfterLast = 200
}

private func sctpOutput(_ id: UInt64, _ packet: UnsafeRawPointer?, _ count: Int) -> Int32 {
    SCTPStack.shared.output(id, UnsafeRawBufferPointer(start: packet, count: count)) ? 1 : 0
}

private func sctpMessage(
    _ id: UInt64, _ stream: UInt16, _ ppid: UInt32, _ isUnordered: Int32, _ isEnd: Int32, _ bytes: UnsafeMutableRawPointer?,
    _ count: Int
) {
    let part = SCTPStack.MessagePart(
        stream: stream, ppid: ppid, isUnordered: isUnordered != 0, isEnd: isEnd != 0, bytes: bytes, count: count)
    SCTPStack.shared.putAside(id, .message(part))
}

private func sctpEvent(_ id: UInt64, _ kind: Int32, _ detail: UInt32, _ streams: UnsafePointer<UInt16>?, _ count: Int) {
    let event = SCTPStack.Event(kind: kind, detail: detail, streams: Array(UnsafeBufferPointer(start: streams, count: count)))
    SCTPStack.shared.putAside(id, .event(event))
}

private func sctpWritable(_ id: UInt64, _ freeBytes: UInt32) { SCTPStack.shared.writable(id, Int(freeBytes)) }
