import Synchronization

/// A one-place, lock-free hand-off in which the newest element wins.
///
/// The whole state is one atomic word: empty, an element, a waiting consumer, or finished (with or without a last
/// element to take). Producers never wait and never allocate beyond the element's box; an element that is replaced
/// before anybody took it is released and counted. Any number of producers, one consumer: a second consumer
/// displaces the first, whose `next()` returns nil.
package final class NewestSlot<Element: Sendable>: Sendable {
    private final class Box: Sendable {
        let element: Element
        init(_ element: Element) { self.element = element }
    }

    private final class Waiter: Sendable {
        let continuation: UnsafeContinuation<Bool, Never>
        init(_ continuation: UnsafeContinuation<Bool, Never>) { self.continuation = continuation }
    }

    /// Low bits of the word; boxes and waiters are at least 16-byte aligned.
    private static var finishedBit: UInt { 1 }
    private static var waiterBit: UInt { 2 }
    private static var addressMask: UInt { ~3 }

    private let word = Atomic<UInt>(0)
    private let replaced = Atomic<UInt64>(0)

    package init() {}

    deinit {
        let last = word.load(ordering: .acquiring)
        if last & Self.waiterBit != 0 {
            Self.takeWaiter(last).continuation.resume(returning: false)
        } else if last & Self.addressMask != 0 {
            _ = Self.takeBox(last)
        }
    }

    /// Elements released because a newer one came before they were taken.
    package var replacedCount: UInt64 { replaced.load(ordering: .relaxed) }

    /// An element is here that nobody has taken yet.
    package var isOccupied: Bool {
        let current = word.load(ordering: .acquiring)
        return current & Self.waiterBit == 0 && current & Self.addressMask != 0
    }

    package var isFinished: Bool { word.load(ordering: .acquiring) & Self.finishedBit != 0 }

    /// Puts the newest element; false when the slot is finished.
    @discardableResult
    package func put(_ element: Element) -> Bool {
        let box = Unmanaged.passRetained(Box(element))
        let desired = UInt(bitPattern: box.toOpaque())
        var current = word.load(ordering: .acquiring)
        while true {
            if current & Self.finishedBit != 0 {
                box.release()
                return false
            }
            let result = word.weakCompareExchange(expected: current, desired: desired, ordering: .acquiringAndReleasing)
            guard result.exchanged else {
                current = result.original
                continue
            }
            if current & Self.waiterBit != 0 {
                Self.takeWaiter(current).continuation.resume(returning: true)
            } else if current != 0 {
                _ = Self.takeBox(current)
                replaced.add(1, ordering: .relaxed)
            }
            return true
        }
    }

    package enum Taken { case element(Element), empty, finished }

    /// Takes what is there without waiting.
    package func take() -> Taken {
        var current = word.load(ordering: .acquiring)
        while true {
            if current & Self.waiterBit != 0 || current == 0 { return .empty }
            if current & Self.addressMask == 0 { return .finished }
            let result = word.weakCompareExchange(
                expected: current, desired: current & Self.finishedBit, ordering: .acquiringAndReleasing)
            if result.exchanged { return .element(Self.takeBox(current).element) }
            current = result.original
        }
    }

    /// Waits for the next element. Nil when the slot is finished and empty, when the task is cancelled, or when
    /// another consumer displaced this one.
    package func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
        while true {
            if Task.isCancelled { return nil }
            switch take() {
            case .element(let element): return element
            case .finished: return nil
            case .empty: break
            }
            let again = await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    install(Waiter(continuation))
                    // A cancellation that came before the waiter was in place found nothing to wake.
                    if Task.isCancelled { wakeWaiter() }
                }
            } onCancel: {
                wakeWaiter()
            }
            if !again { return nil }
        }
    }

    /// No element is accepted from now on; one that is in the slot can still be taken.
    package func finish() {
        var current = word.load(ordering: .acquiring)
        while current & Self.finishedBit == 0 {
            let isWaiter = current & Self.waiterBit != 0
            let desired = isWaiter ? Self.finishedBit : current | Self.finishedBit
            let result = word.weakCompareExchange(expected: current, desired: desired, ordering: .acquiringAndReleasing)
            if result.exchanged {
                if isWaiter { Self.takeWaiter(current).continuation.resume(returning: true) }
                return
            }
            current = result.original
        }
    }

    private func install(_ waiter: Waiter) {
        let retained = Unmanaged.passRetained(waiter)
        let desired = UInt(bitPattern: retained.toOpaque()) | Self.waiterBit
        var current = word.load(ordering: .acquiring)
        while current == 0 || current & Self.waiterBit != 0 {
            let result = word.weakCompareExchange(expected: current, desired: desired, ordering: .acquiringAndReleasing)
            if result.exchanged {
                if current != 0 { Self.takeWaiter(current).continuation.resume(returning: false) }
                return
            }
            current = result.original
        }
        // An element or the end arrived meanwhile.
        retained.release()
        waiter.continuation.resume(returning: true)
    }

    private func wakeWaiter() {
        var current = word.load(ordering: .acquiring)
        while current & Self.waiterBit != 0 {
            let result = word.weakCompareExchange(expected: current, desired: 0, ordering: .acquiringAndReleasing)
            if result.exchanged {
                Self.takeWaiter(current).continuation.resume(returning: true)
                return
            }
            current = result.original
        }
    }

    /// Ownership of what the word pointed to passes to the caller: only whoever exchanged the word away calls these.
    private static func takeBox(_ word: UInt) -> Box {
        Unmanaged<Box>.fromOpaque(pointer(word)).takeRetainedValue()
    }

    private static func takeWaiter(_ word: UInt) -> Waiter {
        Unmanaged<Waiter>.fromOpaque(pointer(word)).takeRetainedValue()
    }

    private static func pointer(_ word: UInt) -> UnsafeRawPointer {
        // The mask leaves an address that `passRetained` gave out; it is never zero here.
        UnsafeRawPointer(bitPattern: word & addressMask).unsafelyUnwrapped
    }
}
