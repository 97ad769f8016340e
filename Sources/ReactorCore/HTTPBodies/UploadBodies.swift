/// Body of `POST /sessions/{id}/uploads` (wire-protocol 2.8).
package struct CreateUploadBody: Sendable {
    package var name: String
    package var sizeBytes: Int
    package var mimeType: String

    package init(name: String, sizeBytes: Int, mimeType: String) {
        self.name = name
        self.sizeBytes = sizeBytes
        self.mimeType = mimeType
    }

    package func encode() throws(WireFormatError) -> [UInt8] {
        try JSONText.write(
            .object(["name": .string(name), "size": .number(Double(sizeBytes)), "mime_type": .string(mimeType)]))
    }
}

/// Answer of `POST /sessions/{id}/uploads`.
package struct CreateUploadResponse: Hashable, Sendable {
    package var uploadID: String
    /// Where the bytes go. The URL carries its own permission, so it belongs in no log.
    package var presignedURL: String
    package var path: String?

    package init(parsing bytes: [UInt8]) throws(WireFormatError) {
        let body = try WireValue.parseBody(bytes)
        uploadID = try body.requiredString("presigned_id")
        presignedURL = try body.requiredString("presigned_url")
        path = try body.optionalString("path")
    }
}
