import Foundation
import PeerTestSupport
import Reactor
import ReactorCore
import Synchronization

@testable import ReactorTesting

/// A runtime that is stopped in any case.
func withRuntime(
    _ model: some LocalModel, network: NetworkConditions = .perfect, _ configure: (inout LocalRuntime.Configuration) -> Void = { _ in },
    _ body: (LocalRuntime) async throws -> Void
) async throws {
    var configuration = LocalRuntime.Configuration()
    configure(&configuration)
    let runtime = try await LocalRuntime(model: model, network: network, configuration: configuration)
    do { try await body(runtime) } catch {
        await runtime.stop()
        throw error
    }
    await runtime.stop()
}

/// A runtime below HTTP with a session, shut down in any case.
func withCore(
    _ model: TestModel = TestModel(), _ configure: (inout RuntimeSettings) -> Void = { _ in },
    _ body: (RuntimeCore) async throws -> Void
) async throws {
    var settings = RuntimeSettings()
    configure(&settings)
    let core = RuntimeCore(model: model, settings: settings)
    _ = try await core.startSession(sessionID: nil)
    do { try await body(core) } catch {
        await core.shutDown()
        throw error
    }
    await core.shutDown()
}

/// The state as `GET /session` tells it.
func state(_ core: RuntimeCore) async -> String { await core.descriptor()["state"]?.stringValue ?? "" }

extension LocalRuntime {
    func connectedClient() async throws -> Reactor {
        let client = try Reactor(model: "test", runtime: self)
        try await client.connect()
        return client
    }

    var session: LocalSession {
        get async throws {
            guard let session = await sessions.first else { throw CancellationError() }
            return session
        }
    }

    /// The state as `GET /session` tells it.
    var state: String { get async { await core.descriptor()["state"]?.stringValue ?? "" } }
}

/// What a client's handlers saw.
final class ClientLog: Sendable {
    let entries = Mutex<[String]>([])
    private let subscriptions: Mutex<[Subscription]> = Mutex([])

    init(_ client: Reactor) {
        let made = [
            client.onMessage { [weak self] in self?.add($0.jsonText) },
            client.onRuntimeMessage { [weak self] in self?.add($0.jsonText) },
            client.onStatus { [weak self] in self?.add($0.rawValue) },
        ]
        subscriptions.withLock { $0 = made }
    }

    private func add(_ text: String) { entries.withLock { $0.append(text) } }
    var all: [String] { entries.withLock { $0 } }
    func contains(_ text: String) async -> Bool { await eventually { self.all.contains { $0.contains(text) } } }
}

/// Pictures of one grey value.
func greyFrame(_ grey: UInt8, width: UInt32 = 64, height: UInt32 = 48, userData: Data? = nil, captureTimeUs: Int64? = nil)
    -> OutgoingVideoFrame
{
    OutgoingVideoFrame(
        pixels: Data(repeating: grey, count: Int(width * height) * 4), width: width, height: height, userData: userData,
        captureTimeUs: captureTimeUs)
}

extension VideoFrame {
    /// Of the picture's middle.
    var grey: Int { Int(pixels[pixels.startIndex + (Int(height) / 2 * Int(width) + Int(width) / 2) * 4]) }
}

/// Pushes pictures at 50 a second, of a grey that a test may change, until it is cancelled.
final class GreySource: Sendable {
    let grey = Mutex<UInt8>(60)

    @Sendable func run(_ session: LocalSession) async throws {
        while true {
            try await session.pushVideo(greyFrame(grey.withLock { $0 }), to: "main_video")
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

extension AsyncSequence where Failure == Never {
    /// The first element like that, or nil after a time that is long in any case.
    @concurrent
    func first(within limit: Duration, _ condition: @escaping @Sendable (Element) -> Bool) async -> Element?
    where Element: Sendable, Self: Sendable {
        await withTaskGroup(of: Element?.self) { group in
            group.addTask { await self.first { condition($0) } }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}

/// Elements from any thread.
final class SharedList<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    func append(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }
}
