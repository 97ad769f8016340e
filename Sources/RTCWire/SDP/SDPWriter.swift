/// Skeleton.
enum SDPWriter {
    static func write(_ description: SessionDescription) -> String { "" }
}
