//! Samples and their spread. Knows the clocks of the process and nothing else.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

/// The median, minimum and maximum of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let last = samples.len() - 1;
        Self { median: samples[last / 2], least: samples[0], most: samples[last] }
    }

    /// Returns a figure that was counted, not timed.
    pub(crate) fn exact(value: f64) -> Self {
        Self { median: value, least: value, most: value }
    }
}

/// Microseconds per unit: CPU time of all threads, and wall time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) cpu: Spread,
    pub(crate) wall: Spread,
}

/// Both clocks while they run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks(ProcessTime, Instant);

impl Clocks {
    pub(crate) fn start() -> Self {
        Self(ProcessTime::now(), Instant::now())
    }

    /// Returns CPU and wall time since the start.
    pub(crate) fn read(self) -> (Duration, Duration) {
        (self.0.elapsed(), self.1.elapsed())
    }
}

/// Collects samples of both clocks.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    cpu: Vec<f64>,
    wall: Vec<f64>,
}

impl Samples {
    /// Adds the clocks' times, divided by the number of units.
    pub(crate) fn add(&mut self, clocks: Clocks, units: u64) {
        let (cpu, wall) = clocks.read();
        self.push((cpu, wall), units);
    }

    /// Adds times that were read before.
    pub(crate) fn push(&mut self, (cpu, wall): (Duration, Duration), units: u64) {
        self.cpu.push(micros(cpu) / units as f64);
        self.wall.push(micros(wall) / units as f64);
    }

    pub(crate) fn timing(self) -> Timing {
        Timing { cpu: Spread::of(self.cpu), wall: Spread::of(self.wall) }
    }
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}
