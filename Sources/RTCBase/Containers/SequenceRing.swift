/// Fixed-capacity storage indexed by an unwrapped sequence number: the newest `capacity` numbers have a place.
/// A place holds the number it was written for, so a stale entry is never mistaken for a new one.
package struct SequenceRing<Element> {
    private var slots: [(number: Int64, element: Element)?]

    package init(capacity: Int) { slots = Array(repeating: nil, count: max(1, capacity)) }

    package var capacity: Int { slots.count }

    private func index(_ number: Int64) -> Int {
        let rest = Int(number % Int64(slots.count))
        return rest < 0 ? rest + slots.count : rest
    }

    package subscript(number: Int64) -> Element? {
        get {
            guard let slot = slots[index(number)], slot.number == number else { return nil }
            return slot.element
        }
        set {
            let place = index(number)
            if let newValue {
                slots[place] = (number, newValue)
            } else if let slot = slots[place], slot.number == number {
                slots[place] = nil
            }
        }
    }

    package mutating func removeAll() { for i in slots.indices { slots[i] = nil } }
}

extension SequenceRing: Sendable where Element: Sendable {}
