// ICE (RFC 8445, trickle RFC 8838): a libnice agent with one stream of one component, driven on the network thread.
//
// In: servers, the peer's credentials and candidates, datagrams and consent checks to send. Out: our candidates, the state,
// datagrams that are not STUN, answers to consent checks, through closures that run on the network thread, never inside a call of a function of this class. Host
// candidates come at once; what depends on servers trickles in later and nothing waits for it.
// Left out: ICE-TCP, mDNS names, UPnP, TLS to relays, restarts.

private import CNice
private import Glibc
package import RTCBase
package import RTCWire

/// One ICE agent. Used on the network thread only; `close` it before letting go of it.
package final class ICEAgent {
    // Set before `startGathering`. All are called on the network thread.

    /// A local candidate: `candidate:...`, without `a=`.
    package var onCandidate: ((String) -> Void)?
    package var onGatheringDone: (() -> Void)?
    package var onState: ((ICEState) -> Void)?
    /// A datagram that is not STUN. The bytes may be changed and live for the call.
    package var onDatagram: ((UnsafeMutableRawBufferPointer) -> Void)?
    /// A pair was selected, the first or another one: checks on it succeeded.
    package var onPairSelected: (() -> Void)?
    /// The peer answered `sendCheck` with success, provably.
    package var onCheckAnswered: ((STUNTransaction) -> Void)?

    package let localUsernameFragment: String
    package let localPassword: String
    /// Server entries that are not used, one sentence each.
    package var warnings: [String] { servers.warnings }
    /// Candidates so far, as given to `onCandidate`; host candidates are complete when `startGathering` returns.
    package private(set) var localCandidates: [String] = []
    package private(set) var state = ICEState.gathering
    package private(set) var isGatheringDone = false
    /// Why `state` is `.failed`.
    package private(set) var failure: TransportError?
    package internal(set) var drops = DropCounters()
    /// The smallest receive buffer the kernel granted, in bytes, as the kernel counts.
    package private(set) var receiveBufferBytes = 0

    private let configuration: Configuration
    private let servers: ICEServerList
    private let executor: NetworkExecutor
    private let box: ICEAgentBox
    /// `nil` once closed.
    private(set) var handle: OpaquePointer?
    private var hasStarted = false
    private var announcesLoopback = false
    private var hasEverConnected = false
    private var hasRemoteCredentials = false
    var consent: ConsentChecks
    /// Candidates that came before the peer's credentials, or before gathering.
    private var waitingCandidates: [RemoteCandidate] = []
    private var addedCandidates: Set<RemoteCandidate> = []
    private var isRemoteGatheringDone = false
    private var refusals = RefusalDetector()
    private var isWatchingErrors = false

    private enum Event {
        case candidate(String), gatheringDone, state(ICEState), pairSelected
    }
    /// What libnice said inside a call of ours; told to the owner from the next iteration of the loop.
    private var events: [Event] = []
    private lazy var eventTimer = executor.makeTimer { [weak self] in self?.deliverEvents() }
    private lazy var gatheringTimer = executor.makeTimer { [weak self] in self?.finishGathering() }
    private lazy var patienceTimer = executor.makeTimer { [weak self] in self?.losePatience() }
    private lazy var refusalTimer = executor.makeTimer { [weak self] in self?.handleRefusalTimeout() }

    /// Throws `.iceConfiguration` when a server entry or the policy cannot work.
    package init(configuration: Configuration, executor: NetworkExecutor = .shared) throws(TransportError) {
        self.configuration = configuration
        self.executor = executor
        consent = ConsentChecks(isControlling: configuration.isControlling)
        servers = try ICEServerList(configuration.servers, relayOnly: configuration.relayOnly)
        rnice_silence_library_log()
        box = ICEAgentBox(executor: executor)
        handle = ICEAgentBox.makeHandle(box, configuration: configuration, context: executor.context)
        guard let handle else { throw TransportError(.iceFailed, "nice_agent_new failed") }
        var fragment = [CChar](repeating: 0, count: Self.credentialCapacity)
        var password = [CChar](repeating: 0, count: Self.credentialCapacity)
        guard rnice_agent_local_credentials(handle, &fragment, &password, Self.credentialCapacity) != 0 else {
            box.close(handle)
            throw TransportError(.iceFailed, "nice_agent_get_local_credentials failed")
        }
        localUsernameFragment = string(fragment)
        localPassword = string(password)
        box.agent = self
    }

    deinit {
        if let handle { box.close(handle) }
    }

    // MARK: Control

    /// Announces our candidates. Throws `.iceFailed` when the machine has no usable address.
    package func startGathering() throws(TransportError) {
        guard let handle, !hasStarted else { return }
        let addresses = try localAddresses()
        for address in addresses where rnice_agent_add_local_address(handle, address.text) == 0 {
            throw TransportError(.iceFailed, "nice_agent_add_local_address failed")
        }
        announcesLoopback = addresses.allSatisfy(\.isLoopback)
        // libnice knows one STUN server. A UDP relay tells our mapped address as well, and libnice mistakes the STUN answers
        // of an address that is a relay too.
        let relayAddresses = servers.relays.filter { $0.transport == .udp }.map(\.address)
        if !configuration.relayOnly, let server = servers.stunServers.first(where: { !relayAddresses.contains($0) }) {
            rnice_agent_set_stun_server(handle, server.host, UInt32(server.port))
        }
        for relay in servers.relays {
            let added = rnice_agent_add_relay(
                handle, relay.address.host, UInt32(relay.address.port), relay.username, relay.credential,
                relay.transport == .tcp ? 1 : 0)
            guard added != 0 else { throw TransportError(.iceConfiguration, "nice_agent_set_relay_info failed") }
        }
        hasStarted = true
        let now = executor.now
        gatheringTimer.set(deadline: now.adding(milliseconds: Self.gatheringLimitMilliseconds))
        patienceTimer.set(deadline: now.adding(milliseconds: Self.patienceMilliseconds))
        guard rnice_agent_gather(handle) != 0 else {
            throw TransportError(.iceFailed, "nice_agent_gather_candidates failed: no address could be bound")
        }
        enlargeReceiveBuffers()
        addWaitingCandidates()
    }

    /// The peer's credentials (ice-ufrag, ice-pwd). False when they are malformed (RFC 8839 §5.4).
    @discardableResult
    package func setRemote(usernameFragment: String, password: String) -> Bool {
        guard let handle else { return false }
        guard (4...256).contains(usernameFragment.utf8.count), (22...256).contains(password.utf8.count),
            usernameFragment.utf8.allSatisfy(Self.isPrintable), password.utf8.allSatisfy(Self.isPrintable)
        else { return false }
        guard rnice_agent_set_remote_credentials(handle, usernameFragment, password) != 0 else { return false }
        hasRemoteCredentials = true
        consent.setPeer(username: "\(usernameFragment):\(localUsernameFragment)", password: password)
        addWaitingCandidates()
        return true
    }

    /// Candidates of the peer, at any time, also before its credentials. What cannot be used is skipped and counted.
    package func addRemoteCandidates(_ lines: [String]) {
        guard handle != nil else { return }
        for line in lines {
            do throws(RemoteCandidate.Problem) {
                let candidate = try RemoteCandidate(parsing: line)
                let isKnown = addedCandidates.contains(candidate) || waitingCandidates.contains(candidate)
                guard !isKnown else { continue }
                guard addedCandidates.count + waitingCandidates.count < Self.maxRemoteCandidates else {
                    drops.count(.unusableCandidate)
                    continue
                }
                waitingCandidates.append(candidate)
            } catch {
                drops.count(error == .malformed ? .malformedCandidate : .unusableCandidate)
            }
        }
        addWaitingCandidates()
    }

    /// The peer has no more candidates.
    package func setRemoteGatheringDone() {
        isRemoteGatheringDone = true
        addWaitingCandidates()
    }

    /// Sends one datagram over the selected pair. False when there is none yet or the socket does not take it.
    package func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let handle, let base = bytes.baseAddress, !bytes.isEmpty, failure == nil else { return false }
        return rnice_agent_send(handle, base.assumingMemoryBound(to: UInt8.self), bytes.count) > 0
    }

    package func selectedPair() -> ICESelectedPair? {
        guard let handle else { return nil }
        var pair = rnice_pair()
        guard rnice_agent_selected_pair(handle, &pair) != 0 else { return nil }
        return ICESelectedPair(
            localType: candidateType(pair.local_type), remoteType: candidateType(pair.remote_type),
            localAddress: string(pair.local_address), remoteAddress: string(pair.remote_address), remotePort: pair.remote_port,
            relayProtocol: relayTransport(pair))
    }

    /// Closes sockets and gives relay allocations back. No other callback follows; `completion` runs on the network thread
    /// when the sockets are closed, or after half a second when a relay does not answer (the rest is done without you).
    package func close(completion: @escaping () -> Void = {}) {
        events.removeAll()
        for timer in [eventTimer, gatheringTimer, patienceTimer, refusalTimer] { timer.cancel() }
        refusals.stop()
        box.addCompletion(completion)
        guard let handle else { return }
        self.handle = nil
        box.close(handle)
    }

    // MARK: From libnice

    func handleCandidate(_ line: String) {
        // Relay-only never tells addresses of ours; loopback is told only if there is nothing else (RFC 8445 §5.1.1.1).
        let fields = line.split(separator: " ")
        if !announcesLoopback, fields.count > 4, NumericAddress(fields[4])?.isLoopback == true { return }
        localCandidates.append(line)
        add(.candidate(line))
    }

    func handleGatheringDone() { finishGathering() }

    func handleState(_ number: Int32) {
        guard failure == nil else { return }
        switch Int(number) {
        case RNICE_STATE_DISCONNECTED: change(to: .disconnected)
        case RNICE_STATE_GATHERING: change(to: .gathering)
        case RNICE_STATE_CONNECTING: change(to: .checking)
        case RNICE_STATE_CONNECTED: becomeUsable(.connected)
        case RNICE_STATE_READY: becomeUsable(.ready)
        case RNICE_STATE_FAILED:
            // RFC 8863: candidates may still come, and the peer's checks may still reach us. `losePatience` decides.
            if hasEverConnected { fail(TransportError(.iceFailed, "The selected pair stopped answering")) }
        default: break
        }
    }

    func handlePairSelected() { add(.pairSelected) }

    func handleDatagram(_ bytes: UnsafeMutableRawBufferPointer) {
        guard handle != nil else { return }
        if !events.isEmpty { deliverEvents() }
        if refusals.isProbing { stopProbing() }
        refusals.handleDatagram()
        if PacketKind.classify(UnsafeRawBufferPointer(bytes).bytes) == .stun {
            handleSTUN(UnsafeRawBufferPointer(bytes))
        } else {
            onDatagram?(bytes)
        }
    }

    func handleSendError(_ error: Int32, address: String, port: UInt16) {
        guard error == ECONNREFUSED, let pair = selectedPair(), pair.remoteAddress == address, pair.remotePort == port else { return }
        if refusals.handleRefusal(now: executor.now) {
            fail(TransportError(.iceRefused, "The peer's port is closed (ICMP port unreachable)"))
        } else {
            refusalTimer.set(deadline: refusals.nextDeadline)
        }
    }

    /// Something is about to be read, perhaps one of libnice's own checks or the peer's probe. Errors are watched no more until
    /// the next probe, which is due when it was: two idle peers must not hurry each other.
    func handleHeard() {
        isWatchingErrors = false
        refusals.handleHeard()
    }

    // MARK: State

    private func becomeUsable(_ new: ICEState) {
        if !hasEverConnected {
            hasEverConnected = true
            patienceTimer.set(deadline: nil)
        }
        if refusals.isStopped {
            refusals.start(now: executor.now)
            refusalTimer.set(deadline: refusals.nextDeadline)
        }
        change(to: new)
    }

    private func change(to new: ICEState) {
        guard new != state else { return }
        state = new
        add(.state(new))
    }

    private func fail(_ error: TransportError) {
        guard failure == nil else { return }
        failure = error
        refusals.stop()
        refusalTimer.set(deadline: nil)
        stopWatchingErrors()
        change(to: .failed)
    }

    private func losePatience() {
        guard !hasEverConnected else { return }
        fail(TransportError(.iceFailed, "No pair of addresses works"))
    }

    private func finishGathering() {
        guard !isGatheringDone, hasStarted else { return }
        isGatheringDone = true
        gatheringTimer.set(deadline: nil)
        enlargeReceiveBuffers()
        add(.gatheringDone)
    }

    private func add(_ event: Event) {
        events.append(event)
        if events.count == 1 { eventTimer.set(deadline: executor.now) }
    }

    private func deliverEvents() {
        // One by one: a callback may close the agent or make new events.
        while handle != nil, !events.isEmpty {
            switch events.removeFirst() {
            case .candidate(let line): onCandidate?(line)
            case .gatheringDone: onGatheringDone?()
            case .state(let new): onState?(new)
            case .pairSelected: onPairSelected?()
            }
        }
    }

    // MARK: Refusals

    private func handleRefusalTimeout() {
        guard let handle, failure == nil else { return }
        let wasProbing = refusals.isProbing
        let action = refusals.handleTimeout(now: executor.now)
        if wasProbing, !refusals.isProbing { stopWatchingErrors() }
        if action == .probe {
            if !isWatchingErrors { isWatchingErrors = rnice_agent_watch_errors(handle, 1) != 0 }
            if isWatchingErrors {
                sendProbe()
            } else if !wasProbing {
                refusals.start(now: executor.now)  // relayed, no error queue, or something came: look again later
            }
        }
        refusalTimer.set(deadline: refusals.nextDeadline)
    }

    private func stopWatchingErrors() {
        isWatchingErrors = false
        if let handle { _ = rnice_agent_watch_errors(handle, 0) }
    }

    private func stopProbing() {
        stopWatchingErrors()
        refusals.start(now: executor.now)
        refusalTimer.set(deadline: refusals.nextDeadline)
    }

    private func sendProbe() {
        var generator = SystemRandomNumberGenerator()
        // Valid traffic for an ICE peer, which asks for no answer (RFC 8489 §5).
        let probe = STUNMessage(.indication, transaction: STUNTransaction(using: &generator))
        _ = probe.bytes()?.withUnsafeBytes { send($0) }
    }

    // MARK: Helpers

    private func localAddresses() throws(TransportError) -> [NumericAddress] {
        let addresses =
            configuration.localAddresses?.compactMap { NumericAddress($0) }
            ?? LocalAddresses.usable(includesLoopback: configuration.includesLoopback)
        guard !addresses.isEmpty else { throw TransportError(.iceFailed, "No network interface has a usable address") }
        return addresses
    }

    private func addWaitingCandidates() {
        guard let handle, hasStarted, hasRemoteCredentials else { return }
        let candidates = waitingCandidates
        waitingCandidates.removeAll()
        for candidate in candidates {
            addedCandidates.insert(candidate)
            if rnice_agent_add_remote_candidate(handle, candidate.line) == 0 { drops.count(.unusableCandidate) }
        }
        if isRemoteGatheringDone { rnice_agent_remote_gathering_done(handle) }
    }

    private func enlargeReceiveBuffers() {
        guard let handle else { return }
        receiveBufferBytes = Int(rnice_agent_set_receive_buffer(handle, Int32(clamping: configuration.receiveBufferBytes)))
    }

    private func relayTransport(_ pair: rnice_pair) -> RelayTransport? {
        guard Int(pair.local_type) == RNICE_RELAYED else { return nil }
        let address = ICEServerList.Address(host: string(pair.relay_address), port: pair.relay_port)
        let exact = Set(servers.relays.filter { $0.address == address }.map(\.transport))
        let possible = exact.isEmpty ? Set(servers.relays.map(\.transport)) : exact
        return possible.count == 1 ? possible.first : nil
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }

    /// libnice makes 4 and 22 characters; RFC 8839 allows 256.
    private static let credentialCapacity = 257
    /// NICE_AGENT_MAX_REMOTE_CANDIDATES.
    private static let maxRemoteCandidates = 25
    /// RFC 8863 §4: at least as long as the checks of a pair would take by RFC 8445's own timers.
    private static let patienceMilliseconds: Int64 = 39_500
    /// A name server or STUN server that stays silent must not leave the gathering open for ever.
    private static let gatheringLimitMilliseconds: Int64 = 10_000
}

private func candidateType(_ number: Int32) -> ICECandidateType {
    switch Int(number) {
    case RNICE_HOST: .host
    case RNICE_SERVER_REFLEXIVE: .serverReflexive
    case RNICE_PEER_REFLEXIVE: .peerReflexive
    default: .relayed
    }
}

/// Text in a fixed C array, up to its zero byte.
private func string<Storage>(_ storage: Storage) -> String {
    withUnsafeBytes(of: storage) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

private func string(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
