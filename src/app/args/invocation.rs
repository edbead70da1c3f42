//! A parsed command line.

use clap::ArgMatches;

use super::runs::RunArgs;
use super::verb::Verb;
use crate::app::custom::CustomCommand;

/// The parsed command line.
pub(crate) enum Invocation<'a> {
    Run(RunArgs<'a>),
    Do(Verb),
    /// A command that the program adds, with its thread, if it takes one.
    CustomCommand(&'a CustomCommand, &'a str, &'a ArgMatches),
}
