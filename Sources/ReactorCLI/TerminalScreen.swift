internal import Dispatch
internal import Foundation
internal import Reactor
internal import Synchronization

/// The whole terminal on standard output: the newest picture as colour half blocks and lines of text below it, a few times a
/// second. Writes from a queue of its own, since a terminal may be slow.
///
/// ```swift
/// let screen = TerminalScreen { (frame: report.lastFrame, lines: [report.statusLine]) }
/// screen.start()
/// await watch()
/// await screen.stop()
/// ```
final class TerminalScreen: Sendable {
    typealias Content = (frame: VideoFrame?, lines: [String])

    /// Standard output is a terminal.
    static var isAvailable: Bool { isatty(STDOUT_FILENO) == 1 }

    private let queue = DispatchQueue(label: "reactor.screen")
    private let content: @Sendable () -> Content
    private let state = Mutex(State())

    private struct State {
        var isRunning = false
        var renderer = HalfBlockRenderer()
        var available = HalfBlockRenderer.Size(columns: 0, rows: 0)
        var lines: [String] = []
    }

    /// - Parameter content: what to show; asked at each update, on the screen's queue.
    init(_ content: @escaping @Sendable () -> Content) { self.content = content }

    /// Takes the terminal over.
    func start() {
        state.withLock { $0.isRunning = true }
        TerminalState.isScreenTaken.store(true, ordering: .releasing)
        queue.async { [self] in
            Self.write(Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J".utf8))
            tick()
        }
    }

    /// Gives the terminal back as it was. Harmless when it was never taken.
    func stop() async {
        let wasRunning = state.withLock { state in
            defer { state.isRunning = false }
            return state.isRunning
        }
        guard wasRunning else { return }
        await withCheckedContinuation { continuation in
            queue.async {
                Self.write(Array(TerminalState.restoring.description.utf8))
                TerminalState.isScreenTaken.store(false, ordering: .releasing)
                continuation.resume()
            }
        }
    }

    private func tick() {
        guard state.withLock({ $0.isRunning }) else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(1000 / Self.updatesPerSecond)) { [weak self] in self?.tick() }
        update()
    }

    private func update() {
        let (frame, lines) = content()
        let available = Self.size
        let out = state.withLock { state -> [UInt8] in
            var out: [UInt8] = []
            if available != state.available {
                state.available = available
                state.renderer.forget()
                state.lines = []
            }
            let room = HalfBlockRenderer.Size(columns: available.columns, rows: available.rows - lines.count)
            if let frame {
                let before = state.renderer.size
                out += frame.pixels.withUnsafeBytes {
                    state.renderer.draw($0, width: Int(frame.width), height: Int(frame.height), in: room)
                }
                // A picture of another size clears the screen.
                if state.renderer.size != before { state.lines = [] }
            }
            if lines != state.lines {
                state.lines = lines
                for (index, line) in lines.enumerated() {
                    out += "\u{1B}[\(max(1, available.rows - lines.count + index + 1));1H\u{1B}[2K".utf8
                    out += line.prefix(available.columns).utf8
                }
            }
            return out
        }
        // The terminal shows the update at once where it knows these two (synchronized output), and skips them otherwise.
        if !out.isEmpty { Self.write(Array("\u{1B}[?2026h".utf8) + out + Array("\u{1B}[?2026l".utf8)) }
    }

    /// 80 by 24 when the terminal does not say.
    private static var size: HalfBlockRenderer.Size {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return HalfBlockRenderer.Size(columns: 80, rows: 24)
        }
        return HalfBlockRenderer.Size(columns: Int(window.ws_col), rows: Int(window.ws_row))
    }

    private static func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Foundation.write(STDOUT_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    private static let updatesPerSecond = 15
}

/// What a signal handler needs to give the terminal back.
enum TerminalState {
    static let isScreenTaken = Atomic(false)
    /// The cursor, the colours and the screen from before.
    static let restoring: StaticString = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"

    /// Ends the process as the signal does by default, with the terminal restored. Calls nothing that a handler must not call.
    static func install(for number: Int32) {
        guard isScreenTaken.load(ordering: .acquiring) else {
            signal(number, SIG_DFL)
            return
        }
        signal(number) { number in
            _ = Foundation.write(STDOUT_FILENO, TerminalState.restoring.utf8Start, TerminalState.restoring.utf8CodeUnitCount)
            signal(number, SIG_DFL)
            raise(number)
        }
    }
}
