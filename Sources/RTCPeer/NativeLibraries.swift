internal import RTCCodec
internal import RTCTransport

/// The C libraries below this package, which are loaded when the process starts.
package enum NativeLibraries {
    /// The names of those that are of another version than the package was compiled for; empty on a sound installation. Looked at
    /// once.
    package static let mismatched: [String] = {
        [("OpenSSL", DTLSLibrary.isCompatible), ("libvpx", VPXLibrary.isCompatible)].filter { !$0.1 }.map(\.0)
    }()
}
