extension UploadStore.Upload {
    /// The last part of a path, without control characters, separators and leading dots, at most 255 bytes.
    static func safeName(_ name: String) -> String {
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        var safe = ""
        for scalar in last.unicodeScalars {
            let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.properties.isBidiControl
            let kept: Unicode.Scalar = isControl || "?#%*:|\"<>".unicodeScalars.contains(scalar) ? "_" : scalar
            if safe.isEmpty, kept == "." || kept == " " { continue }
            guard safe.utf8.count + String(kept).utf8.count <= 255 else { break }
            safe.unicodeScalars.append(kept)
        }
        return safe.isEmpty ? "upload" : safe
    }
}
