import Foundation
import Reactor
import Testing

@testable import ReactorTesting

/// A runtime with a model, and a connected client.
private func withClient(
    of model: some LocalModel, _ body: (Reactor) async throws -> Void
) async throws {
    let runtime = try await LocalRuntime(model: model)
    let reactor = try Reactor(model: model.name, runtime: runtime)
    do {
        try await reactor.connect()
        try await body(reactor)
    } catch {
        await runtime.stop()
        throw error
    }
    try await reactor.disconnect()
    await runtime.stop()
}

extension Picture {
    init(_ frame: VideoFrame) {
        self.init(width: Int(frame.width), height: Int(frame.height)) { _ in }
        frame.pixels.withUnsafeBytes { bytes in
            for place in pixels.indices { pixels[place] = bytes.loadUnaligned(fromByteOffset: place * 4, as: UInt32.self) }
        }
    }
}

/// Its user data is its capture time as text.
private func colourFrame(_ red: UInt8, _ green: UInt8, _ blue: UInt8) -> OutgoingVideoFrame {
    let time = Reactor.timeMicros()
    var pixels = Data(capacity: 160 * 96 * 4)
    for _ in 0..<160 * 96 { pixels.append(contentsOf: [blue, green, red, 255]) }
    return OutgoingVideoFrame(pixels: pixels, width: 160, height: 96, userData: Data(String(time).utf8), captureTimeUs: time)
}

@Suite("Stock models", .serialized)
struct StockModelTests {
    @Test("Demo: pictures carry their number in blocks and in user data, and sound comes with them")
    func demoStream() async throws {
        try await withClient(of: DemoModel(width: 160, height: 96, framesPerSecond: 15)) { reactor in
            let blocks = try reactor.track("main_audio").audioFrames
            var last = -1
            for try await frame in try reactor.track("main_video").videoFrames {
                let reading = try #require(BlockReading(Picture(frame)))
                let tag = try JSONValue(jsonText: String(decoding: frame.userData ?? Data(), as: UTF8.self))
                #expect(tag["n"]?.intValue == reading.counter && reading.counter > last)
                let milliseconds = Int(frame.captureTimeUs / 1000) & 0xFF_FFFF
                #expect(reading.clock == milliseconds)
                last = reading.counter
                if last > 4 { break }
            }
            let loud = await blocks.first { $0.samples.contains { abs(Int($0)) > 500 } }
            #expect(loud?.sampleRate == 48_000)
        }
    }

    @Test("Demo: a prompt changes the picture, with a reply and a message; the speed likewise")
    func demoCommands() async throws {
        try await withClient(of: DemoModel(prompt: "night", width: 160, height: 96, framesPerSecond: 15, showsCounter: false)) { reactor in
            let messages = reactor.messages
            let frames = try reactor.track("main_video").videoFrames
            _ = await frames.first { Picture($0).mean(0...0.4).blue < 100 }
            let reply = try await reactor.sendCommand("set_prompt", ["prompt": "a bright sunny day"])
            #expect(reply?.type == "prompt_set" && reply?.data?["prompt"] == "a bright sunny day")
            let changed = await messages.first { $0["type"] == "scene_changed" && $0["data"]?["daylight"] == "day" }
            #expect(changed?["data"]?["prompt"] == "a bright sunny day" && changed?["data"]?["palette"]?.arrayValue?.count == 6)
            #expect(await frames.first { Picture($0).mean(0...0.4).blue > 180 } != nil)
            let later = reactor.messages
            #expect(try await reactor.sendCommand("set_speed", ["speed": 2.5])?.data == ["speed": 2.5])
            #expect(await later.first { $0["type"] == "speed_changed" }?["data"] == ["speed": 2.5])
            for arguments: JSONValue in [["speed": 4.5], ["speed": -1], ["speed": "fast"]] {
                await #expect(throws: ReactorError.self) { try await reactor.sendCommand("set_speed", arguments) }
            }
            await #expect(throws: ReactorError.self) { try await reactor.sendCommand("set_prompt", [:]) }
        }
    }

    @Test("Demo: an uploaded picture becomes the sky; what is none is refused by name")
    func demoImage() async throws {
        try await withClient(of: DemoModel(prompt: "night", width: 160, height: 96, framesPerSecond: 15, showsCounter: false)) { reactor in
            let png = try #require(Data(base64Encoded: PartsTests.redSquare))
            let file = try await reactor.uploadData(png, name: "red.png", mimeType: "image/png")
            let reply = try await reactor.sendCommand("set_image", uploads: ["image": file])
            #expect(reply?.type == "image_set" && reply?.data == ["width": 8, "height": 8])
            let red = try await reactor.track("main_video").videoFrames.first { frame in
                let sky = Picture(frame).mean(0...0.3)
                return sky.red > 180 && sky.blue < 60
            }
            #expect(red != nil)
            let text = try await reactor.uploadData(Data("no picture".utf8), name: "a.txt", mimeType: "text/plain")
            let error = await #expect(throws: ReactorError.self) {
                try await reactor.sendCommand("set_image", uploads: ["image": text])
            }
            #expect(error?.message.contains("PNG") == true)
        }
    }

    @Test("Echo: a test card until video comes; then the same pictures with their user data and capture time, and the same tone")
    func echo() async throws {
        try await withClient(of: EchoModel()) { reactor in
            let frames = try reactor.track("main_video").videoFrames
            let card = try #require(await frames.first { _ in true })
            #expect(card.width == 640 && card.userData == nil)
            let (webcam, mic) = (try reactor.track("webcam"), try reactor.track("mic"))
            try await webcam.publish()
            try await mic.publish()
            let pushing = Task {
                var tone = BurstTone()
                while !Task.isCancelled {
                    try webcam.pushFrame(colourFrame(200, 40, 90))
                    try mic.pushFrame(tone.render(3_200, begins: false))
                    try await Task.sleep(for: .milliseconds(66))
                }
            }
            let returned = try #require(await frames.first { $0.userData != nil })
            #expect(returned.userData == Data(String(returned.captureTimeUs).utf8) && returned.width == 160)
            let mean = Picture(returned).mean(0...1)
            #expect(abs(mean.red - 200) < 12 && abs(mean.green - 40) < 12 && abs(mean.blue - 90) < 12)
            var heard: [Int16] = []
            for try await block in try reactor.track("main_audio").audioFrames {
                heard += block.samples
                if heard.count.isMultiple(of: 9_600), heard.count > 9_600,
                    abs(ProbeInputs.pitch(heard) - 440) <= 4
                {
                    break
                }
            }
            pushing.cancel()
            let reply = try await reactor.sendCommand("echo", ["any": ["thing", 1, true]])
            #expect(reply?.data == ["any": ["thing", 1, true]])
            await #expect(throws: ReactorError.self) { try await reactor.sendCommand("other", [:]) }
        }
    }

    @Test("Probe: commands reply as they should, and inputs are reported")
    func probe() async throws {
        try await withClient(of: ProbeModel(width: 160, height: 96, framesPerSecond: 15)) { reactor in
            let messages = reactor.messages
            let echo = try await reactor.sendCommand("echo", ["payload": "grüße"])
            #expect(echo?.type == "echo_reply" && echo?.data?["size"] == 5)
            #expect(try await reactor.sendCommand("set_prompt", ["prompt": "x"])?.data == ["prompt": "x", "count": 1])
            let planned = await #expect(throws: ReactorError.self) {
                try await reactor.sendCommand("fail", ["code": "my_code", "message": "so"])
            }
            #expect(planned?.message.contains("so") == true)
            let crash = await #expect(throws: ReactorError.self) { try await reactor.sendCommand("fail", ["code": "crash"]) }
            #expect(crash != planned)
            #expect(try await reactor.sendCommand("slow", ["seconds": 0.01])?.type == "slow_done")
            try await reactor.sendCommand("emit", ["count": 3, "size": 10])
            #expect(await messages.first { $0["type"] == "filler" && $0["data"]?["index"] == 2 }?["data"]?["payload"] == "xxxxxxxxxx")
            let file = try await reactor.uploadData(Data("abc".utf8), name: "abc.bin", mimeType: "application/octet-stream")
            let info = try await reactor.sendCommand("set_image", uploads: ["image": file])
            #expect(info?.data?["sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
            let video = try await reactor.sendCommand("set_video", ["width": 320, "height": 192, "fps": 15])
            #expect(video?.data == ["width": 320, "height": 192, "fps": 15, "source": "pattern"])
            let frame = try #require(await reactor.track("main_video").videoFrames.first { $0.width == 320 })
            #expect(BlockReading(Picture(frame)) != nil)
            let webcam = try reactor.track("webcam")
            try await webcam.publish()
            let pushing = Task {
                for number in 0... where !Task.isCancelled {
                    let picture = Picture(width: 160, height: 96) { CounterBlocks.paint(number: number, milliseconds: 0, on: $0) }
                    let bytes = picture.pixels.withUnsafeBytes { Data($0) }
                    try webcam.pushFrame(OutgoingVideoFrame(pixels: bytes, width: 160, height: 96))
                    try await Task.sleep(for: .milliseconds(66))
                }
            }
            let reports = reactor.messages
            let report = await reports.first { $0["type"] == "input_report" && ($0["data"]?["last_counter"]?.intValue ?? -1) > 0 }
            pushing.cancel()
            #expect(report?["data"]?["undecoded"] == 0 && report?["data"]?["width"] == 160)
        }
    }

    @Test("A model begins anew with each session")
    func newSession() async throws {
        let runtime = try await LocalRuntime(model: DemoModel(prompt: "night", width: 64, height: 48, framesPerSecond: 5))
        for prompt in ["sunny day", "sunset"] {
            let reactor = try Reactor(model: "demo", runtime: runtime)
            let messages = reactor.messages
            try await reactor.connect()
            let first = await messages.first { $0["type"] == "scene_changed" }
            #expect(first?["data"]?["prompt"] == "night")
            try await reactor.sendCommand("set_prompt", ["prompt": .string(prompt)])
            try await reactor.disconnect()
        }
        await runtime.stop()
    }
}
