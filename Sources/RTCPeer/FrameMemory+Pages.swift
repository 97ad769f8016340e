private import CLinux
internal import RTCBase

extension FrameMemory {
    /// Large blocks are pages of their own, which go back to the system when a pool lets go of them; small ones come from the
    /// heap.
    static let pages = FrameMemory(
        allocate: { byteCount in
            if byteCount >= pageThreshold, let base = clinux_map(byteCount) { return base }
            precondition(byteCount < pageThreshold, "out of memory")
            return .allocate(byteCount: byteCount, alignment: 64)
        },
        deallocate: { base, byteCount in
            if byteCount >= pageThreshold { clinux_unmap(base, byteCount) } else { base.deallocate() }
        })

    /// Where glibc, too, begins to map.
    private static let pageThreshold = 128 << 10
}
