//! Arguments of the commands that maintain a store: `gc`, `tag`.

use std::time::Duration;

use clap::Args;

use crate::app::time::span;

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
    #[arg(long, value_name = "CHECKPOINT", value_parser = super::edits::checkpoint, requires = "name")]
    pub at: Option<u64>,

    /// Take the name away
    #[arg(long, requires = "name", conflicts_with = "at")]
    pub remove: bool,
}
