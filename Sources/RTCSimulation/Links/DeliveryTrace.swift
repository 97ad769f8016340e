// A recorded link as a list of moments at which it could deliver one packet of 1500 bytes (the format of the mahimahi
// emulator: one line each, in milliseconds from the beginning). A trace repeats when it ends. The lists are large and
// shared by many simulations, so they sit in a class that nobody changes.

package import RTCBase

package final class DeliveryTrace: Sendable {
    package enum ParseError: Error, Hashable {
        case notANumber(line: Int)
        case notInOrder(line: Int)
        /// Nothing in it, or all of it at time 0, so that it could not repeat.
        case empty
    }

    package static let bytesPerOpportunity = 1_500

    /// Milliseconds from the beginning, ascending.
    private let opportunities: [UInt32]
    /// The last opportunity is the end of a round (mahimahi `link_queue.cc`: the next round starts from there).
    private let roundNanoseconds: Int64

    package convenience init(parsing text: [UInt8]) throws(ParseError) {
        var values: [UInt32] = []
        values.reserveCapacity(text.count / 6)
        var value: UInt32?
        var line = 1
        for byte in text {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                let (product, isTooLarge) = (value ?? 0).multipliedReportingOverflow(by: 10)
                let (sum, isStillTooLarge) = product.addingReportingOverflow(UInt32(byte - UInt8(ascii: "0")))
                guard !isTooLarge, !isStillTooLarge else { throw .notANumber(line: line) }
                value = sum
            case UInt8(ascii: "\n"):
                if let value {
                    guard value >= values.last ?? 0 else { throw .notInOrder(line: line) }
                    values.append(value)
                }
                value = nil
                line += 1
            case UInt8(ascii: "\r"), UInt8(ascii: " "): break
            default: throw .notANumber(line: line)
            }
        }
        if let value {
            guard value >= values.last ?? 0 else { throw .notInOrder(line: line) }
            values.append(value)
        }
        try self.init(milliseconds: values)
    }

    /// - Parameter milliseconds: ascending.
    package init(milliseconds: [UInt32]) throws(ParseError) {
        guard let last = milliseconds.last, last > 0 else { throw .empty }
        opportunities = milliseconds
        roundNanoseconds = Int64(last) * 1_000_000
    }

    package var opportunitiesPerRound: Int { opportunities.count }
    package var roundMilliseconds: Int { Int(roundNanoseconds / 1_000_000) }
    package var meanBitsPerSecond: Double {
        Double(opportunities.count * Self.bytesPerOpportunity * 8) / (Double(roundNanoseconds) / 1e9)
    }

    /// The time of an opportunity, counted on over all rounds.
    package func time(of index: Int, start: MonotonicTime) -> MonotonicTime {
        let (round, place) = index.quotientAndRemainder(dividingBy: opportunities.count)
        return start.adding(nanoseconds: Int64(round) * roundNanoseconds + Int64(opportunities[place]) * 1_000_000)
    }

    /// The first opportunity at or after `time`.
    package func opportunity(notBefore time: MonotonicTime, start: MonotonicTime) -> Int {
        let elapsed = max(0, time.nanoseconds(since: start))
        // A moment that ends one round and begins the next has opportunities of both; the earlier ones come first.
        var round = Int(elapsed / roundNanoseconds)
        var rest = elapsed % roundNanoseconds
        if round > 0, rest == 0 {
            round -= 1
            rest = roundNanoseconds
        }
        var low = 0
        var high = opportunities.count
        while low < high {
            let middle = (low + high) / 2
            if Int64(opportunities[middle]) * 1_000_000 < rest { low = middle + 1 } else { high = middle }
        }
        return round * opportunities.count + low
    }

    /// The longest span without any opportunity within the given one.
    package func longestGapMilliseconds(from begin: MonotonicTime, to end: MonotonicTime, start: MonotonicTime) -> Double {
        var longest = 0.0
        var previous = begin
        var index = opportunity(notBefore: begin, start: start)
        while true {
            let next = min(time(of: index, start: start), end)
            longest = max(longest, next.milliseconds(since: previous))
            guard next < end else { return longest }
            previous = next
            index += 1
        }
    }
}
