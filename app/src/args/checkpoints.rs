//! Arguments of the commands about the checkpoints of a thread: to write or remove them (`update`, `fork`, `delete`, `tag`,
//! `gc`), to compare and replay them (`diff`, `replay`).

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::time::span;

/// Update a thread's state
///
/// Writes values to the state as if a node had returned them: its routers choose and its edges fire. Nothing runs.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} update first --values '{\"topic\": \"moons\"}'
  {bin} update first --values @values.json --as-node Review --at 3")]
pub(crate) struct Update {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// A JSON object with a key for each channel, or @FILE to read it from a file; {"$overwrite": value} bypasses a reducer
    #[arg(long, value_name = "JSON|@FILE")]
    pub values: String,

    /// Write as this node [default: the node that ran last]
    #[arg(long, value_name = "NODE")]
    pub as_node: Option<String>,

    /// Update this checkpoint, on a new branch
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
    pub at: Option<u64>,
}

/// Create a branch from a checkpoint, in the same thread or a new one
///
/// Creates a branch from a checkpoint. The old branch stays in the thread's history. Nothing runs: `proceed` runs the new
/// branch.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} fork first --at 3
  {bin} fork first --at 3 --to second --values '{\"topic\": \"moons\"}'")]
pub(crate) struct ForkArgs {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The checkpoint; `history` lists the numbers
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
    pub at: u64,

    /// Create a new thread with this name
    #[arg(long, value_name = "ID")]
    pub to: Option<String>,

    /// Values to write: a JSON object with a key for each channel, or @FILE to read it from a file
    #[arg(long, value_name = "JSON|@FILE")]
    pub values: Option<String>,
}

/// Delete a thread with all its checkpoints
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} delete first")]
pub(crate) struct DeleteArgs {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,
}

/// Compare two checkpoints of a thread
///
/// Shows the differences between two checkpoints: channels, next nodes and pending questions.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} diff first 3 5
  {bin} diff first 3 5 --json")]
pub(crate) struct DiffArgs {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The first checkpoint
    #[arg(value_name = "A", value_parser = checkpoint)]
    pub from: u64,

    /// The second checkpoint
    #[arg(value_name = "B", value_parser = checkpoint)]
    pub to: u64,
}

/// Mode of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Print the recorded events; nothing runs
    Recorded,
    /// Compare the recorded run with the current graph, without side effects
    Verify,
    /// Compute the result with the current graph, over the recorded effects
    WhatIf,
    /// Run again from a checkpoint, with side effects, on a new branch
    Live,
}

/// Replay a thread from its records, without repeating side effects
///
/// Replays a thread in one of four modes: `recorded` prints the recorded events and runs nothing; `verify` compares the
/// recorded run with the current graph, with exit code 1 if they differ and 15 if nothing could be compared; `what-if`
/// computes the result of the current graph over the recorded effects; `live` runs the thread again on a new branch,
/// including its side effects.
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

    /// The mode of the replay
    #[arg(long, value_name = "MODE", default_value = "recorded")]
    pub mode: Mode,

    /// Start from this checkpoint instead of the first
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint)]
    pub from: Option<u64>,

    /// With `--mode what-if`, for a graph with a policy: replace a recorded value
    #[arg(long, value_name = "KEY=VALUE")]
    pub override_policy: Vec<String>,

    /// With `--mode verify`: exit with code 15 if any result was reused without running
    #[arg(long)]
    pub strict: bool,

    /// Pause after each superstep and show its changes
    #[arg(long)]
    pub step: bool,
}

/// Remove old checkpoints
///
/// Removes the checkpoints that no option keeps, of all threads or of one, with the data that only they use. Always kept: the
/// newest checkpoint and its parent (a thread needs both to resume), tagged checkpoints and waiting branches; these count
/// towards --keep-last. Without --keep-last and --max-age, only unused data is removed.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} gc --keep-last 20 --max-age 30d
  {bin} gc --thread first --keep-last 1 --compact")]
pub(crate) struct GcArgs {
    /// Only this thread
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,

    /// Keep the newest N checkpoints of each thread
    #[arg(long, value_name = "N")]
    pub keep_last: Option<usize>,

    /// Keep checkpoints up to this age: 90s, 15m, 12h, 30d
    #[arg(long, value_name = "AGE", value_parser = span)]
    pub max_age: Option<Duration>,

    /// Also remove older branches that wait for an answer or a time
    #[arg(long)]
    pub drop_unfinished: bool,

    /// Also remove tagged checkpoints
    #[arg(long)]
    pub drop_tagged: bool,

    /// Rewrite the store afterwards: this frees disk space and erases the removed data
    #[arg(long)]
    pub compact: bool,
}

/// Tag a checkpoint to keep it, or list the tags
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

    /// The tag; without it, the tags are listed
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// The checkpoint to tag [default: the newest]
    #[arg(long, value_name = "CHECKPOINT", value_parser = checkpoint, requires = "name")]
    pub at: Option<u64>,

    /// Remove the tag
    #[arg(long, requires = "name", conflicts_with = "at")]
    pub remove: bool,
}

/// Parses the number of a checkpoint, with or without a `#`.
pub(super) fn checkpoint(text: &str) -> Result<u64, String> {
    text.trim_start_matches('#').parse().map_err(|_| "a checkpoint is a number; `history` lists them".to_owned())
}
