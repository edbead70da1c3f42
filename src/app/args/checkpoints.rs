//! Arguments of the commands about the checkpoints of a thread: to write or remove them (`update`, `fork`, `delete`, `tag`,
//! `gc`), to compare and replay them (`diff`, `replay`).

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::app::time::span;

/// Write the state of a thread by hand
///
/// Writes the state as if a node had returned the values: its routers choose and its edges fire. Nothing runs.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} update first --values '{\"topic\": \"moons\"}'
  {bin} update first --values @values.json --as-node Review --at 3")]
pub(crate) struct Update {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// An object with a key for each channel to write, or @FILE that holds one; {"$overwrite": value} replaces a reduced
    /// value
    #[arg(long, value_name = "JSON|@FILE")]
    pub values: String,

    /// In whose name; the node that ran last unless given
    #[arg(long, value_name = "NODE")]
    pub as_node: Option<String>,

    /// On a new branch from this checkpoint
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
    pub at: Option<u64>,
}

/// Begin a new branch at a checkpoint, in the same thread or another
///
/// Begins a new branch at a checkpoint. The old one stays in the thread's history. Nothing runs: `proceed` goes on from
/// there.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} fork first --at 3
  {bin} fork first --at 3 --to second --values '{\"topic\": \"moons\"}'")]
pub(crate) struct Fork {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The checkpoint's number: `history` lists them
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
    pub at: u64,

    /// As a new thread of this name
    #[arg(long, value_name = "ID")]
    pub to: Option<String>,

    /// Write these values there: an object with a key for each channel, or @FILE that holds one
    #[arg(long, value_name = "JSON|@FILE")]
    pub values: Option<String>,
}

/// Delete a thread with all its checkpoints
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} delete first")]
pub(crate) struct Delete {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,
}

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
    #[arg(value_name = "A", value_parser = checkpoint)]
    pub from: u64,

    /// To this checkpoint
    #[arg(value_name = "B", value_parser = checkpoint)]
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
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
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

/// Remove what no rule keeps
///
/// Removes the checkpoints that no rule keeps, of all threads or of one, with all that only they need. Always
/// kept, and not beside the N of --keep-last but among them where they are that new: the newest checkpoint and the one it came
/// from (a thread needs both to go on), tagged checkpoints, branches that wait. Without --keep-last and --max-age, only leftovers go.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} gc --keep-last 20 --max-age 30d
  {bin} gc --thread first --keep-last 1 --compact")]
pub(crate) struct Gc {
    /// Only this thread
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,

    /// Keep the newest N checkpoints of each thread
    #[arg(long, value_name = "N")]
    pub keep_last: Option<usize>,

    /// Keep checkpoints that are not older, as 90s, 15m, 12h, 30d
    #[arg(long, value_name = "AGE", value_parser = span)]
    pub max_age: Option<Duration>,

    /// Remove older branches that wait for an answer or a time, too
    #[arg(long)]
    pub drop_unfinished: bool,

    /// Remove tagged checkpoints, too
    #[arg(long)]
    pub drop_tagged: bool,

    /// Write the store anew afterwards: only then is the disk given back, and what was removed really gone
    #[arg(long)]
    pub compact: bool,
}

/// Name a checkpoint so that it is kept, or list the names
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} tag first
  {bin} tag first before-review --at 5
  {bin} tag first before-review --remove")]
pub(crate) struct Tag {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The name to give; lists the names there are without one
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// To which checkpoint; the newest unless given
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint, requires = "name")]
    pub at: Option<u64>,

    /// Take the name away
    #[arg(long, requires = "name", conflicts_with = "at")]
    pub remove: bool,
}

/// Parses the number of a checkpoint, with or without a `#`.
pub(super) fn checkpoint(text: &str) -> Result<u64, String> {
    text.trim_start_matches('#').parse().map_err(|_| "a checkpoint is a number; `history` lists them".to_owned())
}
