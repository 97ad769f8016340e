internal import Foundation
internal import Reactor

/// Which server and model a command talks to: options first, then the environment.
struct Connection {
    let model: String?
    let url: String
    let isLocal: Bool
    let jwt: String?
    let apiKey: String?
    let sessionID: String?
    let isVerbose: Bool

    init(_ arguments: inout Arguments) throws {
        let environment = ProcessInfo.processInfo.environment
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

        let givenJWT = try arguments.takeOption("--jwt")
        apiKey = variable("REACTOR_API_KEY")
        sessionID = try arguments.takeOption("--session")
        isVerbose = arguments.takeFlag("--verbose")
        let wantsLocal = arguments.takeFlag("--local")
        let wantsHosted = arguments.takeFlag("--hosted")
        if wantsLocal && wantsHosted { throw UsageError("--local and --hosted exclude each other") }
        let givenURL = try arguments.takeOption("--url") ?? variable("REACTOR_API_URL")
        let variableLocal = ["1", "true", "yes", "on"].contains(variable("REACTOR_LOCAL")?.lowercased() ?? "")
        // A runtime on this machine speaks the local protocol; nobody should have to say so twice.
        isLocal = !wantsHosted && (wantsLocal || variableLocal || givenURL.map(Self.isLoopback) ?? false)
        // The variable's token is the hosted API's: a local runtime needs none, and gets only one that is meant for it.
        jwt = givenJWT ?? (isLocal ? nil : variable("REACTOR_JWT"))
        url = givenURL ?? (isLocal ? Reactor.localAPIURL : Reactor.defaultAPIURL)
        // A local runtime serves one model, whatever it is called.
        model = try arguments.takeOption("--model") ?? variable("REACTOR_MODEL") ?? (isLocal ? "local" : nil)
    }

    /// Made once the whole command line has been understood, so that a word that is not is reported first.
    func makeClient() async throws -> Reactor {
        guard let model else { throw UsageError("say which model: --model owner/name, or REACTOR_MODEL") }
        if !isLocal, jwt == nil, apiKey == nil {
            throw UsageError("the hosted API needs REACTOR_API_KEY or REACTOR_JWT; a local runtime needs --local")
        }
        var configuration = ReactorConfiguration()
        configuration.apiURL = url
        configuration.local = isLocal
        if isVerbose {
            var logger = ReactorLogger.standardError
            logger.minimumLevel = .debug
            configuration.logger = logger
        }
        if let jwt { return try Reactor(model: model, tokenProvider: StaticToken(jwt), configuration: configuration) }
        if let apiKey, !isLocal {
            let scope: TokenOptions = sessionID.map { TokenOptions(sessions: [$0]) } ?? TokenOptions(models: [model])
            let token = try await Reactor.fetchJWT(apiKey: apiKey, apiURL: url, options: scope)
            return try Reactor(model: model, tokenProvider: StaticToken(token), configuration: configuration)
        }
        return try Reactor(model: model, configuration: configuration)
    }

    private static func isLoopback(_ url: String) -> Bool {
        guard let host = URLComponents(string: url)?.host?.lowercased() else { return false }
        return host == "localhost" || host.hasPrefix("127.") || host == "::1" || host == "[::1]"
    }
}
