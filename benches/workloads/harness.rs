//! The tools of every workload: runtimes, a folder on the measured disk, batches by effort, the table. Knows no
//! workload.

use std::path::Path;

use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::args::{Args, Effort};
use super::figure::Figure;
use super::measure::{Clocks, Samples, Timing};

pub(crate) struct Bench {
    effort: Effort,
    dir: TempDir,
    /// A runtime on one thread.
    pub(crate) lone: Runtime,
    /// A runtime with two worker threads.
    pub(crate) pool: Runtime,
}

impl Bench {
    pub(crate) fn new(args: &Args) -> Self {
        std::fs::create_dir_all(&args.dir).unwrap();
        Self {
            effort: args.effort,
            dir: tempfile::tempdir_in(&args.dir).unwrap(),
            lone: Builder::new_current_thread().enable_all().build().unwrap(),
            pool: Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(),
        }
    }

    pub(crate) fn print_head(&self, command: &str) {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        println!("$ {command}");
        println!("superstep {}, {cores} cores, load {}", env!("CARGO_PKG_VERSION"), load());
        println!("{}", Figure::heading());
    }

    pub(crate) fn print_foot(&self) {
        println!("load at the end {}", load());
    }

    pub(crate) fn print(&self, figure: &Figure) {
        println!("{figure}");
    }

    /// Returns a new folder on the measured disk.
    pub(crate) fn folder(&self) -> TempDir {
        tempfile::tempdir_in(self.dir.path()).unwrap()
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Picks a number by effort: full, quick, tiny.
    pub(crate) fn pick(&self, [full, quick, tiny]: [u64; 3]) -> u64 {
        match self.effort {
            Effort::Full => full,
            Effort::Quick => quick,
            Effort::Tiny => tiny,
        }
    }

    /// Measures an operation of microseconds: medians of batches, per unit; one run has `units` units.
    pub(crate) fn measure(&self, runtime: &Runtime, units: u64, run: impl AsyncFn()) -> Timing {
        self.measure_on(runtime, units, || (), async |(), _| run().await)
    }

    /// Measures like [`measure`](Self::measure), with a new value for each batch, which is created and dropped off the
    /// clock. `run` gets the number of the run within the batch.
    pub(crate) fn measure_on<T>(
        &self,
        runtime: &Runtime,
        units: u64,
        new: impl Fn() -> T,
        run: impl AsyncFn(&T, u64),
    ) -> Timing {
        let warm = new();
        let clocks = Clocks::start();
        runtime.block_on(run(&warm, 0));
        drop(warm);
        let millis = self.pick([20, 10, 0]);
        let per_batch = (millis * 1_000_000 / clocks.read().1.as_nanos().max(1) as u64).clamp(1, 100_000);
        let mut samples = Samples::default();
        for _ in 0..self.pick([31, 11, 1]) {
            let on = new();
            let clocks = Clocks::start();
            runtime.block_on(async {
                for nth in 0..per_batch {
                    run(&on, nth).await;
                }
            });
            samples.add(clocks, per_batch * units);
        }
        samples.timing()
    }

    /// Measures an operation of milliseconds; `run` returns its number of units.
    pub(crate) fn each(&self, mut run: impl FnMut() -> u64) -> Timing {
        let mut samples = Samples::default();
        for _ in 0..self.pick([21, 7, 1]) {
            let clocks = Clocks::start();
            let units = run();
            samples.add(clocks, units);
        }
        samples.timing()
    }

    /// Measures two operations of milliseconds alternately, so that a disk that slows down affects both.
    pub(crate) fn race(
        &self,
        rounds: u64,
        units: u64,
        mut ours: impl FnMut(u64),
        mut limit: impl FnMut(u64),
    ) -> (Timing, Timing) {
        let (mut left, mut right) = (Samples::default(), Samples::default());
        for nth in 0..rounds {
            let clocks = Clocks::start();
            ours(nth);
            left.add(clocks, units);
            let clocks = Clocks::start();
            limit(nth);
            right.add(clocks, units);
        }
        (left.timing(), right.timing())
    }
}

/// Returns the load of the machine; `unknown` where there is no `/proc`.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown").to_owned()
}
