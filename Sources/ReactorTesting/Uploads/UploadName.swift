extension UploadStore.Upload {
    /// The last part of a path, without control characters, separators and leading dots, at most 255 bytes.
    static func safeName(_ name: String) -> String {
        // By scalars: a separator with a combining mark behind it is another Character, and the same byte to everybody else.
        let parts = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }
        var safe = ""
        for scalar in parts.last ?? Substring().unicodeScalars {
            let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.properties.isBidiControl
            let kept: Unicode.Scalar = isControl || "?#%*:|\"<>".unicodeScalars.contains(scalar) ? "_" : scalar
            if safe.isEmpty, kept == "." || kept == " " { continue }
            guard safe.utf8.count + String(kept).utf8.count <= 255 else { break }
            safe.unicodeScalars.append(kept)
        }
        return safe.isEmpty ? "upload" : safe
    }
}
