//! Arguments of the commands about a whole store: `export`, `import`, `trust`, `repair` and `copy-store` move threads between
//! stores, `runner` resumes them.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::app::store_location::StoreLocation;
use crate::app::time::span;

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
    #[arg(value_name = "FROM", value_parser = OsStringValueParser::new().map(StoreLocation::from))]
    #[arg(help = StoreLocation::help_to_copy())]
    pub from: StoreLocation,

    /// The store to copy into, which is created if it does not exist
    #[arg(value_name = "TO", value_parser = OsStringValueParser::new().map(StoreLocation::from))]
    pub to: StoreLocation,
}

/// Resume every thread of the store as soon as it can be, in one process
///
/// Resumes what a crash left, what slept until a time that has come, and what was answered from another process; that with
/// `approve`, `reject`, `revise` or `resume`, each with --record-only. Threads that wait for an answer, failed, or stopped at a
/// breakpoint are left alone. It goes on until Ctrl-C: then runs end after their superstep, and can be resumed.
///
/// A hook is a command for `sh` or a web address. It gets JSON (standard input, or the body of a POST): of a question, the thread,
/// the question and the commands that answer it; of a stop, the thread, its status and its error. A command also finds
/// SUPERSTEP_THREAD, SUPERSTEP_GRAPH, SUPERSTEP_STATUS, SUPERSTEP_QUESTION (its id), SUPERSTEP_NAME, SUPERSTEP_PAYLOAD and
/// SUPERSTEP_ANSWER (the first answering command) in its environment.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} runner --until-idle
  {bin} runner --for 8h --on-question 'mail -s \"$SUPERSTEP_THREAD asks\" ada' --on-stop https://example.org/hook")]
pub(crate) struct Runner {
    /// End once no thread can be resumed now; threads that sleep stay asleep
    #[arg(long, conflicts_with = "lasting")]
    pub until_idle: bool,

    /// End after so long, as 90s, 15m, 8h, 30d
    #[arg(id = "lasting", long = "for", value_name = "TIME", value_parser = span)]
    pub lasting: Option<Duration>,

    /// Run at most so many threads at once
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub max_threads: usize,

    /// Resume a thread that gets no further at most so often
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub max_resumes: u32,

    /// Call this for each question that a run leads to
    #[arg(long, value_name = "COMMAND|URL")]
    pub on_question: Option<String>,

    /// Call this after each run, whatever it ended with
    #[arg(long, value_name = "COMMAND|URL")]
    pub on_stop: Option<String>,

    /// End a command of these after so long
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "5m")]
    pub hook_timeout: Duration,
}
