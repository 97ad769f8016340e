import Testing

@testable import Reactor

@Suite("API endpoint")
struct APIEndpointTests {
    @Test("R-9 the base is used as given, without its trailing slashes")
    func base() throws {
        #expect(try APIEndpoint(apiURL: "https://api.example/", local: false).url("/sessions") == "https://api.example/sessions")
        #expect(try APIEndpoint(apiURL: "http://h:8101/prefix//", local: true).url("/session") == "http://h:8101/prefix/session")
        #expect(try APIEndpoint(apiURL: "http://[::1]:8080", local: true).baseURL == "http://[::1]:8080")
    }

    @Test("R-11 local with the default URL means the local URL, an explicit other one wins")
    func localDefault() throws {
        #expect(try APIEndpoint(apiURL: Reactor.defaultAPIURL, local: true).baseURL == "http://localhost:8080")
        #expect(try APIEndpoint(apiURL: Reactor.defaultAPIURL + "/", local: true).baseURL == "http://localhost:8080")
        #expect(try APIEndpoint(apiURL: "http://127.0.0.1:8101", local: true).baseURL == "http://127.0.0.1:8101")
        #expect(try APIEndpoint(apiURL: Reactor.defaultAPIURL, local: false).baseURL == "https://api.reactor.inc")
    }

    @Test(
        "R-13 a malformed URL is refused",
        arguments: [
            "", " ", "api.example", "ftp://h", "http://", "https:///x", "http://user:secret@h", "http://h?x=1", "http://h#f", "http://h h",
            "http://h\r\nX: y", "file:///tmp",
        ])
    func malformed(_ url: String) {
        let error = #expect(throws: ReactorError.self) { try APIEndpoint(apiURL: url, local: false) }
        #expect(error?.code == .badRequest)
        #expect(error?.message.contains("secret") == false)
    }
}
