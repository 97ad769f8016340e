/// Body of `POST /sessions` (wire-protocol 2.3). The model name goes out as the caller gave it: the server resolves bare names.
package struct CreateSessionBody: Sendable {
    package var modelName: String
    package var modelVersion: String?
    package var extraArguments: WireValue?
    package var clientInfo: ClientInfo

    package init(modelName: String, modelVersion: String? = nil, extraArguments: WireValue? = nil, clientInfo: ClientInfo) {
        self.modelName = modelName
        self.modelVersion = modelVersion
        self.extraArguments = extraArguments
        self.clientInfo = clientInfo
    }

    package func encode() throws(WireFormatError) -> [UInt8] {
        var model: [String: WireValue] = ["name": .string(modelName)]
        if let modelVersion { model["version"] = .string(modelVersion) }
        var body: [String: WireValue] = [
            "model": .object(model),
            "client_info": clientInfo.wireValue,
            "supported_transports": .list([.object(["protocol": "webrtc", "version": "1.0"])]),
        ]
        if let extraArguments { body["extra_args"] = extraArguments }
        return try JSONText.write(.object(body))
    }
}

/// Body of the local `POST /start_session` (wire-protocol 3.1): `{}` unless there are extra arguments.
package struct StartSessionBody: Sendable {
    package var extraArguments: WireValue?

    package init(extraArguments: WireValue? = nil) { self.extraArguments = extraArguments }

    package func encode() throws(WireFormatError) -> [UInt8] {
        var body: [String: WireValue] = [:]
        if let extraArguments { body["extra_args"] = extraArguments }
        return try JSONText.write(.object(body))
    }
}

extension WireValue: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
}
