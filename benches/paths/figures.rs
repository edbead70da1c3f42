//! What the paths share: a clock around an operation of milliseconds, and the size of a folder.

use std::path::Path;

use super::harness::Bench;
use super::measure::{Clocks, Samples, Timing};

/// Times an operation of milliseconds: CPU and wall time of each call, in microseconds.
pub(crate) fn each(bench: &Bench, run: impl FnMut()) -> Timing {
    per_unit(bench, 1, run)
}

/// Times an operation of milliseconds with this many units, per unit.
pub(crate) fn per_unit(bench: &Bench, units: u64, mut run: impl FnMut()) -> Timing {
    let mut samples = Samples::default();
    for _ in 0..bench.pick([21, 7, 1]) {
        let clocks = Clocks::start();
        run();
        samples.add(clocks, units);
    }
    samples.timing()
}

/// Returns the bytes of the files in a folder, as far as they take up disk space.
pub(crate) fn disk_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| match entry.metadata().unwrap() {
            folder if folder.is_dir() => disk_bytes(&entry.path()),
            file => std::os::unix::fs::MetadataExt::blocks(&file) * 512,
        })
        .sum()
}
