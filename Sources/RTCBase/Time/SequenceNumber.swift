/// 16-bit counters that wrap: RTP sequence numbers (RFC 3550 §5.1), transport-wide numbers, picture ids.
package enum SequenceNumber {
    /// Signed distance from `b` to `a` on the circle: positive when `a` is newer.
    package static func distance(_ a: UInt16, after b: UInt16) -> Int { Int(Int16(bitPattern: a &- b)) }
    package static func isNewer(_ a: UInt16, than b: UInt16) -> Bool { distance(a, after: b) > 0 }
}

/// Follows a 16-bit counter over its wraps to a 64-bit number; the first value seen maps to itself + 65536,
/// so that an older neighbour of the first packet stays positive.
package struct SequenceUnwrapper: Sendable {
    package private(set) var last: Int64?
    package init() {}

    /// The 64-bit number of `value`, next to the newest number seen so far; it advances when `value` is newer.
    package mutating func unwrap(_ value: UInt16) -> Int64 {
        let result = peek(value)
        if let last { if result > last { self.last = result } } else { last = result }
        return result
    }

    package func peek(_ value: UInt16) -> Int64 {
        guard let last else { return Int64(value) + 65_536 }
        return last &+ Int64(Int16(bitPattern: value &- UInt16(truncatingIfNeeded: last)))
    }

    package mutating func reset() { last = nil }
}

/// The same for 32-bit RTP timestamps.
package struct TimestampUnwrapper: Sendable {
    package private(set) var last: Int64?
    package init() {}

    package mutating func unwrap(_ value: UInt32) -> Int64 {
        let result: Int64
        if let last {
            result = last &+ Int64(Int32(bitPattern: value &- UInt32(truncatingIfNeeded: last)))
            if result > last { self.last = result }
        } else {
            result = Int64(value) + 1 << 32
            last = result
        }
        return result
    }

    package mutating func reset() { last = nil }
}
