package typealias DataClientMessage = Envelope<DataClientPayload>
package typealias DataServerMessage = Envelope<DataServerPayload>

/// What the client says on the data channel.
package enum DataClientPayload: EnvelopePayload {
    case command(Command)
    /// Stepped sessions are not in the API; tolerated.
    case requestStep
    case error(ErrorMessage)

    package static let fields: Set<Int> = [10, 11, 40]

    package var field: Int {
        switch self {
        case .command: 10
        case .requestStep: 11
        case .error: 40
        }
    }

    package init(reading reader: inout ProtobufReader, field: Int) throws(WireFormatError) {
        switch field {
        case 10: self = .command(try Command(reading: &reader))
        case 11:
            try SingleString.skipAll(&reader)
            self = .requestStep
        case 40: self = .error(try ErrorMessage(reading: &reader))
        default: throw .badTag
        }
    }

    package func write(to writer: inout ProtobufWriter) throws(WireFormatError) {
        switch self {
        case .command(let command): try command.write(to: &writer)
        case .requestStep: break
        case .error(let error): error.write(to: &writer)
        }
    }
}

/// What the model side says on the data channel.
package enum DataServerPayload: EnvelopePayload {
    case message(ModelMessage)
    /// Stepped sessions are not in the API; tolerated.
    case stepResult
    case error(ErrorMessage)

    package static let fields: Set<Int> = [10, 11, 40]

    package var field: Int {
        switch self {
        case .message: 10
        case .stepResult: 11
        case .error: 40
        }
    }

    package init(reading reader: inout ProtobufReader, field: Int) throws(WireFormatError) {
        switch field {
        case 10: self = .message(try ModelMessage(reading: &reader))
        case 11:
            try SingleString.skipAll(&reader)
            self = .stepResult
        case 40: self = .error(try ErrorMessage(reading: &reader))
        default: throw .badTag
        }
    }

    package func write(to writer: inout ProtobufWriter) throws(WireFormatError) {
        switch self {
        case .message(let message): try message.write(to: &writer)
        case .stepResult: break
        case .error(let error): error.write(to: &writer)
        }
    }
}
