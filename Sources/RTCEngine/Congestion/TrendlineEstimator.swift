// The slope of the one-way delay over the last groups (draft-ietf-rmcat-gcc-02 §5.3 as libwebrtc does it with a line in
// place of the Kalman filter). In: delays of groups. Out: how fast the queue grows. Left out: what to make of it.

/// A line through the last delays, by least squares.
package struct TrendlineEstimator: Sendable {
    private var samples: [(time: Double, delay: Double)] = []
    private var next = 0
    private var origin: (arrival: Int64, delay: Int64)?
    private var smoothed = 0.0
    /// Groups so far, up to what the gain counts.
    package private(set) var count = 0

    package init() { samples.reserveCapacity(Self.window) }

    /// Milliseconds of delay per millisecond, times the number of groups: what the detector compares (GCC's modified
    /// trend). Zero until the window is full.
    package var modifiedTrend: Double { slope * Double(min(count, Self.maxCount)) * Self.gain }

    /// Milliseconds of delay gained per millisecond.
    package private(set) var slope = 0.0

    package mutating func add(_ group: ArrivalGroup) {
        let start = origin ?? (group.lastArrival, group.delay)
        origin = start
        let delay = Double(group.delay &- start.delay) / 1e6
        smoothed = count == 0 ? delay : smoothed * Self.smoothing + delay * (1 - Self.smoothing)
        count = min(count + 1, Self.maxCount)
        let sample = (Double(group.lastArrival &- start.arrival) / 1e6, smoothed)
        if samples.count < Self.window {
            samples.append(sample)
        } else {
            samples[next] = sample
            next = (next + 1) % Self.window
        }
        slope = samples.count < Self.window ? 0 : Self.leastSquares(samples)
    }

    private static func leastSquares(_ samples: [(time: Double, delay: Double)]) -> Double {
        var (meanTime, meanDelay) = (0.0, 0.0)
        for sample in samples {
            meanTime += sample.time
            meanDelay += sample.delay
        }
        meanTime /= Double(samples.count)
        meanDelay /= Double(samples.count)
        var (covariance, variance) = (0.0, 0.0)
        for sample in samples {
            covariance += (sample.time - meanTime) * (sample.delay - meanDelay)
            variance += (sample.time - meanTime) * (sample.time - meanTime)
        }
        return variance > 0 ? covariance / variance : 0
    }

    /// libwebrtc trendline_estimator.cc: window 20, smoothing 0.9, gain 4, at most 60 groups counted.
    private static let window = 20
    private static let smoothing = 0.9
    private static let gain = 4.0
    private static let maxCount = 60
}
