import Foundation
import ReactorCore
import Testing

@testable import Reactor

@Suite("ReactorError")
struct ReactorErrorTests {
    @Test("R-72 an error matches by code, by recoverable and by pattern")
    func matching() {
        func caught(_ error: any Error) -> String {
            do {
                throw error
            } catch ReactorError.unauthorized {
                return "unauthorized"
            } catch ReactorError.aborted {
                return "aborted"
            } catch let error as ReactorError where error.recoverable {
                return "recoverable"
            } catch {
                return "other"
            }
        }
        #expect(caught(ReactorError(.unauthorized, "x")) == "unauthorized")
        #expect(caught(ReactorError(.aborted, "x")) == "aborted")
        #expect(caught(CancellationError()) == "aborted")
        #expect(caught(ReactorError(.networkError, "x")) == "recoverable")
        #expect(caught(ReactorError(.notFound, "x")) == "other")
        #expect(caught(HTTPError(.timedOut, "x")) == "other")
    }

    @Test("B5 recoverable follows from the code: exactly these six")
    func recoverable() {
        let codes: [ReactorError.Code] = [
            .invalidState, .disconnected, .networkError, .requestTimeout, .transportError, .unauthorized, .notFound, .conflict,
            .rateLimited, .badRequest, .serverError, .versionMismatch, .decodeFailed, .sessionTerminal, .messageTooLarge, .aborted,
            .recorderDisabled, .internalError, .invalidCommand, .unresolvedUpload, .publishRefused, .handlerFailed,
            .generationModeMismatch, .dataChannelChunkingRequired, .unsupportedFrameEncoding, .stepRefused, .stepNotReady,
            .stepResultTooLarge, .stepCommandFailed, .stepSessionEnded,
        ]
        #expect(codes.allSatisfy { $0.isKnown })
        #expect(Set(codes).count == 30)
        let recoverable = codes.filter { ReactorError($0, "x").recoverable }
        #expect(recoverable == [.disconnected, .networkError, .requestTimeout, .transportError, .rateLimited, .serverError])
    }

    @Test("B5 an unknown code keeps its text, an empty one becomes INTERNAL_ERROR")
    func openCodes() throws {
        let code = ReactorError.Code(rawValue: "model_says_no")
        #expect(!code.isKnown && code.description == "model_says_no" && !ReactorError(code, "x").recoverable)
        #expect(ReactorError.Code(rawValue: "") == .internalError)
        // Two codes that differ in case only.
        #expect(ReactorError.Code.internalError != .handlerFailed)
        #expect(String(decoding: try JSONEncoder().encode([ReactorError.Code.conflict]), as: UTF8.self) == "[\"CONFLICT\"]")
    }

    @Test("B2 the description names code, message, operation and status")
    func description() {
        let error = ReactorError(code: .rateLimited, message: "slow down", status: 429, operation: "connect")
        #expect(error.description == "RATE_LIMITED: slow down (operation: connect, status: 429)")
        #expect(ReactorError(.disconnected, "gone").description == "DISCONNECTED: gone")
        #expect(error.localizedDescription == "slow down")
    }

    @Test("B4 durations and dates, whatever the numbers are")
    func derived() {
        #expect(ReactorError(code: .rateLimited, message: "", retryAfterMS: 1500).retryAfter == .milliseconds(1500))
        for number in [-1, .nan, .infinity, 1e300] as [Double] {
            #expect(ReactorError(code: .rateLimited, message: "", retryAfterMS: number).retryAfter == nil)
        }
        #expect(ReactorError(code: .disconnected, message: "", timestampMS: 1000).timestamp == Date(timeIntervalSince1970: 1))
        #expect(ReactorError(.disconnected, "x").stamped(timestampMS: 5).timestampMS == 5)
    }

    @Test("what comes from the far end or the network says what to do, once, and keeps it over conversions")
    func advice() {
        let codes: [ReactorError.Code] = [
            .unauthorized, .rateLimited, .serverError, .versionMismatch, .networkError, .disconnected, .requestTimeout, .sessionTerminal,
            .recorderDisabled, .invalidCommand, .unresolvedUpload, .publishRefused, .handlerFailed,
        ]
        for code in codes {
            let core = CoreError(ErrorCode(rawValue: code.rawValue), "words", operation: .connect)
            let error = ReactorError(core)
            #expect(error.message.hasPrefix("words; ") && error.message.count > 20, "\(error)")
            let again = ReactorError(CoreError(core.code, error.message, operation: .connect))
            #expect(again.message == error.message)
        }
        for status in [400, 401, 403, 404, 409, 410, 422, 426, 429, 500, 501, 503] {
            let error = ReactorError(CoreError.http(status: status, context: .iceServers, body: [], operation: .connect))
            #expect(error.message.count > "unexpected HTTP status 400 from ice servers: ; ".count)
        }
        // Local refusals are their own advice.
        #expect(ReactorError(CoreError(.invalidState, "call publish() first", operation: .publishTrack)).message == "call publish() first")
    }

    @Test("a core error keeps all it knows")
    func fromCore() {
        let error = ReactorError(
            CoreError.http(status: 429, context: .createSession, body: Array("busy".utf8), retryAfter: "3", operation: .connect))
        #expect(error.code == .rateLimited && error.status == 429 && error.retryAfterMS == 3000 && error.recoverable)
        #expect(error.operation == "connect" && error.message.hasPrefix("unexpected HTTP status 429 from create session: busy; wait"))
        #expect(ReactorError(CoreError(ErrorCode(rawValue: "odd"), "m", recoverable: true)).recoverable)
    }
}
