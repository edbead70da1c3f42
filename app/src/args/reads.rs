//! Arguments of the commands that only read: threads, states, histories, graphs.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use superstep::graph::StatusKind;

use crate::threads::Format;
use crate::time::moment;

/// Reads the name of a status.
fn status() -> impl TypedValueParser<Value = StatusKind> {
    let values = StatusKind::ALL.iter().map(|kind| PossibleValue::new(kind.as_str()).help(status_word(*kind)));
    PossibleValuesParser::new(values)
        .try_map(|name| StatusKind::ALL.iter().copied().find(|kind| kind.as_str() == name).ok_or("no such status"))
}

fn status_word(standing: StatusKind) -> &'static str {
    match standing {
        StatusKind::New => "It has never run",
        StatusKind::Finished => "It has finished",
        StatusKind::Pending => "It has tasks to run",
        StatusKind::Interrupted => "It has pending questions",
        StatusKind::Stopped => "It is at a breakpoint",
        StatusKind::Waiting => "It waits for a time",
        StatusKind::AwaitingSignal => "It waits for a signal",
        StatusKind::Failed => "A task failed",
        StatusKind::NeedsMigration => "Another version of the graph stored it, and this version cannot resume it",
        StatusKind::Running => "A process is running it",
        StatusKind::Damaged => "One of its records cannot be read",
        _ => "See the documentation of this status",
    }
}

/// List threads or pending questions
///
/// Lists the threads of the store, the latest first: graph, status, superstep, time of the last one. With --waiting, lists all
/// pending questions with the commands that answer them. Options filter the list; --limit and --after page through it.
///
/// A thread that needs migration was stored by another version of its graph: `status THREAD` shows the differences and the
/// solutions. A damaged thread has a record that cannot be read: `repair` saves the rest of it, `delete` removes it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} threads --status failed\n  {bin} threads --waiting\n  \
                        {bin} threads --prefix order- --since 7d --limit 20")]
pub(crate) struct Threads {
    /// Only threads with this status
    #[arg(long, value_name = "STATUS", value_parser = status())]
    pub status: Option<StatusKind>,

    /// Only threads with pending questions, with the questions
    #[arg(long, conflicts_with = "status")]
    pub waiting: bool,

    /// Only threads whose name starts with this
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub prefix: String,

    /// Only threads of this graph
    #[arg(long, value_name = "NAME")]
    pub graph: Option<String>,

    /// Only threads whose newest checkpoint has this metadata; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub metadata: Vec<(String, String)>,

    /// Only threads that changed at or after this time: 2026-01-31, 2026-01-31T09:30:00Z, or an age such as 2h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<u64>,

    /// Only threads that changed before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub before: Option<u64>,

    /// Maximum number of threads
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    /// Start after this thread, the last one of the previous page
    #[arg(long, value_name = "THREAD")]
    pub after: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not metadata: write KEY=VALUE"))?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Show a thread's status, state, next nodes and pending questions
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} status first\n  {bin} status first --json")]
pub(crate) struct Status {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,
}

/// List the checkpoints of a thread, newest first
///
/// Lists the checkpoints of a thread, newest first. With --tasks, also lists the tasks of each, with their journals: effects,
/// recorded values, questions and answers of each attempt.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} history first\n  {bin} history first --channel text --limit 5\n  \
                        {bin} history first --tasks --json")]
pub(crate) struct HistoryArgs {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// Only checkpoints that changed this channel, with its value
    #[arg(long, value_name = "NAME")]
    pub channel: Option<String>,

    /// Maximum number of checkpoints
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    /// List the tasks of each checkpoint, with their journals
    #[arg(long, conflicts_with = "channel")]
    pub tasks: bool,
}

/// Show a checkpoint: its state and its tasks
///
/// Shows a checkpoint, by default the newest: its state and its tasks, with their writes, questions and answers, and their
/// journals: effects with arguments, results and times, recorded values, runs of subgraphs. For a single task, also shows its
/// input, and the prompts and actions of agents in full.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  {bin} show first\n  {bin} show first --at 3\n  {bin} show first --at 3 --task 3-0"
)]
pub(crate) struct Show {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The checkpoint; `history` lists the numbers
    #[arg(long, value_name = "CHECKPOINT", value_parser = super::checkpoints::checkpoint)]
    pub at: Option<u64>,

    /// Only this task, by its id or the name of its node
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
}

/// Print a thread's events, oldest first
///
/// Prints the events of a thread, oldest first. With --follow, also prints new events until the current run of the thread
/// ends; if no process runs it, ends immediately. With --follow and --json, prints one event per line.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} events first --json\n  {bin} events first --follow")]
pub(crate) struct EventsArgs {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// Print new events until the run of the thread ends
    #[arg(long)]
    pub follow: bool,
}

/// Show the live view of a thread that another process runs
///
/// Shows the live view of the process that runs the thread: its tasks, and for each agent the task, the attempt, the elapsed
/// time, the usage and the last action. Ends with that run; if no process runs the thread, shows its status. With --json,
/// prints one event per line.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} watch first")]
pub(crate) struct WatchArgs {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,
}

/// Print the full history of a thread: prompts, actions, reviews, checks, cost
///
/// Prints everything that happened in a thread, from its first step: the prompts, actions, results and cost of agents, checks,
/// reviews, commits, questions and answers. For a graph without agents, prints the values that each task wrote, its effects,
/// and its failed attempts in order, with their times.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} log first\n  {bin} log first --task 2 --attempt 1")]
pub(crate) struct Log {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// Only this task of the plan
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,

    /// Only this attempt
    #[arg(long, value_name = "N")]
    pub attempt: Option<u64>,
}

/// List the runners of a store that several machines share
///
/// Lists the runners with their machines, the threads that each holds, and when it was last seen, by the clock of the store. One
/// that died leaves the list after ten leases.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} workers --json")]
pub(crate) struct WorkersArgs {}

/// List the graphs of this program
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} graphs --json")]
pub(crate) struct Graphs {}

/// Draw a graph, or the position of a thread in it
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} graph {graph}\n  {bin} graph {graph} --format dot | dot -Tsvg > graph.svg")]
pub(crate) struct Draw {
    /// The graph; `graphs` lists the names
    #[arg(value_name = "NAME")]
    pub name: String,

    /// The format of the drawing
    #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
    pub format: Format,

    /// Mark the next nodes and pending questions of this thread
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,

    /// Number of levels of subgraphs to expand
    #[arg(long, value_name = "LEVELS", default_value_t = 0)]
    pub depth: usize,
}

/// Print a script that completes commands in a shell
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} completions bash > ~/.local/share/bash-completion/completions/{bin}")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}
