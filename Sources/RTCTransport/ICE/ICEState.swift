/// Where an agent stands. `failed` is final.
package enum ICEState: Sendable, Hashable {
    case gathering, checking, connected, ready, disconnected, failed
}
