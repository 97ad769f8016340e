import Testing

@testable import RTCBase

@Suite struct BacklogGrowthTests {
    @Test("a backlog grows as far as it may, in order, whatever was taken from it meanwhile")
    func grows() async {
        let queue = BacklogQueue<Int>(capacity: .max)
        var expected = 0
        var next = 0
        for round in 1...40 {
            for _ in 0..<(round * 31) {
                queue.put(next)
                next += 1
            }
            for _ in 0..<(round * 13) {
                let element = await queue.next()
                #expect(element == expected)
                expected += 1
            }
        }
        #expect(queue.count == next - expected && queue.droppedCount == 0)
        queue.finish()
        while let element = await queue.next() {
            #expect(element == expected)
            expected += 1
        }
        #expect(expected == next)
    }

    @Test("a limit above what the queue begins with holds exactly")
    func limit() async {
        let queue = BacklogQueue<Int>(capacity: 1000)
        for number in 0..<2500 { queue.put(number) }
        #expect(queue.count == 1000 && queue.droppedCount == 1500)
        let first = await queue.next()
        #expect(first == 1500)
    }
}
