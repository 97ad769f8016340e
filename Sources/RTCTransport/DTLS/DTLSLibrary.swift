internal import CDTLS

/// The OpenSSL of this process.
package enum DTLSLibrary {
    /// It is of the version this package was compiled for.
    package static var isCompatible: Bool { cdtls_is_compatible() != 0 }
}
