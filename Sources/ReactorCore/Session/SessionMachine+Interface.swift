extension SessionMachine {
    /// What happened. Results of asynchronous work carry the generation of the attempt they belong to.
    package enum Event: Hashable, Sendable {
        // The app
        case connectCalled(CallID, sessionID: String?, connectionID: UInt32?)
        case reconnectCalled(CallID)
        case disconnectCalled(CallID)
        /// `close()` or the last reference gone.
        case closeCalled
        /// The task of a lifecycle call was cancelled.
        case cancelled(CallID)

        // The attempt
        /// `POST /sessions` answered: this client made a session. Report it even when the attempt was cancelled meanwhile.
        case sessionCreated(id: String, Generation)
        /// The session to adopt exists.
        case sessionAdopted(id: String, Generation)
        case capabilitiesReceived(Capabilities, Generation)
        /// The connection id in use: registered, or replaced by the answer.
        case connectionRegistered(UInt32, Generation)
        /// The answer was applied; the recvonly tracks with their mids, in declaration order.
        case tracksReceived([ReceivedTrack], Generation)
        /// Peer connected and both channels open. Ends the attempt.
        case transportReady(Generation)
        /// A step failed, or the attempt stopped after `cancelAttempt`. Ends the attempt; comes exactly once unless `transportReady` did.
        case stepFailed(CoreError, Generation)
        /// The client's limit for the whole attempt ran out; its task is still to report its end.
        case timedOut(CoreError, Generation)

        // The connection
        /// `cause` as in "Disconnected", "Failed", "Closed", or words of our own ("both data channels closed").
        case transportLost(cause: String, Generation)
        /// `session_ended`, or moderation that terminates: the loss that follows is expected.
        case endAnnounced(reason: String, Generation)

        /// An `endSession` request finished, however it went.
        case endFinished(EndToken)
    }

    /// What to do, in this order.
    package enum Action: Hashable, Sendable {
        // Events for the app
        case emitStatus(SessionStatus)
        case emitSessionID(String?)
        case emitCapabilities(Capabilities)
        case emitTrackReceived(ReceivedTrack)
        case emitError(CoreError)

        // Work
        /// Run the attempt in a task of its own and report its steps.
        case startAttempt(Attempt)
        /// Stop the attempt's task. A create request that is out already must still be answered and reported (bounded by 5 s).
        case cancelAttempt(Generation)
        /// Close the peer of this generation, if there is one. Its later events are ignored here.
        case closeTransport(Generation)
        /// Ask the server to end the session, bounded by 5 s, outside any caller's task; then report `endFinished`. Failures are logged.
        case endSession(id: String, EndToken)
        /// Fail all calls waiting for replies, and void publishing.
        case failPending(ErrorCode, message: String)
        /// Resume these tracks in order, then ping; pings repeat every 10 s from here (wire-protocol 5.7, 6.2).
        case sendResumesAndPing([String])
        /// Resume the caller of a lifecycle call. Always after the events it has to see.
        case resolve(CallID, CallOutcome)
        /// The client is closed: finish all event streams.
        case finish
    }

    package struct ReceivedTrack: Hashable, Sendable {
        package var name: String
        package var mid: String

        package init(name: String, mid: String) {
            self.name = name
            self.mid = mid
        }
    }
}
