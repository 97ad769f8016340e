import PeerTestSupport
import Testing

/// The suite runs while no other one with this trait does, in whatever target.
struct NetworkTurnTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await NetworkTurn.run { try await function() }
    }
}

extension Trait where Self == NetworkTurnTrait {
    static var networkTurn: NetworkTurnTrait { NetworkTurnTrait() }
}
