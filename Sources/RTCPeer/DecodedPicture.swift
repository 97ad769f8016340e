package import RTCBase
internal import RTCCodec
internal import Synchronization

/// A decoded frame on its way to consumers: I420 planes, shared and immutable, and BGRA pixels made at most once,
/// by the first consumer that takes the frame and asks for them.
package final class DecodedPicture: Sendable {
    private struct Converted {
        var memory: MediaBytes?
        /// What consumers above this layer made of the memory, shared between them.
        var wrapped: (any Sendable)?
    }

    package let planes: PlanarFrame
    private let converted = Mutex(Converted())
    private let pool: FrameBufferPool

    package init(planes: PlanarFrame, pool: FrameBufferPool) {
        self.planes = planes
        self.pool = pool
    }

    package var width: Int { planes.width }
    package var height: Int { planes.height }

    /// Tight BGRA rows (B, G, R, A; `width * height * 4` bytes), converted on the first call on the caller's thread.
    /// Nil only when the planes cannot be converted, which the decoder's size limits rule out.
    package func bgra() -> MediaBytes? {
        converted.withLock { state in memory(&state) }
    }

    /// One value made from the BGRA memory and shared by every consumer of this picture: `make` runs at most once.
    package func shared<Wrapped: Sendable>(_ make: @Sendable (MediaBytes) -> Wrapped) -> Wrapped? {
        converted.withLock { state in
            if let wrapped = state.wrapped as? Wrapped { return wrapped }
            guard let memory = memory(&state) else { return nil }
            let wrapped = make(memory)
            state.wrapped = wrapped
            return wrapped
        }
    }

    private func memory(_ state: inout sending Converted) -> MediaBytes? {
        if let memory = state.memory { return memory }
        let count = planes.width * planes.height * 4
        let memory = pool.take(capacity: count)
        guard PixelConverter.i420ToBGRA(planes, into: UnsafeMutableRawBufferPointer(start: memory.base, count: count)) else {
            return nil
        }
        memory.setCount(count)
        state.memory = memory
        return memory
    }
}
