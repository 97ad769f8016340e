import Foundation
import Reactor
import ReactorTesting

/// Raw pictures from a pipe into a model, as `ffmpeg -f rawvideo -pix_fmt bgra` writes them.
enum CameraPipe: Example {
    static let name = "camera-pipe"
    static let summary = "publish raw BGRA pictures that come through a pipe, one after the other"
    static var model: any LocalModel { EchoModel() }

    /// Pictures of one size from a file or pipe, until it ends. Reading waits, so it has a thread of its own.
    static func pictures(from input: FileHandle, width: UInt32, height: UInt32) -> AsyncStream<OutgoingVideoFrame> {
        let (stream, sink) = AsyncStream.makeStream(of: OutgoingVideoFrame.self, bufferingPolicy: .bufferingNewest(8))
        let reader = Thread {
            let size = Int(width * height * 4)
            var pixels = Data()
            while let more = try? input.read(upToCount: size - pixels.count), !more.isEmpty {
                pixels.append(more)
                guard pixels.count == size else { continue }
                sink.yield(OutgoingVideoFrame(pixels: pixels, width: width, height: height))
                pixels = Data()
            }
            sink.finish()
        }
        reader.start()
        return stream
    }

    static func run(_ configuration: ReactorConfiguration) async throws {
        let pipe = Pipe()
        // Another program would write here.
        let writer = Thread {
            for number in 0..<30 {
                let picture = Data(repeating: UInt8(100 + number), count: 64 * 48 * 4)
                do { try pipe.fileHandleForWriting.write(contentsOf: picture) } catch { return }
                Thread.sleep(forTimeInterval: 0.033)
            }
            try? pipe.fileHandleForWriting.close()
        }
        let reactor = try Reactor(model: "echo", configuration: configuration)
        try await reactor.connect()
        writer.start()
        let webcam = try reactor.track("webcam")
        try await webcam.withPublished { webcam in
            try await webcam.send(pictures(from: pipe.fileHandleForReading, width: 64, height: 48))
        }
        print("\(webcam.counters.pushed) pictures came through the pipe, \(webcam.counters.encoded) were sent")
        try await reactor.disconnect()
        guard webcam.counters.pushed == 30 else { throw NotSeen("pictures are missing") }
    }
}
