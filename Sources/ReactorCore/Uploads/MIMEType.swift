/// Types of files, for uploads whose caller does not say.
package enum MIMEType {
    /// From the extension of a file name; `application/octet-stream` when it says nothing (wire-protocol 2.8).
    package static func guess(fileName: String) -> String {
        guard let dot = fileName.lastIndex(of: ".") else { return unknown }
        return known[fileName[fileName.index(after: dot)...].lowercased()] ?? unknown
    }

    /// Whether it can stand in a header: visible ASCII with a slash inside.
    package static func isUsable(_ type: String) -> Bool {
        guard let slash = type.firstIndex(of: "/"), slash != type.startIndex, type.index(after: slash) != type.endIndex else {
            return false
        }
        return type.utf8.count <= 255 && type.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    package static let unknown = "application/octet-stream"

    /// IANA media types.
    private static let known = [
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "bmp": "image/bmp",
        "tif": "image/tiff", "tiff": "image/tiff", "heic": "image/heic", "avif": "image/avif", "svg": "image/svg+xml",
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "mkv": "video/x-matroska",
        "avi": "video/x-msvideo", "wav": "audio/wav", "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "ogg": "audio/ogg",
        "opus": "audio/ogg", "flac": "audio/flac", "txt": "text/plain", "md": "text/markdown", "csv": "text/csv", "html": "text/html",
        "json": "application/json", "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip",
        "tar": "application/x-tar", "glb": "model/gltf-binary", "gltf": "model/gltf+json", "obj": "model/obj",
    ]
}
