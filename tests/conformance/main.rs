//! The conformance runner: plays recorded cases of LangGraph on graphs that are built at run time, on every store, and
//! compares every outcome. `SUPERSTEP_CONFORMANCE_DIR` names another folder of cases.

#![allow(clippy::print_stdout)]

#[path = "../support/postgres.rs"]
mod postgres;

mod actions;
mod args;
mod body;
mod build;
mod canon;
mod compare;
mod counters;
mod deviations;
mod draw;
mod echo;
mod engine;
mod eval;
mod events;
mod expr;
mod fuzzed;
mod host;
mod ids;
mod kinds;
mod load;
mod model;
mod number;
mod ops;
mod outcome;
mod python;
mod report;
mod runner;
mod script;
mod search;
mod selfcheck;
mod selfcheck_tables;
mod states;
mod subject;
mod targets;
mod trials;
mod typed;
mod views;
mod ways;

use std::process::ExitCode;

use superstep::graph::DataState;

use crate::args::Args;
use crate::deviations::Deviations;
use crate::engine::Subject;
use crate::load::{NamedCase, Suite};
use crate::runner::{Verdict, play};
use crate::subject::Way;
use crate::trials::{Kind, Trial};
use crate::typed::Typed;
use crate::ways::played;

fn main() -> ExitCode {
    let args = Args::parse(std::env::args().skip(1));
    if args.help {
        println!("usage: conformance [--list] [--exact] [--skip PART] [--test-threads N] [-q] [NAME PART]...");
        return ExitCode::SUCCESS;
    }
    let Suite { cases, deviations, faults, is_foreign } = Suite::load();
    let mut trials = selfcheck::trials(&cases, faults);
    let ways = Way::ALL.iter().filter(|way| **way != Way::Added || !is_foreign);
    trials.extend(ways.flat_map(|way| played(&cases, *way).map(|case| trial(case, *way, &deviations))));
    trials.retain(|trial| args.selects(&trial.name));
    if args.list {
        list(&trials, args.terse);
        return ExitCode::SUCCESS;
    }
    if !args.quiet {
        println!("running {} tests", trials.len());
    }
    let done = trials::run(trials, args.threads);
    if report::print(&done) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list(trials: &[Trial], terse: bool) {
    trials.iter().for_each(|trial| println!("{}: test", trial.name));
    if !terse {
        println!("\n{} tests, 0 benchmarks", trials.len());
    }
}

/// One case on one store.
fn trial(loaded: &NamedCase, way: Way, deviations: &Deviations) -> Trial {
    let deviations = deviations.of(&loaded.name, way);
    let case = loaded.case.clone();
    let run = move || match case {
        Ok(case) if way == Way::Typed => {
            let verdict = block_on(async { play::<Subject<Typed>>(&case, way, &deviations).await });
            if typed::has_misfits() { Verdict::NotPlayed } else { verdict }
        }
        Ok(case) => block_on(async { play::<Subject<DataState>>(&case, way, &deviations).await }),
        Err(error) => Verdict::Failed(error.into()),
    };
    Trial { name: format!("{}::{}", way.as_str(), loaded.name), kind: Kind::Case(way), run: Box::new(run) }
}

/// Runs a future on a runtime of its own.
fn block_on(play: impl Future<Output = Verdict>) -> Verdict {
    block_on_any(play).unwrap_or_else(|error| Verdict::Failed(error.into()))
}

fn block_on_any<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map(|runtime| runtime.block_on(future)).map_err(|error| format!("no runtime: {error}"))
}
