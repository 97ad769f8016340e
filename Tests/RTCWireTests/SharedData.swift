import Foundation
import RTCBase

@testable import RTCWire

/// Files of the shared folder beside the checkout (or where `REACTOR_SHARED` points); tests that need them are skipped
/// when it is absent.
enum SharedData {
    static let root: URL? = {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let named = ProcessInfo.processInfo.environment["REACTOR_SHARED"].map { URL(filePath: $0) }
        let folder = named ?? package.deletingLastPathComponent().appending(path: "shared")
        return FileManager.default.fileExists(atPath: folder.appending(path: "vectors").path) ? folder : nil
    }()

    static var isPresent: Bool { root != nil }

    struct Missing: Error {}

    static func bytes(_ path: String) throws -> [UInt8] {
        guard let root else { throw Missing() }
        return [UInt8](try Data(contentsOf: root.appending(path: path)))
    }

    static func text(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

    static func names(in folder: String) throws -> [String] {
        guard let root else { throw Missing() }
        return try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path).sorted()
    }
}

/// Bytes from hex digits; anything else between them is ignored.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// Parsers called on whole arrays: a span cannot stand inside an expectation macro.
func classify(_ bytes: [UInt8]) -> PacketKind { PacketKind.classify(bytes.span.bytes) }
func parseTrailer(_ bytes: [UInt8]) -> (metadata: FrameMetadata, byteCount: Int)? { FrameTrailer.parse(bytes.span.bytes) }
func isVP8KeyFrame(_ bytes: [UInt8]) -> Bool { VP8Descriptor.isKeyFrame(bytes.span.bytes) }
func vp8KeyFrameSize(_ bytes: [UInt8]) -> (width: Int, height: Int)? { VP8Descriptor.keyFrameSize(bytes.span.bytes) }

extension RTPHeader {
    init(bytes: some Sequence<UInt8>) throws(WireError) {
        let copy = Array(bytes)
        try self.init(parsing: copy.span.bytes)
    }
}

extension VP8Descriptor {
    init(bytes: some Sequence<UInt8>) throws(WireError) {
        let copy = Array(bytes)
        try self.init(parsing: copy.span.bytes)
    }
}

extension VP9Descriptor {
    init(bytes: some Sequence<UInt8>) throws(WireError) {
        let copy = Array(bytes)
        try self.init(parsing: copy.span.bytes)
    }
}

extension DCEPMessage {
    init(bytes: some Sequence<UInt8>) throws(WireError) {
        let copy = Array(bytes)
        try self.init(parsing: copy.span.bytes)
    }
}
