//! Arguments of the commands that move threads between stores: `export`, `import`, `trust`, `repair`, `copy-store`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::app::store_location::StoreLocation;

/// Write a thread as one file, for another store
///
/// Writes a thread as one file, with its subgraphs and effects. Secret channels are left out; whatever a node copied out of
/// them is not. With --fixture, the file is one for a test of your own: it holds what the thread did against the graph as it
/// will be then.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} export first first.superstep\n  {bin} export first > first.superstep\n  \
                        {bin} export first --fixture tests/fixtures/first.superstep")]
pub(crate) struct Export {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The file, which must not exist; standard output unless given
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Write the file for a test: compares it with the graph as it is, and prints the test
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub fixture: Option<PathBuf>,

    /// Write secret channels too
    #[arg(long)]
    pub with_secrets: bool,
}

/// Take a thread from a file
///
/// Takes a thread from a file that `export` wrote. It can be looked at and compared; to be run, it must be trusted.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} import first.superstep
  {bin} import first.superstep --thread theirs --trust")]
pub(crate) struct Import {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The thread's name here; the one it had unless given
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,

    /// Let it be run: its file comes from somebody you trust
    #[arg(long)]
    pub trust: bool,
}

/// Let an imported thread be run
///
/// Lets a thread that was imported be run: whoever made its file, you trust them and what it holds. A store whose files git
/// tracks came with a clone, and is trusted as a whole, as it is tracked now.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} trust theirs\n  {bin} trust        the whole store")]
pub(crate) struct Trust {
    /// The thread's name; the store that came with a clone unless given
    #[arg(value_name = "THREAD")]
    pub thread: Option<String>,
}

/// Save what can be read of a damaged store into a new one
///
/// Reads what can be read of the damaged store (--store) and writes it into a new one. Each thread goes on from its newest
/// checkpoint that is whole; the report says what is lost. The damaged store stays as it is.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} repair rescued --store .superstep/store")]
pub(crate) struct Repair {
    /// The new store: a directory that does not exist
    #[arg(value_name = "NEW")]
    pub to: PathBuf,
}

/// Copy all threads of a store into another one, of any kind
///
/// Copies all threads with their history, tags and signals, as they are: a copy may be run. A thread that the other store has
/// already stays as it is if it is the same; if it is another one of that name, nothing is copied. A copy that was interrupted
/// can be made again.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} copy-store .superstep/store fjall:runs.fjall
  {bin} copy-store fjall:runs.fjall sled:backup")]
pub(crate) struct CopyStore {
    /// The store to copy: `sled:PATH`, `fjall:PATH`, or the path of a sled store
    #[arg(value_name = "FROM", value_parser = OsStringValueParser::new().map(StoreLocation::from))]
    pub from: StoreLocation,

    /// The store to copy into, which is created if it does not exist
    #[arg(value_name = "TO", value_parser = OsStringValueParser::new().map(StoreLocation::from))]
    pub to: StoreLocation,
}
