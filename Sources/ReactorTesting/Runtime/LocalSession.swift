/// One running session of a ``LocalRuntime``, as its model sees it.
public actor LocalSession {
    /// The id in the runtime's URLs; all local sessions have the same.
    public nonisolated let id: String

    init(id: String) { self.id = id }
}
