//! [`Histogram`]: how many durations there were up to each of some bounds, and their sum. Knows no names.

use std::time::Duration;

/// Counts of durations. The bounds are in seconds and grow.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    /// The number of durations up to each bound, those up to lower ones included.
    counts: Vec<u64>,
    count: u64,
    sum: Duration,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len()], count: 0, sum: Duration::ZERO }
    }

    pub(super) fn observe(&mut self, duration: Duration) {
        let reached = self.bounds.iter().zip(&mut self.counts).filter(|(bound, _)| duration.as_secs_f64() <= **bound);
        reached.for_each(|(_, count)| *count += 1);
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
    }

    /// Returns each bound with the number of durations up to it.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.bounds.iter().copied().zip(self.counts.iter().copied())
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn seconds(&self) -> f64 {
        self.sum.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_at_each_bound_that_it_does_not_exceed() {
        let mut histogram = Histogram::new(&[0.5, 1.0, 10.0]);
        [500, 501, 2_000, 60_000].map(Duration::from_millis).into_iter().for_each(|time| histogram.observe(time));
        assert_eq!(histogram.buckets().collect::<Vec<_>>(), [(0.5, 1), (1.0, 2), (10.0, 3)]);
        assert_eq!((histogram.count(), histogram.seconds()), (4, 63.001));
    }
}
