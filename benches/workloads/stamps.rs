//! The start times of nodes, for workloads with different supersteps.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::measure::{Clocks, Spread, Timing, micros};

/// Both clocks at each mark; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Stamps {
    clocks: Clocks,
    marks: Arc<Mutex<Vec<(Duration, Duration)>>>,
}

impl Stamps {
    pub(crate) fn new() -> Self {
        Self { clocks: Clocks::start(), marks: Arc::default() }
    }

    pub(crate) fn mark(&self) {
        self.marks.lock().unwrap().push(self.clocks.read());
    }

    /// Removes the marks, and returns the time between consecutive ones.
    pub(crate) fn take(&self) -> Vec<(f64, f64)> {
        let marks = std::mem::take(&mut *self.marks.lock().unwrap());
        marks.windows(2).map(|pair| (micros(pair[1].0 - pair[0].0), micros(pair[1].1 - pair[0].1))).collect()
    }
}

/// The spread of CPU and wall times.
pub(crate) fn timing(gaps: &[(f64, f64)]) -> Timing {
    let (cpu, wall) = gaps.iter().copied().unzip();
    Timing { cpu: Spread::of(cpu), wall: Spread::of(wall) }
}

/// Returns the timing of the turns around the tenth, and of as many at the end.
pub(crate) fn early_and_late(gaps: &[(f64, f64)]) -> (Timing, Timing) {
    let width = 11.min(gaps.len());
    let from = 4.min(gaps.len() - width);
    (timing(&gaps[from..from + width]), timing(&gaps[gaps.len() - width..]))
}
