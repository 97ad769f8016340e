import Testing

@testable import ReactorTesting

@Suite("FaultPlan")
struct FaultPlanTests {
    @Test("Faults of a route come in order, as often as told; other routes are left alone")
    func order() {
        let plan = FaultPlan()
        plan.add(LocalFault(at: .offer, .refuse(503), times: 2))
        plan.add(LocalFault(at: .offer, .hangUp))
        plan.add(LocalFault(at: .answer, .silence, times: nil))
        #expect(plan.next(at: .session) == nil)
        #expect((0..<4).map { _ in plan.next(at: .offer) } == [.refuse(503), .refuse(503), .hangUp, nil])
        #expect((0..<50).allSatisfy { _ in plan.next(at: .answer) == .silence })
        #expect(plan.committed(at: .offer) == 3 && plan.committed(at: .answer) == 50 && plan.committed(at: .session) == 0)
    }

    @Test("A new endless fault takes the place of the old one; none is left after removeAll")
    func endless() {
        let plan = FaultPlan()
        plan.add(LocalFault(at: .answer, .silence, times: nil))
        plan.add(LocalFault(at: .answer, .hangUp, times: nil))
        plan.add(LocalFault(at: .answer, .garble, times: 0))
        #expect(plan.next(at: .answer) == .hangUp)
        plan.removeAll()
        #expect(plan.next(at: .answer) == nil)
    }
}
