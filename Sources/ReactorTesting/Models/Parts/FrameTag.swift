#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The user data that the stock models attach to a picture: its number and the monotonic clock, as JSON.
struct FrameTag: Hashable, Sendable {
    var number: Int
    var nanoseconds: Int64

    var data: Data { Data(#"{"n":\#(number),"t_ns":\#(nanoseconds)}"#.utf8) }
}
