internal import RTCBase

/// One encode thread of one published audio track.
final class AudioEncodeWorker: Sendable {}
