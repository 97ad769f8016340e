/// SHA-256 (FIPS 180-4), for comparing what arrived with what was sent.
enum SHA256 {
    /// In lower-case hex.
    static func hex(_ bytes: some Collection<UInt8>) -> String {
        var message = Array(bytes)
        let bitCount = UInt64(message.count) * 8
        message.append(0x80)
        message.append(contentsOf: repeatElement(0, count: (120 - message.count % 64) % 64))
        for shift in stride(from: 56, through: 0, by: -8) { message.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift))) }
        var hash: [UInt32] = [
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
        ]
        var schedule = [UInt32](repeating: 0, count: 64)
        message.withUnsafeBytes { message in
            for block in stride(from: 0, to: message.count, by: 64) { add(message, at: block, to: &hash, &schedule) }
        }
        return hash.flatMap { word in stride(from: 28, through: 0, by: -4).map { Array("0123456789abcdef")[Int(word >> UInt32($0) & 15)] } }
            .reduce(into: "") { $0.append($1) }
    }

    private static func add(_ message: UnsafeRawBufferPointer, at block: Int, to hash: inout [UInt32], _ schedule: inout [UInt32]) {
        for index in 0..<16 {
            schedule[index] = UInt32(bigEndian: message.loadUnaligned(fromByteOffset: block + 4 * index, as: UInt32.self))
        }
        for index in 16..<64 {
            let (early, late) = (schedule[index - 15], schedule[index - 2])
            let first = rotate(early, 7) ^ rotate(early, 18) ^ early >> 3
            let second = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10
            schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
        }
        var state = hash
        for index in 0..<64 {
            let (a, b, c) = (state[0], state[1], state[2])
            let (e, f, g) = (state[4], state[5], state[6])
            let mixedE = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
            let first = state[7] &+ mixedE &+ (e & f ^ ~e & g) &+ constants[index] &+ schedule[index]
            let mixedA = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
            let second = mixedA &+ (a & b ^ a & c ^ b & c)
            state = [first &+ second, a, b, c, state[3] &+ first, e, f, g]
        }
        for index in 0..<8 { hash[index] = hash[index] &+ state[index] }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    /// The fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = {
        var primes: [Int] = []
        var candidate = 2
        while primes.count < 64 {
            if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
            candidate += 1
        }
        return primes.map { prime in
            // The largest r with r³ ≤ prime · 2⁹⁶, its low 32 bits.
            var low: UInt64 = 0
            var high: UInt64 = 1 << 35
            while high - low > 1 {
                let middle = (low + high) / 2
                let square = middle.multipliedFullWidth(by: middle)
                let isTooLarge = isGreater(cubeOf: square, times: middle, than: UInt64(prime) << 32)
                if isTooLarge { high = middle } else { low = middle }
            }
            return UInt32(truncatingIfNeeded: low)
        }
    }()

    /// Whether square · factor > bound · 2⁶⁴.
    private static func isGreater(cubeOf square: (high: UInt64, low: UInt64), times factor: UInt64, than bound: UInt64) -> Bool {
        let low = square.low.multipliedFullWidth(by: factor)
        let high = square.high.multipliedFullWidth(by: factor)
        let (sum, carry) = high.low.addingReportingOverflow(low.high)
        let top = high.high + (carry ? 1 : 0)
        return top > 0 || sum > bound || (sum == bound && low.low > 0)
    }
}
