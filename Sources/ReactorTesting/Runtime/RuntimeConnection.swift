internal import RTCBase
internal import RTCPeer
internal import Reactor
internal import ReactorCore

/// One client's connection, from its offer to its end. Belongs to the runtime's core and is used on its thread only.
final class RuntimeConnection {
    enum Negotiation {
        case running
        case answered(String)
        case failed(RouteFailure)
    }

    /// A message that came before both channels were open.
    struct HeldMessage {
        var channel: MessageChannel
        var isText: Bool
        var bytes: [UInt8]
    }

    let key: ConnectionKey
    /// As it came; the same text again means the same negotiation. Empty when that has failed.
    private(set) var offer: String
    /// Both channels are to be open by then.
    let deadline: MonotonicTime
    /// The model's outputs and inputs on this connection, by track name.
    let outputs: [String: RTCPeer.LocalTrack]
    let inputs: [String: RemoteTrack]
    let commands: CommandQueue

    var negotiation = Negotiation.running
    var peer: PeerConnection?
    let path: NetworkPath
    /// Decided by the client's first frame; assumed when `encodingDeadline` has come without one.
    var encoding: ChannelEncoding?
    var hasSpoken = false
    /// What there is to say while it is unknown.
    var unencoded = BoundedQueue<ServerMessage>(capacity: 64)
    var encodingDeadline: MonotonicTime?
    var lastHeard: MonotonicTime
    private var held = BoundedQueue<HeldMessage>(capacity: 64)
    private var heldBytes = 0
    private(set) var isOpen = false
    /// The labels of the two channels; anything but `control` is the data channel (wire-protocol 5.1).
    private var labels: [MessageChannel: String] = [:]

    init(key: ConnectionKey, offer: String, session: LiveSession, path: NetworkPath, now: MonotonicTime, deadline: MonotonicTime) {
        self.key = key
        self.path = path
        self.offer = offer
        self.deadline = deadline
        lastHeard = now
        var outputs: [String: RTCPeer.LocalTrack] = [:]
        for track in session.tracks where track.direction == .recvonly {
            outputs[track.name] = RTCPeer.LocalTrack(name: track.name, kind: track.kind == .video ? .video : .audio)
        }
        self.outputs = outputs
        inputs = session.media.inputs.mapValues { RemoteTrack(forwardingTo: $0) }
        commands = CommandQueue()
    }

    var hasFailed: Bool {
        if case .failed = negotiation { return true }
        return false
    }

    /// The offer cannot be answered. Failed negotiations do not count as connections, so none keeps what a client sent.
    func fail(_ failure: RouteFailure) {
        negotiation = .failed(failure)
        offer = ""
    }

    /// True when this opened the connection.
    func channelOpened(_ label: String) -> Bool {
        let channel = MessageChannel(label: label)
        if labels[channel] == nil { labels[channel] = label }
        guard !isOpen, labels.count == MessageChannel.allCases.count else { return false }
        isOpen = true
        return true
    }

    /// Keeps a message until the connection is open; false when too many or too large ones wait.
    func hold(_ message: HeldMessage) -> Bool {
        guard held.isEmpty || heldBytes + message.bytes.count <= CommandQueue.mostBytes, held.append(message) else { return false }
        heldBytes += message.bytes.count
        return true
    }

    func nextHeld() -> HeldMessage? {
        guard let message = held.popFirst() else { return nil }
        heldBytes -= message.bytes.count
        return message
    }

    func label(_ channel: MessageChannel) -> String { labels[channel] ?? channel.rawValue }
}

extension MessageChannel {
    init(label: String) { self = label == MessageChannel.control.rawValue ? .control : .data }
}
