// Payload messages both channels carry (wire-protocol 5.4). Each reads its own fields and writes them back.

/// `Error{1 code, 2 message}`: a refused command or control request.
package struct ErrorMessage: Hashable, Sendable {
    package var code: String
    package var message: String

    package init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    init(reading reader: inout ProtobufReader) throws(WireFormatError) {
        code = ""
        message = ""
        while let field = try reader.nextField() {
            switch (field.number, field.wireType) {
            case (1, .lengthDelimited): code = try reader.readString()
            case (2, .lengthDelimited): message = try reader.readString()
            default: try reader.skip(field)
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.write(code, field: 1)
        writer.write(message, field: 2)
    }
}

/// `UploadReference` and `FileUploaded`: the same four fields.
package struct UploadReference: Hashable, Sendable {
    package var uploadID: String
    package var name: String
    package var mimeType: String
    package var size: Int64

    package init(uploadID: String, name: String, mimeType: String, size: Int64) {
        self.uploadID = uploadID
        self.name = name
        self.mimeType = mimeType
        self.size = size
    }

    init(reading reader: inout ProtobufReader) throws(WireFormatError) {
        self.init(uploadID: "", name: "", mimeType: "", size: 0)
        while let field = try reader.nextField() {
            switch (field.number, field.wireType) {
            case (1, .lengthDelimited): uploadID = try reader.readString()
            case (2, .lengthDelimited): name = try reader.readString()
            case (3, .lengthDelimited): mimeType = try reader.readString()
            case (4, .varint): size = Int64(bitPattern: try reader.readVarint())
            default: try reader.skip(field)
            }
        }
    }

    func write(to writer: inout ProtobufWriter) {
        writer.write(uploadID, field: 1)
        writer.write(name, field: 2)
        writer.write(mimeType, field: 3)
        writer.write(size, field: 4)
    }
}

/// `Command{1 type, 2 data Struct, 3 map uploads}`.
package struct Command: Hashable, Sendable {
    package var type: String
    package var data: [String: WireValue]
    package var uploads: [String: UploadReference]

    /// - Throws: `CoreError` with code DECODE_FAILED when `data` is neither an object nor null, or cannot be sent (PB-01).
    package init(type: String, data: WireValue?, uploads: [String: UploadReference] = [:]) throws(CoreError) {
        self.type = type
        self.uploads = uploads
        switch data {
        case nil, .null: self.data = [:]
        case .object(let members): self.data = members
        default: throw CoreError(.decodeFailed, "command data must be a JSON object", operation: .sendCommand)
        }
        do {
            try WireValue.object(self.data).validateForSending()
        } catch {
            throw CoreError(.decodeFailed, "data of command '\(type)' cannot be sent: \(error)", operation: .sendCommand)
        }
    }

    init(reading reader: inout ProtobufReader) throws(WireFormatError) {
        type = ""
        data = [:]
        uploads = [:]
        while let field = try reader.nextField() {
            switch (field.number, field.wireType) {
            case (1, .lengthDelimited): type = try reader.readString()
            case (2, .lengthDelimited):
                data =
                    try reader.readMessage { body throws(WireFormatError) in try WireValue.readStruct(&body) }.objectValue ?? [:]
            case (3, .lengthDelimited):
                try reader.countValue()
                let (key, value) = try reader.readMessage { entry throws(WireFormatError) in try Self.readUpload(&entry) }
                uploads[key] = value
            default: try reader.skip(field)
            }
        }
    }

    func write(to writer: inout ProtobufWriter) throws(WireFormatError) {
        writer.write(type, field: 1)
        try writer.writeMessage(field: 2) { body throws(WireFormatError) in try WireValue.writeStruct(data, to: &body) }
        for (key, upload) in uploads.sorted(by: { $0.key < $1.key }) {
            try writer.writeMessage(field: 3) { entry throws(WireFormatError) in
                entry.writeAlways(key, field: 1)
                try entry.writeMessage(field: 2) { body throws(WireFormatError) in upload.write(to: &body) }
            }
        }
    }

    private static func readUpload(_ entry: inout ProtobufReader) throws(WireFormatError) -> (String, UploadReference) {
        var key = ""
        var value = UploadReference(uploadID: "", name: "", mimeType: "", size: 0)
        while let part = try entry.nextField() {
            switch (part.number, part.wireType) {
            case (1, .lengthDelimited): key = try entry.readString()
            case (2, .lengthDelimited):
                value = try entry.readMessage { body throws(WireFormatError) in try UploadReference(reading: &body) }
            default: try entry.skip(part)
            }
        }
        return (key, value)
    }
}

/// `ModelMessage{1 type, 2 data Struct}`: an event of the model, or its answer to a command.
package struct ModelMessage: Hashable, Sendable {
    package var type: String
    /// An object, or null when the message carried no data.
    package var data: WireValue

    package init(type: String, data: WireValue) {
        self.type = type
        self.data = data
    }

    init(reading reader: inout ProtobufReader) throws(WireFormatError) {
        type = ""
        data = .null
        while let field = try reader.nextField() {
            switch (field.number, field.wireType) {
            case (1, .lengthDelimited): type = try reader.readString()
            case (2, .lengthDelimited):
                data = try reader.readMessage { body throws(WireFormatError) in try WireValue.readStruct(&body) }
            default: try reader.skip(field)
            }
        }
    }

    func write(to writer: inout ProtobufWriter) throws(WireFormatError) {
        writer.write(type, field: 1)
        if case .object(let members) = data {
            try writer.writeMessage(field: 2) { body throws(WireFormatError) in try WireValue.writeStruct(members, to: &body) }
        }
    }
}

/// A message whose only field is `1: string`: track names, reasons.
enum SingleString {
    static func read(_ reader: inout ProtobufReader) throws(WireFormatError) -> String {
        var value = ""
        while let field = try reader.nextField() {
            if field.number == 1, field.wireType == .lengthDelimited { value = try reader.readString() } else { try reader.skip(field) }
        }
        return value
    }

    /// Reads past the fields of a message we keep nothing of.
    static func skipAll(_ reader: inout ProtobufReader) throws(WireFormatError) {
        while let field = try reader.nextField() { try reader.skip(field) }
    }
}
