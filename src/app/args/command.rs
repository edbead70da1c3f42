//! The whole command line of a program.

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use super::globals::Globals;
use super::invocation::Invocation;
use super::runs::RunArgs;
use super::verb::Verb;
use super::{custom, runs};
use crate::app::custom::Additions;
use crate::app::erased::AnyGraph;

const AFTER: &str = "\
A first run, in two processes:
  {bin} run {graph} --thread first
  {bin} status first

Exit codes:
  0 finished, 10 waits for a person, 11 halted or stopped by a budget, 12 rejected,
  13 cancelled, 14 waits for a time or a signal, 2 wrong usage, 1 any other error";

/// Returns the command line of a program with these graphs.
pub(crate) fn command(
    bin: &str,
    version: &str,
    about: &str,
    graphs: &[Box<dyn AnyGraph>],
    added: &Additions,
) -> Command {
    let command = Command::new(bin.to_owned())
        .version(version.to_owned())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand_value_name("COMMAND")
        .max_term_width(100)
        .subcommand(runs::run(graphs).display_order(0));
    let command = Verb::augment_subcommands(Globals::augment_args(command));
    let command = command.subcommands(custom::commands(graphs, added));
    let command = command.about(about.to_owned()).long_about(None).after_help(AFTER);
    let graph = graphs.first().map_or("GRAPH", |graph| graph.name()).to_owned();
    with_program_name(command, bin, &graph)
}

/// Inserts the program's name into all examples.
fn with_program_name(command: Command, bin: &str, graph: &str) -> Command {
    let after = command.get_after_help().map(ToString::to_string);
    let command = match after {
        Some(text) => command.after_help(text.replace("{bin}", bin).replace("{graph}", graph)),
        None => command,
    };
    command.mut_subcommands(|inner| with_program_name(inner, bin, graph))
}

/// Reads the matches of [`command`].
pub(crate) fn invocation<'a>(
    matches: &'a ArgMatches,
    added: &'a Additions,
) -> Result<(Globals, Invocation<'a>), clap::Error> {
    let globals = Globals::from_arg_matches(matches)?;
    let invocation = match matches.subcommand() {
        Some(("run", run)) => Invocation::Run(RunArgs::of(run)?),
        Some((word, inner)) if let Some(invocation) = custom::invocation(word, inner, added) => invocation,
        _ => Invocation::Do(Verb::from_arg_matches(matches)?),
    };
    Ok((globals, invocation))
}
