//! Options that set the stop points of a thread.

use clap::{Arg, ArgAction, ArgMatches, Args};

const BEFORE: &str = "superstep-stop-before";
const AFTER: &str = "superstep-stop-after";
const BEFORE_HELP: &str = "Stop before this node, in this and every later run; may be repeated";
const AFTER_HELP: &str = "Stop after this node, in this and every later run; may be repeated";

/// The stop points of a thread from now on.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StopArgs {
    #[arg(long, value_name = "NODE", help = BEFORE_HELP)]
    pub stop_before: Vec<String>,

    #[arg(long, value_name = "NODE", help = AFTER_HELP)]
    pub stop_after: Vec<String>,

    /// Remove the stop points of `--stop-before` and `--stop-after`
    #[arg(long, conflicts_with_all = ["stop_before", "stop_after"])]
    pub no_stops: bool,
}

impl StopArgs {
    /// Returns the options of `run`, with ids that a graph's own arguments cannot have.
    pub(crate) fn of_run() -> [Arg; 2] {
        let option = |id: &'static str, long: &'static str, help: &'static str| {
            Arg::new(id).long(long).value_name("NODE").action(ArgAction::Append).help(help)
        };
        [option(BEFORE, "stop-before", BEFORE_HELP), option(AFTER, "stop-after", AFTER_HELP)]
    }

    pub(crate) fn from_matches(run: &ArgMatches) -> Self {
        let names = |id: &str| run.get_many::<String>(id).into_iter().flatten().cloned().collect();
        Self { stop_before: names(BEFORE), stop_after: names(AFTER), no_stops: false }
    }

    /// Returns true if they leave the thread's stop points as they are.
    pub(crate) fn is_empty(&self) -> bool {
        !self.no_stops && self.stop_before.is_empty() && self.stop_after.is_empty()
    }
}
