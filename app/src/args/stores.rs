//! Arguments of the commands about a whole store: `export`, `import`, `trust`, `repair` and `copy-store` move threads between
//! stores, `runner` resumes them.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand};

use crate::store::StoreLocation;
use crate::time::span;

/// Export a thread to a file, for another store
///
/// Exports a thread with its subgraphs and effects to one file. Secret channels are excluded, but not copies of their values
/// elsewhere. With --fixture, the file is for a test: it compares what the thread did with later versions of the graph.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} export first first.superstep\n  {bin} export first > first.superstep\n  \
                        {bin} export first --html first.html\n  {bin} export first --fixture tests/fixtures/first.superstep")]
pub(crate) struct ExportArgs {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The file to create [default: standard output]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Create a file for a test, compare it with the current graph, and print the test
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub fixture: Option<PathBuf>,

    /// Create one HTML file that shows the run in a browser, without a server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "fixture", "with_secrets"])]
    pub html: Option<PathBuf>,

    /// Include secret channels
    #[arg(long)]
    pub with_secrets: bool,
}

/// Import a thread from a file
///
/// Imports a thread from a file that `export` wrote. It can be inspected and compared; to run it, it must be trusted.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} import first.superstep
  {bin} import first.superstep --thread theirs --trust")]
pub(crate) struct ImportArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The name of the imported thread [default: the exported name]
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,

    /// Trust the thread, so that it can be run
    #[arg(long)]
    pub trust: bool,
}

/// Trust an imported thread, so that it can be run
///
/// Allows an imported thread to run. Do this only if you trust the author of its file and its content. A store whose files
/// git tracks came with a clone; it is trusted as a whole, in its current version.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} trust theirs\n  {bin} trust        the whole store")]
pub(crate) struct TrustArgs {
    /// The thread's name [default: the whole store, if it came with a clone]
    #[arg(value_name = "THREAD")]
    pub thread: Option<String>,
}

/// Save the readable part of a damaged store into a new one
///
/// Copies the readable part of the damaged store (--store) into a new one. Each thread continues from its newest intact
/// checkpoint; the report lists what is lost. The damaged store is not changed.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} repair rescued --store .superstep/store")]
pub(crate) struct RepairArgs {
    /// The new store: a directory that does not exist
    #[arg(value_name = "NEW")]
    pub to: PathBuf,
}

/// Copy all threads of a store into another store of any kind
///
/// Copies all threads with their history, tags and signals; the copies can be run. A thread that the other store already has
/// is skipped if it is identical; if it differs, nothing is copied. An interrupted copy can be repeated.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} copy-store .superstep/store fjall:runs.fjall
  {bin} copy-store fjall:runs.fjall sled:backup")]
pub(crate) struct CopyStoreArgs {
    #[arg(value_name = "FROM", value_parser = OsStringValueParser::new().map(StoreLocation::from))]
    #[arg(help = StoreLocation::help_to_copy())]
    pub from: StoreLocation,

    /// The store to copy into; it is created if it does not exist
    #[arg(value_name = "TO", value_parser = OsStringValueParser::new().map(StoreLocation::from))]
    pub to: StoreLocation,
}

/// Make or migrate the tables of a store in a database
///
/// A store in PostgreSQL gets its tables, and is moved to their newest version, by whoever connects first. These commands do that
/// at a time of your choice, or print the SQL for a role that has the right to execute it.
#[derive(Args, Clone, Debug)]
#[command(subcommand_value_name = "COMMAND", disable_help_subcommand = true)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub verb: StoreVerb,
}

/// Commands about the tables of a store.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum StoreVerb {
    Migrate(MigrateArgs),
}

/// Make the tables of a store, or move them to the newest version
///
/// Needs the right to create and to change the schema. A schema that is newer than this program knows is refused. A store in a
/// directory needs no migration: each opening reads the records of all earlier releases.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} store migrate --store postgres://ann@db.example/team
  {bin} store migrate --dry-run --store postgres://ann@db.example/team | psql -U owner -h db.example team")]
pub(crate) struct MigrateArgs {
    /// Print the SQL and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Resume all threads of the store as soon as they are ready, in one process
///
/// Resumes threads after a crash, after the end of a sleep, and after answers from other processes (`approve`, `reject`,
/// `revise` or `resume` with --record-only). Threads that wait for an answer, failed, or stopped at a breakpoint are not
/// resumed. Runs until Ctrl-C: then runs end after their superstep, and can be resumed.
///
/// A hook is a command for `sh` or a URL. It gets JSON (on standard input, or as the body of a POST): for a question, the thread,
/// the question and the commands that answer it; for the end of a run, the thread, its status and its error. A command also
/// gets the environment variables SUPERSTEP_THREAD, SUPERSTEP_GRAPH, SUPERSTEP_STATUS, SUPERSTEP_QUESTION (its id),
/// SUPERSTEP_NAME, SUPERSTEP_PAYLOAD and SUPERSTEP_ANSWER (the first command that answers).
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} runner --until-idle
  {bin} runner --for 8h --on-question 'mail -s \"$SUPERSTEP_THREAD asks\" ada' --on-stop https://example.org/hook")]
pub(crate) struct Runner {
    /// Exit once no thread can be resumed; sleeping threads are not waited for
    #[arg(long, conflicts_with = "lasting")]
    pub until_idle: bool,

    /// Exit after this time: 90s, 15m, 8h, 30d
    #[arg(id = "lasting", long = "for", value_name = "TIME", value_parser = span)]
    pub lasting: Option<Duration>,

    /// The name of this runner in `workers`; on a store of several machines no other may have it [default: its program]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Only threads of these graphs, separated by commas [default: every graph of this program]
    #[arg(long, value_name = "GRAPHS", value_delimiter = ',')]
    pub graphs: Vec<String>,

    /// Maximum number of threads that run at once
    #[arg(long, alias = "max-threads", value_name = "N", default_value_t = 16)]
    pub jobs: usize,

    /// On a store of several machines: the time after which another runner takes over the threads of one that died
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub lease: Option<Duration>,

    /// Remove, at this interval, what no kept checkpoint needs, and threads that have expired: see `[retention]` in the
    /// manual
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub gc_every: Option<Duration>,

    /// The file with the section `[retention]` [default: `superstep.toml` beside the store]
    #[arg(long, value_name = "FILE", requires = "gc_every")]
    pub config: Option<PathBuf>,

    /// Run the threads that Restate calls for, on this address, such as 127.0.0.1:9080; the store has to be one of several
    /// machines
    #[arg(long, value_name = "ADDRESS", conflicts_with = "until_idle")]
    pub restate: Option<String>,

    #[command(flatten)]
    pub restate_options: RestateOptions,

    /// Serve the numbers of this runner for Prometheus at this address, such as 127.0.0.1:9464, under /metrics
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,

    /// Maximum number of resumes of a thread that makes no progress
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub max_resumes: u32,

    /// Call this hook for each question of a run
    #[arg(long, value_name = "COMMAND|URL")]
    pub on_question: Option<String>,

    /// Call this hook after each run
    #[arg(long, value_name = "COMMAND|URL")]
    pub on_stop: Option<String>,

    /// Time limit of a hook that is a command
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "5m")]
    pub hook_timeout: Duration,
}

/// The options of a runner that Restate calls.
#[derive(Args, Clone, Debug)]
#[cfg_attr(not(feature = "restate"), allow(dead_code, reason = "the program has no Restate"))]
pub(crate) struct RestateOptions {
    /// With --restate: Restate's admin API, such as http://127.0.0.1:9070, at which the runner registers itself
    #[arg(long, value_name = "URL", requires = "restate")]
    pub admin: Option<String>,

    /// With --restate: the address that Restate calls, where it is another one: that of a load balancer
    #[arg(long, value_name = "URL", requires = "restate")]
    pub advertise: Option<String>,

    /// With --restate: the name of the service in Restate, which several stores may share [default: superstep]
    #[arg(long, value_name = "NAME", requires = "restate")]
    pub service: Option<String>,
}
