//! What a command line asks for.

use clap::ArgMatches;

use super::runs::RunArgs;
use super::verb::Verb;
use crate::app::own::Own;

/// The parsed command line.
pub(crate) enum Wish<'a> {
    Run(RunArgs<'a>),
    Do(Verb),
    /// A command of the program's own, and its thread, if it is about one.
    Own(&'a Own, &'a str, &'a ArgMatches),
}
