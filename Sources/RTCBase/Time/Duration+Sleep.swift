extension Duration {
    /// The same as a length that can be slept: not negative, and not so long that a clock's arithmetic traps on it.
    package var forSleep: Duration { min(max(.zero, self), Self.longestSleep) }

    /// A hundred years: what is longer never ends anyway.
    private static var longestSleep: Duration { .seconds(100 * 365 * 86_400) }
}
