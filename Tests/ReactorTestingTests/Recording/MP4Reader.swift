/// Reads boxes back, for the tests of what writes them. Traps on what is no box.
struct MP4Box {
    var type: String
    /// What is in the box, behind its size and type.
    var body: ArraySlice<UInt8>
    /// Where the box begins in the file.
    var start: Int

    static func parse(_ bytes: ArraySlice<UInt8>) -> [MP4Box]? {
        var boxes: [MP4Box] = []
        var rest = bytes
        while !rest.isEmpty {
            guard rest.count >= 8 else { return nil }
            let size = Int(number(rest.prefix(4)))
            guard size >= 8, size <= rest.count else { return nil }
            let type = String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)
            boxes.append(MP4Box(type: type, body: rest.prefix(size).dropFirst(8), start: rest.startIndex))
            rest = rest.dropFirst(size)
        }
        return boxes
    }

    static func parse(_ bytes: [UInt8]) -> [MP4Box]? { parse(bytes[...]) }

    var size: Int { body.count + 8 }

    /// Boxes within, behind `offset` bytes of fields.
    func boxes(behind offset: Int = 0) -> [MP4Box] { Self.parse(body.dropFirst(offset)) ?? [] }

    /// The first box along a path of types.
    func at(_ path: String...) -> MP4Box? {
        var box: MP4Box? = self
        for type in path {
            let offset = ["stsd": 8, "dref": 8, "vp09": 78, "Opus": 28][box?.type ?? ""] ?? 0
            box = box?.boxes(behind: offset).first { $0.type == type }
        }
        return box
    }

    func uint(_ offset: Int, bytes count: Int = 4) -> UInt64 { Self.number(body.dropFirst(offset).prefix(count)) }

    static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// The samples of one track in one media segment.
struct MP4Fragment {
    struct Sample: Hashable {
        var bytes: [UInt8]
        var duration: UInt64
        var isSync: Bool
    }

    var track: UInt64
    var decodeTime: UInt64
    var samples: [Sample]
    var tfhdFlags: UInt64
    var tfdtVersion: UInt64

    var end: UInt64 { samples.reduce(decodeTime) { $0 + $1.duration } }

    static func parse(_ segment: [UInt8]) -> [MP4Fragment] {
        guard let moof = MP4Box.parse(segment)?.first(where: { $0.type == "moof" }) else { return [] }
        return moof.boxes().filter { $0.type == "traf" }.compactMap { traf in
            guard let tfhd = traf.at("tfhd"), let tfdt = traf.at("tfdt"), let trun = traf.at("trun") else { return nil }
            var fragment = MP4Fragment(
                track: tfhd.uint(4), decodeTime: tfdt.uint(4, bytes: 8), samples: [], tfhdFlags: tfhd.uint(0) & 0xff_ffff,
                tfdtVersion: tfdt.uint(0) >> 24)
            let flags = trun.uint(0) & 0xff_ffff
            var field = 8
            func next() -> UInt64 {
                defer { field += 4 }
                return trun.uint(field)
            }
            var offset = moof.start + Int(next())
            let firstFlags = flags & 4 != 0 ? next() : nil
            for index in 0..<trun.uint(4) {
                let duration = flags & 0x100 != 0 ? next() : tfhd.uint(8)
                let size = Int(flags & 0x200 != 0 ? next() : tfhd.uint(12))
                var sampleFlags = flags & 0x400 != 0 ? next() : tfhd.uint(16)
                if index == 0, let firstFlags { sampleFlags = firstFlags }
                guard offset + size <= segment.count else { return nil }
                fragment.samples.append(
                    Sample(bytes: Array(segment[offset..<(offset + size)]), duration: duration, isSync: sampleFlags & 0x1_0000 == 0))
                offset += size
            }
            return fragment
        }
    }
}
