/// Where the library's measurements go, such as a bridge to a metrics system.
///
/// The methods are called on the library's network thread: they must be quick and may not wait. Nothing is called for single
/// frames or packets; ``Reactor/statsUpdates(every:)`` gives what those add up to.
///
/// | Name | Kind | Dimensions |
/// |---|---|---|
/// | `reactor.status` | counter, one per change | `status` |
/// | `reactor.errors` | counter, one per error event | `code` |
/// | `reactor.commands` | counter, one per finished command | `result`: `ok` or the error's code |
/// | `reactor.command.duration` | timer, until the reply | |
/// | `reactor.connect.duration` | timer, until `.ready` | `step`: `total`, `session`, `ice`, `dtls`, `channels` |
/// | `reactor.reconnects` | counter, one per connection of the same session after the first | |
/// | `reactor.events.dropped` | gauge, at each change of status: messages and errors that waited too long for their handlers | |
public protocol ReactorMetrics: Sendable {
    /// Something happened `value` times.
    func counter(_ name: String, _ value: Int64, dimensions: [String: String])
    /// Something is `value` now.
    func gauge(_ name: String, _ value: Double, dimensions: [String: String])
    /// Something took this long.
    func timer(_ name: String, _ value: Duration, dimensions: [String: String])
}
