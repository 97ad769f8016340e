// swift-tools-version: 6.2
import PackageDescription

// Module graph: Proposals/0001-architecture.md. Imports point down only.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
]

/// `RawSpan` in a stored property needs lifetime annotations; only `RTCBase` (byte cursors) uses them.
let lifetimes: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]

let package = Package(
    name: "Reactor",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .visionOS(.v2)],
    products: [
        .library(name: "Reactor", targets: ["Reactor"]),
        .library(name: "ReactorTesting", targets: ["ReactorTesting"]),
        .executable(name: "reactor", targets: ["ReactorCLI"]),
        .executable(name: "reactor-simulate", targets: ["ReactorSimulate"]),
    ],
    targets: [
        // C libraries behind thin shims. GLib's include folders come from pkg-config; nothing else does,
        // because the other packages' flags make SwiftPM warn on every build.
        .systemLibrary(
            name: "SysGLib", pkgConfig: "gobject-2.0",
            providers: [.apt(["libnice-dev"]), .brew(["libnice"])]),
        .target(
            name: "CNice", dependencies: ["SysGLib"],
            linkerSettings: [
                .linkedLibrary("nice"), .linkedLibrary("gio-2.0"), .linkedLibrary("gobject-2.0"),
                .linkedLibrary("glib-2.0"),
            ]),
        .target(name: "CDTLS", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CSRTPCrypto", linkerSettings: [.linkedLibrary("crypto")]),
        .target(
            name: "CUsrSCTP", cSettings: [.define("INET"), .define("INET6")],
            linkerSettings: [.linkedLibrary("usrsctp")]),
        .target(name: "CVPX", linkerSettings: [.linkedLibrary("vpx")]),
        .target(name: "COpus", linkerSettings: [.linkedLibrary("opus")]),
        .target(name: "CSpeexDSP", linkerSettings: [.linkedLibrary("speexdsp")]),
        .target(name: "CYUV", linkerSettings: [.linkedLibrary("yuv")]),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CMicroHTTPD", linkerSettings: [.linkedLibrary("microhttpd")]),
        .target(name: "CLinux"),
        .target(name: "CPNG", linkerSettings: [.linkedLibrary("png")]),
        // Replaces malloc to count; for benchmarks and tests, never in a product.
        .target(name: "CAllocationCounter"),
        // What SRTP is compared with; for tests only.
        .target(name: "CLibSRTP", path: "Tests/CLibSRTP", linkerSettings: [.linkedLibrary("srtp2")]),

        .target(name: "RTCBase", swiftSettings: strict + lifetimes),
        .target(name: "RTCWire", dependencies: ["RTCBase"], swiftSettings: strict),
        .target(name: "RTCEngine", dependencies: ["RTCBase", "RTCWire"], swiftSettings: strict),
        .target(
            name: "RTCTransport",
            dependencies: ["RTCBase", "RTCWire", "CNice", "CDTLS", "CSRTPCrypto", "CUsrSCTP"],
            swiftSettings: strict),
        .target(name: "RTCCodec", dependencies: ["RTCBase", "CVPX", "COpus", "CSpeexDSP", "CYUV"], swiftSettings: strict),
        .target(
            name: "RTCPeer", dependencies: ["RTCBase", "RTCWire", "RTCEngine", "RTCTransport", "RTCCodec", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "RTCSimulation", dependencies: ["RTCBase", "RTCWire", "RTCEngine"], swiftSettings: strict),
        .target(name: "ReactorCore", swiftSettings: strict),
        .target(
            name: "Reactor", dependencies: ["ReactorCore", "RTCPeer", "RTCBase", "CCurl"], swiftSettings: strict),
        .target(
            name: "ReactorTesting",
            dependencies: [
                "Reactor", "ReactorCore", "RTCPeer", "RTCCodec", "RTCTransport", "RTCBase", "RTCSimulation", "CMicroHTTPD", "CPNG",
            ],
            swiftSettings: strict),
        .executableTarget(name: "ReactorCLI", dependencies: ["Reactor", "ReactorTesting", "CPNG"], swiftSettings: strict),
        // What an app writes, one file each; `swift run Examples` lists them.
        .executableTarget(name: "Examples", dependencies: ["Reactor", "ReactorTesting"], swiftSettings: strict),
        .executableTarget(name: "ReactorSimulate", dependencies: ["RTCSimulation", "RTCBase", "RTCEngine"], swiftSettings: strict),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "RTCBase", "RTCWire", "RTCEngine", "RTCTransport", "RTCCodec", "RTCPeer", "RTCSimulation", "ReactorCore",
                "CAllocationCounter",
            ],
            path: "Benchmarks", exclude: ["Baselines"], swiftSettings: strict),

        .target(
            name: "PeerTestSupport", dependencies: ["RTCBase", "RTCWire", "RTCEngine", "RTCTransport", "RTCCodec"],
            path: "Tests/PeerTestSupport", swiftSettings: strict),
        .testTarget(name: "RTCBaseTests", dependencies: ["RTCBase"], swiftSettings: strict),
        .testTarget(name: "RTCWireTests", dependencies: ["RTCWire", "RTCBase"], swiftSettings: strict),
        .testTarget(
            name: "RTCEngineTests",
            dependencies: ["RTCEngine", "RTCWire", "RTCBase", "RTCCodec", "RTCSimulation", "CAllocationCounter", "PeerTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "SimulationTests", dependencies: ["RTCSimulation", "RTCEngine", "RTCWire", "RTCBase"],
            swiftSettings: strict),
        .testTarget(
            name: "RTCTransportTests",
            dependencies: ["RTCTransport", "RTCWire", "RTCBase", "PeerTestSupport", "CSRTPCrypto", "CLibSRTP", "CAllocationCounter"],
            swiftSettings: strict),
        .testTarget(name: "RTCCodecTests", dependencies: ["RTCCodec", "RTCBase"], swiftSettings: strict),
        .testTarget(
            name: "RTCPeerTests",
            dependencies: [
                "RTCPeer", "RTCTransport", "RTCEngine", "RTCCodec", "RTCWire", "RTCBase", "PeerTestSupport", "RTCSimulation",
                "CAllocationCounter",
            ],
            swiftSettings: strict),
        .testTarget(name: "ReactorCoreTests", dependencies: ["ReactorCore"], swiftSettings: strict),
        .testTarget(
            name: "ReactorTests",
            dependencies: ["Reactor", "ReactorCore", "RTCPeer", "RTCBase", "PeerTestSupport", "CAllocationCounter"],
            swiftSettings: strict),
        .testTarget(
            name: "ReactorTestingTests",
            dependencies: ["ReactorTesting", "Reactor", "ReactorCore", "RTCPeer", "RTCCodec", "RTCBase", "PeerTestSupport"],
            swiftSettings: strict),
        // The contract's acceptance file, unchanged, as an app would compile it: it has to build.
        .testTarget(
            name: "SeedExamples", dependencies: ["Reactor"], path: "Tests/SeedExamples",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
        .testTarget(name: "ExampleTests", dependencies: ["Examples", "Reactor", "ReactorTesting"], swiftSettings: strict),
        .testTarget(name: "ReactorCLITests", dependencies: ["ReactorCLI"], swiftSettings: strict),
        .testTarget(
            name: "FuzzTests", dependencies: ["RTCWire", "RTCEngine", "RTCBase", "ReactorCore", "PeerTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "InteropTests", dependencies: ["Reactor", "ReactorTesting", "RTCPeer", "RTCBase"], path: "Tests/Interop",
            exclude: ["Peers", "first-light", "run"], swiftSettings: strict),
    ],
    cLanguageStandard: .gnu11
)

// The interop suite is a release build, and the other tests take longer to build that way than it takes to run. While one module
// is worked on, REACTOR_TEST_TARGETS=ReactorTestingTests leaves out the others' tests.
let onlyTests =
    Context.environment["REACTOR_INTEROP"].map { _ in ["InteropTests"] }
    ?? Context.environment["REACTOR_TEST_TARGETS"]?.split(separator: ",").map(String.init)
if let onlyTests {
    package.targets.removeAll { $0.type == .test && !onlyTests.contains($0.name) }
}
