import RTCBase

/// What it costs to give a decoded picture to a consumer.
enum HandOffBenchmark {
    @concurrent
    static func run(_ options: BenchmarkOptions, into report: inout BenchmarkReport) async {
        let pool = FrameBufferPool()
        let picture = PlanarFrame(width: 1280, height: 720, pool: pool)
        let count = options.isSmoke ? 20_000 : 200_000
        let allocation = Stopwatch.samples(options.sampleCount, units: count) {
            for _ in 0..<count {
                let block = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 16)
                consume(block)
                block.deallocate()
            }
        }
        let reference = ("malloc and free", allocation)
        if options.includes("handoff/newest-slot") {
            let slot = NewestSlot<PlanarFrame>()
            let samples = Stopwatch.samples(options.sampleCount, units: count) {
                for _ in 0..<count {
                    slot.put(picture)
                    consume(slot.take())
                }
            }
            report.add("handoff/newest-slot", unit: "ns", samples: samples, reference: reference)
        }
        if options.includes("handoff/backlog-queue") {
            let queue = BacklogQueue<PlanarFrame>(capacity: 8)
            var samples: [Double] = []
            for index in 0...options.sampleCount {
                // The queue always holds an element when `next` is called, so the task stays on its thread.
                let start = Stopwatch.now
                for _ in 0..<count {
                    queue.put(picture)
                    consume(await queue.next())
                }
                if index > 0 { samples.append((Stopwatch.now - start) / Double(count)) }
            }
            report.add("handoff/backlog-queue", unit: "ns", samples: samples, reference: reference)
        }
    }
}
