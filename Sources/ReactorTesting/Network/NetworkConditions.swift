internal import RTCBase
internal import RTCSimulation

/// What the path between a ``LocalRuntime`` and its clients does to media and data, in each direction by itself: a delay of
/// 40 ms makes round trips of 80 ms.
///
/// The conditions act on the datagrams of DTLS, media and data channels; HTTP and the connectivity checks of ICE pass
/// untouched. Every connection has its own path, and all chance comes from ``seed``: the same datagrams at the same times
/// meet the same fate.
///
/// ```swift
/// let runtime = try await LocalRuntime(model: Mirror(), network: NetworkConditions(loss: 0.05, delay: .milliseconds(40)))
/// await runtime.set(.down)        // and back:
/// await runtime.set(.perfect)
/// ```
public struct NetworkConditions: Sendable, Hashable {
    /// Probability that a datagram is lost, 0 to 1.
    public var loss: Double
    /// How long a datagram is on its way; at most a minute.
    public var delay: Duration
    /// Up to this much on top, evenly distributed; at most a minute. Datagrams do not overtake each other through it.
    public var jitter: Duration
    /// Probability that a datagram is held back for another 10 ms while those behind it go on, 0 to 1.
    public var reorder: Double
    /// Probability that a datagram arrives twice, 0 to 1.
    public var duplicate: Double
    /// What passes per second, counting the bytes of datagrams without IP and UDP headers; `nil` is unlimited, 0 stops
    /// everything.
    public var bitsPerSecond: Int?
    /// What may wait for ``bitsPerSecond``, in bytes; a datagram that finds no room is dropped.
    public var queueBytes: Int
    /// Spans in which nothing passes, counted for each connection from its first datagram under these conditions.
    public var outages: [Range<Duration>]
    /// What all chance comes from.
    public var seed: UInt64

    /// Makes conditions from their parts; by default everything passes at once. A probability above 1 counts as 1, a negative value
    /// as 0.
    public init(
        loss: Double = 0, delay: Duration = .zero, jitter: Duration = .zero, reorder: Double = 0, duplicate: Double = 0,
        bitsPerSecond: Int? = nil, queueBytes: Int = 64_000, outages: [Range<Duration>] = [], seed: UInt64 = 1
    ) {
        self.loss = loss
        self.delay = delay
        self.jitter = jitter
        self.reorder = reorder
        self.duplicate = duplicate
        self.bitsPerSecond = bitsPerSecond
        self.queueBytes = queueBytes
        self.outages = outages
        self.seed = seed
    }

    /// Nothing is lost or delayed.
    public static let perfect = NetworkConditions()
    /// Nothing passes, until other conditions are set.
    public static let down = NetworkConditions(loss: 1)
}

extension NetworkConditions {
    /// Whether datagrams need not be looked at.
    var passesEverything: Bool {
        // A probability that is no number never comes true.
        !(loss > 0) && delay <= .zero && jitter <= .zero && !(reorder > 0) && !(duplicate > 0) && bitsPerSecond == nil
            && outages.isEmpty
    }

    /// As the link model takes them; outages are not its business.
    var link: LinkConditions {
        var result = LinkConditions(
            loss: loss, delayMilliseconds: Self.milliseconds(delay), jitterMilliseconds: Self.milliseconds(jitter),
            reordering: reorder, duplication: duplicate)
        result.rateBitsPerSecond = bitsPerSecond.map { Double(max(0, $0)) }
        result.queueBytes = max(0, queueBytes)
        return result
    }

    /// The same with nothing left to chance.
    var steadyLink: LinkConditions {
        var result = link
        result.loss = 0
        result.jitterMilliseconds = 0
        result.reordering = 0
        result.duplication = 0
        return result
    }

    private static func milliseconds(_ duration: Duration) -> Double { min(max(0, duration / .milliseconds(1)), 60_000) }
}
