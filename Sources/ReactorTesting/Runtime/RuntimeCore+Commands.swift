internal import Reactor
internal import ReactorCore

// Commands on their way through the model (wire-protocol 5.5, 8.3). Nothing of this runs on the network thread.
extension RuntimeCore {
    @concurrent
    nonisolated func carryOut(_ request: CommandQueue.Request, of key: ConnectionKey, in session: LocalSession) async {
        let answer = await outcome(of: request.command, in: session)
        await reply(answer, to: request.requestID, of: key)
    }

    private nonisolated func outcome(of command: Command, in session: LocalSession) async -> ServerMessage.Content {
        let arguments: [String: WireValue]
        do throws(CommandContract.Violation) {
            arguments = try contract.check(command)
        } catch {
            return Self.error("invalid_command", error.message)
        }
        for id in CommandContract.uploadIDs(in: arguments) {
            guard await uploads.bytes(of: id, within: settings.uploadTimeout) != nil else {
                return Self.error("unresolved_upload", "the bytes of upload '\(id)' did not arrive")
            }
        }
        do {
            guard let reply = try await model.handle(command.type, JSONValue(.object(arguments)), in: session) else {
                return .acknowledgement
            }
            let data = (reply.data ?? .null).wireValue
            guard data.isNull || data.objectValue != nil else {
                return Self.error("internal_error", "the model's reply is not a JSON object")
            }
            try data.validateForSending()
            return .model(ModelMessage(type: reply.type ?? command.type, data: data))
        } catch let error as LocalCommandError {
            return Self.error(error.code, error.message)
        } catch {
            settings.log(.error, "a command's handler failed", ["command": command.type, "error": String(describing: error)])
            // What a handler throws is the model's own business; clients hear the vendor's words.
            return Self.error("internal_error", "The handler raised an unexpected error.")
        }
    }

    private nonisolated static func error(_ code: String, _ message: String) -> ServerMessage.Content {
        .error(ErrorMessage(code: code, message: message))
    }
}
