import Testing

@testable import ReactorCore

@Suite struct URLReferenceTests {
    private func resolve(_ reference: String, at base: String = "http://a/b/c/d;p?q") throws -> String {
        try #require(URLReference(base)).resolving(try #require(URLReference(reference))).text
    }

    /// RFC 3986 §5.4, without the fragments.
    private static let examples = [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"), ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"),
        ("../..", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("https://x/y?z", "https://x/y?z"), ("g#s", "http://a/b/c/g"),
    ]

    @Test("RFC 3986 §5.4 the examples of the standard", arguments: examples)
    func standard(_ reference: String, _ result: String) throws { #expect(try resolve(reference) == result) }

    @Test("§2.9 an absolute path below the playlist's host, and a path relative to an empty one")
    func clips() throws {
        #expect(
            try resolve("/clips/chunks/r/init.mp4", at: "http://127.0.0.1:8080/clips?session_id=r&start=1.3&end=4.3")
                == "http://127.0.0.1:8080/clips/chunks/r/init.mp4")
        #expect(try resolve("init.mp4", at: "https://h") == "https://h/init.mp4")
    }

    @Test("an origin is scheme, host and port, the host in any case and the port by default")
    func origin() throws {
        #expect(URLReference("HTTPS://Host.example/x")?.origin == .init(scheme: "https", host: "host.example", port: 443))
        #expect(URLReference("https://host.example:443")?.origin == URLReference("https://HOST.example/")?.origin)
        #expect(URLReference("http://[::1]:8080/x")?.origin == .init(scheme: "http", host: "[::1]", port: 8080))
        #expect(URLReference("http://[::1]/x")?.origin == .init(scheme: "http", host: "[::1]", port: 80))
        #expect(URLReference("http://host:81")?.origin != URLReference("http://host:80")?.origin)
        #expect(URLReference("http://host")?.origin != URLReference("https://host:80")?.origin)
    }

    @Test(
        "what cannot be fetched has no origin",
        arguments: ["ftp://h/x", "file:///etc/passwd", "//h/x", "/x", "http:///x", "http://u:p@h/x", "http://h:0/", "http://h:99999/", "x"])
    func unfetchable(_ text: String) { #expect(URLReference(text)?.isFetchable == false) }

    @Test("control characters and spaces are refused, other characters are encoded")
    func characters() {
        #expect(URLReference("http://h/a b") == nil)
        #expect(URLReference("http://h/a\r\nX: y") == nil)
        #expect(URLReference("http://h/" + String(repeating: "a", count: 20_000)) == nil)
        #expect(URLReference("http://h/ä")?.text == "http://h/%C3%A4")
    }
}
