//! The paths whose cost must not grow with what they do not touch: each with its target, in one run.
//!
//! `cargo bench --bench paths -- [history open ...] [--quick] [--dir <folder>]`; see `benches/README.md`. Without
//! `--bench`, as `cargo test --benches` calls it, every path runs once with tiny numbers.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that goes wrong stops, and prints figures")]

mod answers;
mod beside;
mod depth;
mod heavy;
mod inside;
mod joins;
mod listed;
mod log;
mod memory;
mod open;
mod reduced;
mod turns;
mod waiting;
mod width;

#[path = "../workloads/args.rs"]
mod args;
#[allow(dead_code, reason = "the other program uses all of it")]
#[path = "../workloads/bytes.rs"]
mod bytes;
#[path = "../workloads/figure.rs"]
mod figure;
#[allow(dead_code, reason = "the other program uses all of it")]
#[path = "../workloads/graphs.rs"]
mod graphs;
#[allow(dead_code, reason = "the other program uses all of it")]
#[path = "../workloads/harness.rs"]
mod harness;
#[path = "../workloads/measure.rs"]
mod measure;
#[allow(dead_code, reason = "the other program uses all of it")]
#[path = "../workloads/replay.rs"]
mod replay;

use args::Args;
use harness::Bench;

type Path = (&'static str, fn(&Bench));

const PATHS: [Path; 14] = [
    ("answers", answers::run),
    ("log", log::run),
    ("beside", beside::run),
    ("turns", turns::run),
    ("open", open::run),
    ("width", width::run),
    ("depth", depth::run),
    ("heavy", heavy::run),
    ("inside", inside::run),
    ("joins", joins::run),
    ("listed", listed::run),
    ("memory", memory::run),
    ("reduced", reduced::run),
    ("waiting", waiting::run),
];

fn main() {
    if waiting::child() || heavy::reading() {
        return;
    }
    let args = Args::read(std::env::args().skip(1));
    let chosen = PATHS.iter().filter(|(name, _)| args.selects(name));
    if args.list {
        chosen.for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let bench = Bench::new(&args);
    bench.print_head(&args.line("paths"));
    chosen.for_each(|(_, run)| run(&bench));
    bench.print_foot();
}
