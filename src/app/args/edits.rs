//! Arguments of the commands that write or remove history: `update`, `fork`, `delete`.

use clap::Args;

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

/// Parses the number of a checkpoint, with or without a `#`.
pub(super) fn checkpoint(text: &str) -> Result<u64, String> {
    text.trim_start_matches('#').parse().map_err(|_| "a checkpoint is a number; `history` lists them".to_owned())
}
