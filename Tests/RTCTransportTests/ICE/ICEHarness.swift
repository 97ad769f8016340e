import Foundation
import Glibc
import RTCBase
import RTCTransport
import RTCWire

/// Two agents on the network thread, signalling by plain calls.
actor ICEHarness {
    enum Side: Int, Sendable { case a, b }
    typealias Configure = @Sendable (inout ICEAgent.Configuration) -> Void

    nonisolated var unownedExecutor: UnownedSerialExecutor { NetworkExecutor.shared.asUnownedSerialExecutor() }
    nonisolated let executor = NetworkExecutor.shared

    /// Stands between the agents' candidates: what it returns is given to the other side.
    var rewrite: (@Sendable (Side, String) -> String?)?
    /// Called for each datagram, on the network thread, after it was counted.
    var onDatagram: ((isolated ICEHarness, Side, [UInt8]) -> Void)?

    private(set) var agents: [Side: ICEAgent] = [:]
    private(set) var candidates: [Side: [String]] = [.a: [], .b: []]
    private(set) var states: [Side: [ICEState]] = [.a: [], .b: []]
    /// Told by the network thread itself: a test's own thread may not run for seconds while other suites are busy.
    private(set) var startedTime: MonotonicTime?
    private(set) var connectedTimes: [Side: MonotonicTime] = [:]
    private(set) var datagrams: [Side: [[UInt8]]] = [.a: [], .b: []]
    private(set) var pairsSelected: [Side: Int] = [:]
    private(set) var answers: [Side: [STUNTransaction]] = [:]
    private(set) var gatheringDone: Set<Side> = []
    private(set) var callbacksAfterClose = 0
    private var trickles = false
    private var closing: Set<Side> = []

    private struct Waiter {
        let condition: (isolated ICEHarness) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
        let timer: NetworkTimer
    }
    private var waiters: [Int: Waiter] = [:]
    private var nextWaiter = 0
    private var earlyTimer: NetworkTimer?

    func run<Result: Sendable>(_ body: @Sendable (isolated ICEHarness) throws -> Result) rethrows -> Result { try body(self) }

    func make(_ side: Side, _ configure: Configure = { _ in }) throws {
        var configuration = ICEAgent.Configuration()
        configuration.isControlling = side == .a
        configure(&configuration)
        let agent = try ICEAgent(configuration: configuration)
        agent.onCandidate = { [weak self] line in
            self?.assumeIsolated {
                $0.candidates[side, default: []].append(line)
                $0.trickle(side, line)
                $0.changed(side)
            }
        }
        agent.onGatheringDone = { [weak self] in
            self?.assumeIsolated {
                $0.gatheringDone.insert(side)
                $0.changed(side)
            }
        }
        agent.onState = { [weak self] state in
            self?.assumeIsolated {
                $0.states[side, default: []].append(state)
                if state == .connected || state == .ready, $0.connectedTimes[side] == nil {
                    $0.connectedTimes[side] = NetworkExecutor.now()
                }
                $0.changed(side)
            }
        }
        agent.onDatagram = { [weak self] bytes in
            let copy = Array(bytes)
            self?.assumeIsolated {
                $0.datagrams[side, default: []].append(copy)
                $0.onDatagram?($0, side, copy)
                $0.changed(side)
            }
        }
        agent.onPairSelected = { [weak self] in
            self?.assumeIsolated {
                $0.pairsSelected[side, default: 0] += 1
                $0.changed(side)
            }
        }
        agent.onCheckAnswered = { [weak self] transaction in
            self?.assumeIsolated {
                $0.answers[side, default: []].append(transaction)
                $0.changed(side)
            }
        }
        agents[side] = agent
    }

    /// Gathers on both and trickles everything across.
    func connect(_ configureA: Configure = { _ in }, _ configureB: Configure = { _ in }) throws {
        try make(.a, configureA)
        try make(.b, configureB)
        guard let a = agents[.a], let b = agents[.b] else { return }
        trickles = true
        startedTime = NetworkExecutor.now()
        a.setRemote(usernameFragment: b.localUsernameFragment, password: b.localPassword)
        b.setRemote(usernameFragment: a.localUsernameFragment, password: a.localPassword)
        try a.startGathering()
        try b.startGathering()
    }

    private func trickle(_ side: Side, _ line: String) {
        guard trickles else { return }
        let text = rewrite.map { $0(side, line) } ?? line
        if let text { agents[side == .a ? .b : .a]?.addRemoteCandidates([text]) }
    }

    func send(_ side: Side, _ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { agents[side]?.send($0) ?? false } }

    /// Made before the agents, the timer runs before libnice reads when both are due in one turn of the loop: GLib keeps
    /// sources of one priority in the order of their making.
    func makeEarlyTimer(_ body: @escaping @Sendable () -> Void) { earlyTimer = executor.makeTimer { body() } }

    func fireEarlyTimer() { earlyTimer?.set(deadline: executor.now) }

    func isConnected(_ side: Side) -> Bool { agents[side]?.state == .connected || agents[side]?.state == .ready }

    func close(_ side: Side) async {
        guard let agent = agents.removeValue(forKey: side) else { return }
        closing.insert(side)
        await withCheckedContinuation { continuation in agent.close { continuation.resume() } }
    }

    func closeAll() async {
        await close(.a)
        await close(.b)
        closing.removeAll()
    }

    /// Waits for the condition; false when `seconds` pass before.
    func wait(seconds: Double = 5, _ condition: @escaping @Sendable (isolated ICEHarness) -> Bool) async -> Bool {
        if condition(self) { return true }
        let id = nextWaiter
        nextWaiter += 1
        return await withCheckedContinuation { continuation in
            let timer = executor.makeTimer { [weak self] in
                self?.assumeIsolated { $0.waiters.removeValue(forKey: id)?.continuation.resume(returning: false) }
            }
            timer.set(deadline: executor.now.adding(milliseconds: Int64(seconds * 1000)))
            waiters[id] = Waiter(condition: condition, continuation: continuation, timer: timer)
        }
    }

    private func changed(_ side: Side) {
        if closing.contains(side) { callbacksAfterClose += 1 }
        for (id, waiter) in waiters where waiter.condition(self) {
            waiters.removeValue(forKey: id)?.continuation.resume(returning: true)
        }
    }
}

/// A UDP socket of the test's own; blocking calls with a time limit.
struct TestSocket: ~Copyable {
    let descriptor: Int32
    let port: UInt16

    init() {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, length)
                _ = getsockname(descriptor, $0, &length)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { Glibc.close(descriptor) }

    func send(_ bytes: [UInt8], to port: UInt16) { sendDatagram(bytes, from: descriptor, to: port) }

    /// The next datagram and its source port, or nil after the time.
    func receive(milliseconds: Int32) -> (bytes: [UInt8], port: UInt16)? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 2048)
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(descriptor, &bytes, bytes.count, 0, $0, &length) }
        }
        guard count >= 0 else { return nil }
        return (Array(bytes.prefix(count)), UInt16(bigEndian: address.sin_port))
    }
}

/// How many sockets this process has open.
func openSocketCount() -> Int {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { name in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)"))?.hasPrefix("socket:") == true
    }
}

/// The port of a `candidate:` line.
func candidatePort(_ line: String) -> UInt16? {
    let fields = line.split(separator: " ")
    return fields.count > 5 ? UInt16(fields[5]) : nil
}

/// To a port of 127.0.0.1.
func sendDatagram(_ bytes: [UInt8], from descriptor: Int32, to port: UInt16) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            _ = sendto(descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}

/// This process's socket that is bound to the port of an IPv4 address.
func udpSocket(port: UInt16) -> Int32? {
    (0..<1024).first { descriptor in
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isSocket = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) == 0 }
        }
        return isSocket && address.sin_family == sa_family_t(AF_INET) && address.sin_port == port.bigEndian
    }
}

/// The kernel has been asked to tell of ICMP errors on this socket.
func reportsErrors(_ descriptor: Int32) -> Bool {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, Int32(IPPROTO_IP), IP_RECVERR, &value, &length) == 0 && value != 0
}
