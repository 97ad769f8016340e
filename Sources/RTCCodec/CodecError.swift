internal import COpus
internal import CSpeexDSP
internal import CVPX

/// Why a frame or packet could not be coded or decoded: what kind of trouble it is, and which C function said so.
package struct CodecError: Error, Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        /// The data is damaged or not of this codec. A video decoder then waits for a key frame.
        case corrupt
        /// Valid, but not something this module handles: a VP9 profile other than 0, anything but 8-bit 4:2:0.
        case unsupportedFormat
        /// The picture is over the limits of `VPXFrameHeader`, or does not fit the memory given.
        case tooLarge
        /// An inter frame while there is nothing to predict from: at the start and after an error.
        case needsKeyFrame
        /// The caller's arguments make no sense.
        case invalidArgument
        case outOfMemory
        /// The C library failed in another way.
        case library
    }

    package var kind: Kind
    /// The function that failed.
    package var function: String
    /// The C library's code, or 0 when the refusal is our own.
    package var code: Int32

    package init(_ kind: Kind, function: String, code: Int32 = 0) {
        self.kind = kind
        self.function = function
        self.code = code
    }
}

extension CodecError: CustomStringConvertible {
    package var description: String { "\(function): \(kind.rawValue)" + (code == 0 ? "" : " (code \(code))") }
}

extension CodecError {
    static func vpx(_ code: Int32, _ function: String) -> CodecError {
        let kind: Kind =
            switch Int(code) {
            case CVPX_OUT_OF_MEMORY: .outOfMemory
            case CVPX_UNSUPPORTED_FEATURE: .unsupportedFormat
            case CVPX_INVALID_PARAMETER: .invalidArgument
            case CVPX_PICTURE_TOO_LARGE: .tooLarge
            default: .library
            }
        return CodecError(kind, function: function, code: code)
    }

    /// An error that came out of decoding peer bytes: whatever the code is, the bytes are to blame, except for these.
    static func vpxDecoding(_ code: Int32, _ function: String) -> CodecError {
        let error = vpx(code, function)
        return switch error.kind {
        case .outOfMemory, .unsupportedFormat, .tooLarge: error
        default: CodecError(.corrupt, function: function, code: code)
        }
    }

    static func opus(_ code: Int32, _ function: String) -> CodecError {
        let kind: Kind =
            switch code {
            case OPUS_INVALID_PACKET: .corrupt
            case OPUS_BUFFER_TOO_SMALL: .tooLarge
            case OPUS_BAD_ARG: .invalidArgument
            case OPUS_ALLOC_FAIL: .outOfMemory
            default: .library
            }
        return CodecError(kind, function: function, code: code)
    }
    static func resampler(_ code: Int32, _ function: String) -> CodecError {
        let kind: Kind =
            switch Int(code) {
            case RESAMPLER_ERR_ALLOC_FAILED: .outOfMemory
            case RESAMPLER_ERR_INVALID_ARG: .invalidArgument
            default: .library
            }
        return CodecError(kind, function: function, code: code)
    }
}
