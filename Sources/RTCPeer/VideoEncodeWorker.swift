internal import RTCBase

/// One encode thread of one published video track.
final class VideoEncodeWorker: Sendable {}
