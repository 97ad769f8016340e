/// A file that was uploaded to the session, to be passed to a command as a named parameter.
public struct FileRef: Sendable, Hashable, Codable {
    /// The platform's id of the upload.
    public let uploadID: String
    /// File name, as given at the upload.
    public let name: String
    /// MIME type, such as `image/png`.
    public let mimeType: String
    /// Size in bytes.
    public let size: Int

    /// Names a file by what the upload returned.
    public init(uploadID: String, name: String, mimeType: String, size: Int) {
        self.uploadID = uploadID
        self.name = name
        self.mimeType = mimeType
        self.size = size
    }

    /// The wire spelling.
    private enum CodingKeys: String, CodingKey {
        case uploadID = "upload_id"
        case name
        case mimeType = "mime_type"
        case size
    }

    /// Reads the wire spelling; unknown members are ignored.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        uploadID = try container.decode(String.self, forKey: .uploadID)
        name = try container.decode(String.self, forKey: .name)
        mimeType = try container.decode(String.self, forKey: .mimeType)
        size = try container.decode(Int.self, forKey: .size)
    }

    /// Writes the wire spelling.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(uploadID, forKey: .uploadID)
        try container.encode(name, forKey: .name)
        try container.encode(mimeType, forKey: .mimeType)
        try container.encode(size, forKey: .size)
    }
}
