/// Facts about this library.
public enum ReactorSDK {
    /// The version of this library, as sent to the server in `client_info`.
    public static let version: String = "0.1.0"
}
