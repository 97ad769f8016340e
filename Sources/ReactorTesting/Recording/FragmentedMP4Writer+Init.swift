// The init segment: `ftyp` and a `moov` that describes the tracks and has no samples.

extension FragmentedMP4Writer {
    func initSegment() -> [UInt8] {
        var writer = MP4BoxWriter()
        writer.box("ftyp") { writer in
            writer.writeType("iso5")
            writer.write(UInt32(0x200))
            for brand: StaticString in ["iso5", "iso6", "mp41"] { writer.writeType(brand) }
        }
        writer.box("moov") { writer in
            writer.fullBox("mvhd") { writer in
                writer.writeZeros(8)  // creation and modification times: not told
                writer.write(UInt32(1000))
                writer.write(UInt32(0))  // the duration is that of the fragments
                writer.write(UInt32(0x0001_0000))  // rate 1
                writer.write(UInt16(0x0100))  // volume 1
                writer.writeZeros(10)
                Self.writeUnityMatrix(to: &writer)
                writer.writeZeros(24)
                writer.write(Self.soundID + 1)
            }
            if let video { Self.writeTrack(video, to: &writer) }
            if hasSound { Self.writeSoundTrack(to: &writer) }
            writer.box("mvex") { writer in
                for id in [video.map { _ in Self.videoID }, hasSound ? Self.soundID : nil].compactMap(\.self) {
                    writer.fullBox("trex") { writer in
                        writer.write(id)
                        writer.write(UInt32(1))  // sample description
                        writer.writeZeros(12)
                    }
                }
            }
        }
        return writer.bytes
    }

    private static func writeTrack(_ video: VideoTrack, to writer: inout MP4BoxWriter) {
        writer.box("trak") { writer in
            writeTrackHeader(id: videoID, volume: 0, width: video.width, height: video.height, to: &writer)
            writeMedia(timescale: videoTimescale, handler: "vide", name: "VideoHandler", to: &writer) { writer in
                writer.fullBox("vmhd", flags: 1) { $0.writeZeros(8) }
            } entry: { writer in
                writer.box("vp09") { writer in
                    writer.writeZeros(6)
                    writer.write(UInt16(1))  // data reference
                    writer.writeZeros(16)
                    writer.write(UInt16(truncatingIfNeeded: video.width))
                    writer.write(UInt16(truncatingIfNeeded: video.height))
                    writer.write(UInt32(0x0048_0000))  // 72 dpi
                    writer.write(UInt32(0x0048_0000))
                    writer.write(UInt32(0))
                    writer.write(UInt16(1))  // pictures per sample
                    writer.writeZeros(32)  // compressor name
                    writer.write(UInt16(0x18))
                    writer.write(UInt16(0xffff))
                    writeVPConfiguration(video, to: &writer)
                }
            }
        }
    }

    /// Profile 0: eight bits, 4:2:0, in the colours that the engine converts to (BT.601, limited range).
    private static func writeVPConfiguration(_ video: VideoTrack, to writer: inout MP4BoxWriter) {
        writer.fullBox("vpcC", version: 1) { writer in
            writer.write(UInt8(0))
            writer.write(UInt8(level(of: video)))
            writer.write(UInt8(8 << 4 | 1 << 1))  // bits; 4:2:0 with chroma beside luma; limited range
            writer.write(UInt8(6))  // SMPTE 170M: primaries, transfer, matrix
            writer.write(UInt8(6))
            writer.write(UInt8(6))
            writer.write(UInt16(0))  // VP9 has no initialization data
        }
    }

    private static func writeSoundTrack(to writer: inout MP4BoxWriter) {
        writer.box("trak") { writer in
            writeTrackHeader(id: soundID, volume: 0x0100, width: 0, height: 0, to: &writer)
            writeMedia(timescale: soundTimescale, handler: "soun", name: "SoundHandler", to: &writer) { writer in
                writer.fullBox("smhd") { $0.writeZeros(4) }
            } entry: { writer in
                writer.box("Opus") { writer in
                    writer.writeZeros(6)
                    writer.write(UInt16(1))  // data reference
                    writer.writeZeros(8)
                    writer.write(UInt16(1))  // channels
                    writer.write(UInt16(16))
                    writer.write(UInt32(0))
                    writer.write(soundTimescale << 16)
                    writer.box("dOps") { writer in
                        writer.write(UInt8(0))  // version
                        writer.write(UInt8(1))  // channels
                        writer.write(UInt16(0))  // nothing to skip: the encoder's delay is taken off before (SoundEncoder)
                        writer.write(soundTimescale)
                        writer.write(Int16(0))  // gain
                        writer.write(UInt8(0))  // channel mapping: mono
                    }
                }
            }
        }
    }

    private static func writeTrackHeader(id: UInt32, volume: UInt16, width: Int, height: Int, to writer: inout MP4BoxWriter) {
        writer.fullBox("tkhd", flags: 3) { writer in  // enabled, in the movie
            writer.writeZeros(8)
            writer.write(id)
            writer.writeZeros(4 + 4 + 8 + 2 + 2)  // reserved, duration, reserved, layer, alternate group
            writer.write(volume)
            writer.write(UInt16(0))
            writeUnityMatrix(to: &writer)
            writer.write(UInt32(truncatingIfNeeded: width) << 16)
            writer.write(UInt32(truncatingIfNeeded: height) << 16)
        }
    }

    private static func writeMedia(
        timescale: UInt32, handler: StaticString, name: StaticString, to writer: inout MP4BoxWriter,
        header: (inout MP4BoxWriter) -> Void, entry: (inout MP4BoxWriter) -> Void
    ) {
        writer.box("mdia") { writer in
            writer.fullBox("mdhd") { writer in
                writer.writeZeros(8)
                writer.write(timescale)
                writer.write(UInt32(0))
                writer.write(UInt16(0x55c4))  // language: undetermined
                writer.write(UInt16(0))
            }
            writer.fullBox("hdlr") { writer in
                writer.write(UInt32(0))
                writer.writeType(handler)
                writer.writeZeros(12)
                writer.writeType(name)
                writer.write(UInt8(0))
            }
            writer.box("minf") { writer in
                header(&writer)
                writer.box("dinf") { writer in
                    writer.fullBox("dref") { writer in
                        writer.write(UInt32(1))
                        writer.fullBox("url ", flags: 1) { _ in }  // in this file
                    }
                }
                writer.box("stbl") { writer in
                    writer.fullBox("stsd") { writer in
                        writer.write(UInt32(1))
                        entry(&writer)
                    }
                    writer.fullBox("stts") { $0.write(UInt32(0)) }
                    writer.fullBox("stsc") { $0.write(UInt32(0)) }
                    writer.fullBox("stsz") { $0.writeZeros(8) }
                    writer.fullBox("stco") { $0.write(UInt32(0)) }
                }
            }
        }
    }

    private static func writeUnityMatrix(to writer: inout MP4BoxWriter) {
        for value: UInt32 in [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000] { writer.write(value) }
    }

    /// The lowest level whose limits hold the picture at 30 per second and the bitrate (VP9 bitstream specification, annex A).
    static func level(of video: VideoTrack) -> Int {
        let pixels = video.width * video.height
        let kilobits = video.bitsPerSecond / 1000
        return levels.first { pixels <= $0.pixels && pixels * 30 <= $0.pixelsPerSecond && kilobits <= $0.kilobits }?.number ?? 62
    }

    private static let levels: [(number: Int, pixels: Int, pixelsPerSecond: Int, kilobits: Int)] = [
        (10, 36_864, 829_440, 200), (11, 73_728, 2_764_800, 800), (20, 122_880, 4_608_000, 1_800),
        (21, 245_760, 9_216_000, 3_600), (30, 552_960, 20_736_000, 7_200), (31, 983_040, 36_864_000, 12_000),
        (40, 2_228_224, 83_558_400, 18_000), (41, 2_228_224, 160_432_128, 30_000), (50, 8_912_896, 311_951_360, 60_000),
        (51, 8_912_896, 588_251_136, 120_000),
    ]
}
