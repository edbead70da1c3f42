//! The whole command line of a program, and what was asked for with it.

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use super::globals::Globals;
use super::runs::RunArgs;
use super::verb::Verb;
use super::wish::Wish;
use super::{own, runs};
use crate::app::{erased::AnyGraph, own::Added};

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
