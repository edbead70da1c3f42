//! The command line's words: which commands there are, what they take, and how they explain themselves. Knows no store.

mod answers;
mod carry;
mod edits;
mod keeps;
mod own;
mod reads;
mod replays;
mod runner;
pub(crate) mod runs;
mod signals;
mod stops;

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

pub(crate) use answers::{AnswerTo, Decision, Edit, Resume};
pub(crate) use carry::{Export, Import, Repair, Trust};
pub(crate) use edits::{Delete, Fork, Update};
pub(crate) use keeps::{Gc, Tag};
pub(crate) use reads::{Completions, Draw, Events, History, Log, Show, Status, Threads};
pub(crate) use replays::{Diff, Mode, Replay};
pub(crate) use runner::Runner;
pub(crate) use runs::{RunArgs, Talk};
pub(crate) use signals::Signal;
pub(crate) use stops::StopArgs;

use super::erased::AnyGraph;
use super::log::Level;
use super::own::{Added, Own};

/// What every command takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// Where threads are kept: a directory
    #[arg(long, global = true, value_name = "PATH", env = "SUPERSTEP_STORE", default_value = ".superstep/store")]
    #[arg(hide_env_values = true)]
    pub store: PathBuf,

    /// Only look at the store, and write nothing there
    #[arg(long, global = true)]
    pub read_only: bool,

    /// Print JSON for programs; errors too, on standard error
    #[arg(long, global = true)]
    pub json: bool,

    /// Tell on standard error what begins, ends and goes wrong; LEVEL: error, warn, info
    #[arg(hide_possible_values = true)]
    #[arg(long, global = true, value_name = "LEVEL", env = "SUPERSTEP_LOG", hide_env_values = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "info")]
    pub log: Option<Level>,
}

/// The commands, but for `run`, which is made from the registered graphs.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Verb {
    Resume(Resume),
    Proceed(runs::Proceed),
    Retry(runs::Retry),
    Approve(answers::Approve),
    Reject(answers::Reject),
    Revise(answers::Revise),
    Edit(Edit),
    Signal(Signal),
    Dismiss(answers::Dismiss),
    Cancel(runs::Cancel),
    Threads(Threads),
    Status(Status),
    History(History),
    Show(Show),
    Diff(Diff),
    Events(Events),
    Watch(reads::Watch),
    Log(reads::Log),
    Replay(Replay),
    Update(Update),
    Fork(Fork),
    Delete(Delete),
    Tag(Tag),
    Gc(Gc),
    Runner(runner::Runner),
    Export(Export),
    Import(Import),
    Trust(Trust),
    Repair(Repair),
    Graphs(reads::Graphs),
    Graph(Draw),
    Completions(Completions),
}

const AFTER: &str = "\
A first run, in two processes:
  {bin} run {graph} --thread first
  {bin} status first

Exit codes:
  0 finished, 10 waits for a person, 11 halted or stopped by a budget, 12 rejected,
  13 cancelled, 14 waits for a time or a signal, 2 wrong usage, 1 any other error";

/// Returns the whole command line of a program with these graphs.
pub(crate) fn command(bin: &str, version: &str, about: &str, graphs: &[Box<dyn AnyGraph>], added: &Added) -> Command {
    let command = Command::new(bin.to_owned())
        .version(version.to_owned())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand_value_name("COMMAND")
        .max_term_width(100)
        .subcommand(runs::run(graphs).display_order(0));
    let command = Verb::augment_subcommands(Globals::augment_args(command));
    let command = command.subcommands(own::commands(graphs, added));
    let command = command.about(about.to_owned()).long_about(None).after_help(AFTER);
    let graph = graphs.first().map_or("GRAPH", |graph| graph.name()).to_owned();
    spelled(command, bin, &graph)
}

/// Puts the program's own name into all examples.
fn spelled(command: Command, bin: &str, graph: &str) -> Command {
    let after = command.get_after_help().map(ToString::to_string);
    let command = match after {
        Some(text) => command.after_help(text.replace("{bin}", bin).replace("{graph}", graph)),
        None => command,
    };
    command.mut_subcommands(|inner| spelled(inner, bin, graph))
}

/// What was asked for.
pub(crate) enum Wish<'a> {
    Run(RunArgs<'a>),
    Do(Verb),
    /// A command of the program's own, and its thread, if it is about one.
    Own(&'a Own, &'a str, &'a ArgMatches),
}

/// Whether a command of that name is there in every program.
pub(crate) fn is_taken(name: &str) -> bool {
    let every = Verb::augment_subcommands(Command::new("any"));
    let is_there = every.get_subcommands().any(|command| command.get_name() == name);
    is_there || ["run", "help"].contains(&name)
}

/// Reads the matches of [`command`].
pub(crate) fn wish<'a>(matches: &'a ArgMatches, added: &'a Added) -> Result<(Globals, Wish<'a>), clap::Error> {
    let globals = Globals::from_arg_matches(matches)?;
    let wish = match matches.subcommand() {
        Some(("run", run)) => Wish::Run(RunArgs::of(run)?),
        Some((word, inner)) if let Some(wish) = own::wish(word, inner, added) => wish,
        _ => Wish::Do(Verb::from_arg_matches(matches)?),
    };
    Ok((globals, wish))
}
