import Foundation
import Testing

@testable import Reactor

/// TLS against `openssl s_server` with a certificate nobody trusts.
@Suite("HTTP over TLS", .timeLimit(.minutes(1)), .enabled(if: OpenSSLServer.isAvailable, "needs the openssl command"))
struct HTTPTLSTests {
    @Test("R-10 a self-signed certificate is refused, and accepted when verification is off")
    func selfSigned() async throws {
        let server = try OpenSSLServer()
        defer { server.stop() }
        var request = HTTPRequest(.get, "https://127.0.0.1:\(server.port)/")
        do {
            _ = try await HTTPClient().send(request)
            Issue.record("a self-signed certificate was accepted")
        } catch let error as HTTPError {
            #expect(error.kind == .tlsFailed)
        }
        request.verifiesTLS = false
        #expect(try await HTTPClient().send(request).status == 200)
        // The accepted connection is not lent to a request that verifies.
        request.verifiesTLS = true
        await #expect(throws: HTTPError.self) { try await HTTPClient().send(request) }
    }

    @Test("R-10 local: true accepts a self-signed certificate and asks the local route; without it no request gets through")
    func localClient() async throws {
        let server = try OpenSSLServer()
        defer { server.stop() }
        let url = "https://127.0.0.1:\(server.port)"
        // What answers is no runtime: that it was understood as one that is none shows that the request went through.
        let local = try Reactor(model: "owner/model", apiURL: url, local: true)
        let answered = await failure { try await local.connect(sessionID: "00000000-0000-0000-0000-000000000000") }
        #expect(answered?.code == .decodeFailed)
        #expect(answered?.message.contains("get local session") == true, "\(String(describing: answered))")
        let hosted = try Reactor(model: "owner/model", jwt: "t", apiURL: url)
        #expect(await failure { try await hosted.connect(sessionID: "s-1") }?.code == .networkError)
    }

    @Test("https to a server that speaks plain HTTP is a TLS failure, not a hang")
    func plainServer() async throws {
        let server = try ScriptedServer(.reply(200))
        var request = HTTPRequest(.get, "https://127.0.0.1:\(server.port)/")
        request.totalTimeout = .seconds(5)
        do {
            _ = try await HTTPClient().send(request)
            Issue.record("no error")
        } catch let error as HTTPError {
            // The scripted server waits for a request line that never comes, or ends the connection.
            #expect(error.kind == .tlsFailed || error.kind == .timedOut)
        }
    }
}

private final class OpenSSLServer {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: path)
    private static let path = "/usr/bin/openssl"

    let port: UInt16
    private let process = Process()
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("reactor-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let key = folder.appendingPathComponent("key.pem").path
        let certificate = folder.appendingPathComponent("cert.pem").path
        let request = Process()
        request.executableURL = URL(fileURLWithPath: Self.path)
        request.arguments =
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
            + ["-subj", "/CN=127.0.0.1", "-keyout", key, "-out", certificate]
        request.standardError = FileHandle.nullDevice
        try request.run()
        request.waitUntilExit()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: Self.path)
        process.arguments = ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It prints "ACCEPT 127.0.0.1:<port>" when it listens.
        var text = ""
        var found: UInt16?
        while found == nil {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
            for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() where line.hasPrefix("ACCEPT ") {
                found = line.split(separator: ":").last.flatMap { UInt16($0) }
            }
        }
        port = found ?? 0
    }

    func stop() {
        // Not SIGTERM: the test runs on a thread with that signal blocked, and the child inherits the mask.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}
