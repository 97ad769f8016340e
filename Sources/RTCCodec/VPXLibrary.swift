internal import CVPX

/// The libvpx of this process.
package enum VPXLibrary {
    /// It has the interface this package was compiled for.
    package static var isCompatible: Bool { cvpx_is_compatible() != 0 }
}
