//! Arguments of `diff` and `replay`.

use clap::{Args, ValueEnum};

/// Show what differs between two checkpoints
///
/// Shows what differs between two checkpoints, channel by channel, and what runs next and is asked.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} diff first 3 5
  {bin} diff first 3 5 --json")]
pub(crate) struct Diff {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// From this checkpoint
    #[arg(value_name = "A", value_parser = super::edits::checkpoint)]
    pub from: u64,

    /// To this checkpoint
    #[arg(value_name = "B", value_parser = super::edits::checkpoint)]
    pub to: u64,
}

/// Mode of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Tell it again from the store: nothing runs
    Recorded,
    /// Compare what was recorded with what the graph does now: nothing outside is touched
    Verify,
    /// Tell what it would have come to with the graph as it is now, over recorded effects
    WhatIf,
    /// Run it again from a checkpoint, for real, on a new branch
    Live,
}

/// Go through a thread again, without repeating what it did
///
/// Goes through a thread again: as it was recorded, which runs nothing; comparing it with what the graph does now, with code
/// 1 if they differ and 15 if nothing could be compared; over its recorded effects, to see what another graph would have come to; or live, which begins a new
/// branch and runs it for real, side effects included.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} replay first --step
  {bin} replay first --mode verify --strict
  {bin} replay first --mode what-if --override-policy max_attempts=2
  {bin} replay first --mode live --from 3")]
pub(crate) struct Replay {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// How
    #[arg(long, value_name = "MODE", default_value = "recorded")]
    pub mode: Mode,

    /// From this checkpoint instead of the first
    #[arg(long, value_name = "CHECKPOINT", value_parser = super::edits::checkpoint)]
    pub from: Option<u64>,

    /// With `--mode what-if`, for a graph that decides by a policy: a value in place of the recorded one
    #[arg(long, value_name = "KEY=VALUE")]
    pub override_policy: Vec<String>,

    /// With `--mode verify`: end with code 15 if anything was only taken over
    #[arg(long)]
    pub strict: bool,

    /// Wait for Enter at each superstep, and show what it changed
    #[arg(long)]
    pub step: bool,
}
