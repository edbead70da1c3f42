//! The workloads of the design through the public API, each beside its lower bound, in one run.
//!
//! `cargo bench --bench workloads -- [W1 W4 ...] [--quick] [--dir <folder>]`; see `benches/README.md`. Without `--bench`, as
//! `cargo test --benches` calls it, every workload runs once with tiny numbers.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that goes wrong stops, and prints figures")]

mod append;
mod args;
mod bytes;
mod chain;
mod child;
mod code_agent;
mod code_task;
mod durable;
mod effects;
mod fanout;
mod figure;
mod findings;
mod graphs;
mod harness;
mod history;
mod large;
mod limits;
mod listing;
mod looped;
mod measure;
mod memory;
mod phases;
mod postgres;
mod replay;
mod resume;
mod stamps;
mod startup;
mod tasks;
mod threads;
mod transcript;
mod wide;

#[path = "../../tests/support/model_server/mod.rs"]
mod model_server;

#[path = "../../tests/support/postgres.rs"]
mod server;

use args::Args;
use harness::Bench;

type Workload = (&'static str, fn(&Bench));

const WORKLOADS: [Workload; 23] = [
    ("limits", limits::run),
    ("W1", chain::run),
    ("W2-memory", memory::run),
    ("W2-durable", durable::run),
    ("W3", looped::run),
    ("W4", fanout::run),
    ("W5", wide::run),
    ("W6", append::run),
    ("W7", resume::run),
    ("W8", threads::run),
    ("W9", startup::run),
    ("W10", history::run),
    ("effect", effects::run),
    ("list", listing::run),
    ("tasks", tasks::run),
    ("phases", phases::run),
    ("code_task", code_task::run),
    ("large", large::run),
    ("findings", findings::run),
    ("postgres-step", postgres::steps::run),
    ("postgres-load", postgres::load::run),
    ("postgres-turn", postgres::turns::run),
    ("postgres-short", postgres::short::run),
];

fn main() {
    if child::run() {
        return;
    }
    let args = Args::read(std::env::args().skip(1));
    let chosen = WORKLOADS.iter().filter(|(name, _)| args.selects(name));
    if args.list {
        chosen.for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let bench = Bench::new(&args);
    bench.print_head(&args.line("workloads"));
    chosen.for_each(|(_, run)| run(&bench));
    bench.print_foot();
}
