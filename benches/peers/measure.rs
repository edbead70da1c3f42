// What the programs of all peers share: batches, clocks, a line for each figure.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use tokio::runtime::{Builder, Runtime};

/// The time that a figure is measured for, and the least of its batches is shown.
const BUDGET: Duration = Duration::from_millis(600);
/// The time that a batch takes at least.
const BATCH: Duration = Duration::from_millis(8);

/// The figures that the command line names; all, if it names none.
pub struct Bench {
    runtime: Runtime,
    wanted: Vec<String>,
}

impl Bench {
    pub fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { runtime, wanted: std::env::args().skip(1).collect() }
    }

    /// Returns true if this workload is wanted.
    pub fn wants(&self, workload: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| workload.starts_with(wanted.as_str()))
    }

    /// Prints CPU and wall time of a unit, each run being as many. Each batch has a subject of its own, such as a store;
    /// the number counts the runs on it.
    pub fn measure<T>(&self, workload: &str, units: u64, new: impl AsyncFn() -> T, run: impl AsyncFn(&T, u64)) {
        if !self.wants(workload) {
            return;
        }
        self.runtime.block_on(async {
            let mut runs = 1;
            let batch = async |runs: u64| {
                let subject = new().await;
                let (cpu, wall) = (ProcessTime::now(), Instant::now());
                for nth in 0..runs {
                    run(&subject, nth).await;
                }
                (cpu.elapsed(), wall.elapsed())
            };
            while batch(runs).await.1 < BATCH {
                runs *= 2;
            }
            let (began, mut cpu, mut wall) = (Instant::now(), f64::MAX, f64::MAX);
            while began.elapsed() < BUDGET {
                let each = |time: Duration| time.as_secs_f64() * 1e6 / (runs * units) as f64;
                let (spent, passed) = batch(runs).await;
                (cpu, wall) = (cpu.min(each(spent)), wall.min(each(passed)));
            }
            println!("{workload}\t{cpu:.3}\t{wall:.3}");
        });
    }
}
