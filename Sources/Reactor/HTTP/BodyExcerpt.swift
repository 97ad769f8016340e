/// What of an error body may stand in a message: at most 512 bytes, one line, and nothing that looks like a credential.
enum BodyExcerpt {
    /// - Parameter secrets: credentials the request carried, in case the server echoes them.
    static func text(of body: [UInt8], secrets: [String] = []) -> String {
        // Redacting before cutting, so that half a token cannot slip through; the window bounds the work.
        var text = String(decoding: body.prefix(8 * maxBytes), as: UTF8.self)
        for secret in secrets where secret.utf8.count >= 4 { text = text.replacing(secret, with: mark) }
        text = redacted(text)
        var excerpt = ""
        for character in text {
            if excerpt.utf8.count + character.utf8.count > maxBytes { break }
            excerpt.append(
                character.isNewline || character.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } ? " " : character)
        }
        return excerpt
    }

    /// Replaces JSON web tokens, `rk_` keys, what follows an authentication scheme, and values of credential members.
    private static func redacted(_ text: String) -> String {
        var out = ""
        var word = ""
        /// The last word, and what stood between it and the word being read.
        var before = ""
        var gap = ""
        func flush() {
            guard !word.isEmpty else { return }
            out += isSecret(word, after: before, gap: gap) ? mark : word
            before = word.lowercased()
            gap = ""
            word = ""
        }
        for character in text {
            if character.isASCII, character.isLetter || character.isNumber || "._~+/=-".contains(character) {
                word.append(character)
            } else {
                flush()
                out.append(character)
                gap.append(character)
            }
        }
        flush()
        return out
    }

    private static func isSecret(_ word: String, after name: String, gap: String) -> Bool {
        if word.hasPrefix("eyJ"), word.utf8.count >= 16 { return true }
        if word.hasPrefix("rk_") || word.hasPrefix("sk_") { return true }
        if name == "bearer" || name == "basic", gap == " ", word.utf8.count >= 16 { return true }
        let quoted = gap.filter { $0 != " " } == "\":\""
        return quoted && credentialNames.contains(name)
    }

    private static let credentialNames: Set<String> = [
        "jwt", "token", "access_token", "refresh_token", "password", "credential", "secret", "api_key", "apikey", "authorization",
        "reactor-api-key",
    ]
    private static let mark = "[redacted]"
    private static let maxBytes = 512
}
