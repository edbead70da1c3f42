//! Arguments of the commands that only read: threads, states, histories, graphs.

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::app::threads::Format;
use crate::app::time::moment;
use crate::graph::StatusKind;

impl ValueEnum for StatusKind {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.as_str()).help(status_word(*self)))
    }
}

fn status_word(standing: StatusKind) -> &'static str {
    match standing {
        StatusKind::New => "It has never run",
        StatusKind::Finished => "Nothing is left to run",
        StatusKind::Pending => "Something is left to run",
        StatusKind::Interrupted => "Questions are open",
        StatusKind::Stopped => "It stands at a breakpoint",
        StatusKind::Waiting => "It waits for a time",
        StatusKind::AwaitingSignal => "It waits for a signal",
        StatusKind::Failed => "A task failed",
        StatusKind::NeedsMigration => "Another version of the graph stored it, and this one cannot go on with it",
        StatusKind::Running => "A run holds it just now",
        StatusKind::Damaged => "One of its records cannot be read",
    }
}

/// List threads, or the questions that are open
///
/// Lists the threads of the store, the latest first: graph, status, superstep, time of the last one. With --waiting, lists all
/// open questions with the command that answers each. Options narrow the list; --limit and --after page through it.
///
/// One that needs migration was stored by another version of its graph: `status THREAD` says what does not fit and what to do.
/// One that is damaged has a record that cannot be read: `repair` saves what can be, `delete` removes it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} threads --status failed\n  {bin} threads --waiting\n  \
                        {bin} threads --prefix order- --since 7d --limit 20")]
pub(crate) struct Threads {
    /// Only threads that stand so
    #[arg(long, value_name = "STATUS")]
    pub status: Option<StatusKind>,

    /// Only threads with open questions, with the questions
    #[arg(long, conflicts_with = "status")]
    pub waiting: bool,

    /// Only threads whose names begin so
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub prefix: String,

    /// Only threads of this graph
    #[arg(long, value_name = "NAME")]
    pub graph: Option<String>,

    /// Only threads whose newest checkpoint has this metadata; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub metadata: Vec<(String, String)>,

    /// Only threads that changed at or after this time: 2026-01-31, 2026-01-31T09:30:00Z, or how long ago, as 2h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub since: Option<u64>,

    /// Only threads that changed before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub before: Option<u64>,

    /// At most so many
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    /// Begin after this thread of the list: the last one of the page before
    #[arg(long, value_name = "THREAD")]
    pub after: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is no metadata: write KEY=VALUE"))?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Show how a thread stands: its state, what runs next, what it asks
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} status first\n  {bin} status first --json")]
pub(crate) struct Status {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,
}

/// List the checkpoints of a thread, newest first
///
/// Lists the checkpoints of a thread, newest first. With --tasks, lists the tasks of each too, with their journals: what they
/// did, learned, asked and were answered, attempt by attempt.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} history first\n  {bin} history first --channel text --limit 5\n  \
                        {bin} history first --tasks --json")]
pub(crate) struct History {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// Only checkpoints where this channel changed, with its value
    #[arg(long, value_name = "NAME")]
    pub channel: Option<String>,

    /// At most so many
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    /// List the tasks of each checkpoint, with their journals
    #[arg(long, conflicts_with = "channel")]
    pub tasks: bool,
}

/// Show a checkpoint: its state, and what became of its tasks
///
/// Shows a checkpoint, the newest unless one is given: its state and its tasks, with what they wrote, asked and were
/// answered, and their journals: effects with arguments, results and times, recorded values, runs of subgraphs. Of a single
/// task, its input too, and what agents were asked and did in whole.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  {bin} show first\n  {bin} show first --at 3\n  {bin} show first --at 3 --task 3-0"
)]
pub(crate) struct Show {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// The checkpoint's number: `history` lists them
    #[arg(long, value_name = "CHECKPOINT", value_parser = super::checkpoints::checkpoint)]
    pub at: Option<u64>,

    /// Only this task, by its id or its node's name
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
}

/// Tell what happened in a thread, oldest first
///
/// Tells what happened in a thread, oldest first. With --follow, goes on while a process runs the thread, and ends with
/// that run, or at once if nobody runs it; with --json then, each event is a line.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} events first --json\n  {bin} events first --follow")]
pub(crate) struct Events {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// Go on telling until the run of the thread ends
    #[arg(long)]
    pub follow: bool,
}

/// Watch a thread that another process runs, as that process shows it
///
/// Shows what a process that runs the thread shows: its tasks, and of each agent the task, the attempt, the time, what it used
/// and what it did last. Ends with that run; where nobody runs the thread, it shows how the thread stands. With --json, each
/// event is a line.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} watch first")]
pub(crate) struct Watch {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,
}

/// Print the whole story of a thread: prompts, actions, reviews, checks, commits, cost
///
/// Prints what happened in a thread from its first step on: what agents were asked, what they did and handed over and what
/// that cost, the checks, the reviews, the commits, and what people were asked and said. Of a graph without agents it shows the
/// values that each task wrote, its effects, and its failed attempts in order, with their times.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} log first\n  {bin} log first --task 2 --attempt 1")]
pub(crate) struct Log {
    /// The thread's name
    #[arg(value_name = "THREAD")]
    pub thread: String,

    /// Only this task of a plan, by its number
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,

    /// Only this attempt
    #[arg(long, value_name = "N")]
    pub attempt: Option<u64>,
}

/// List the graphs of this program
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} graphs --json")]
pub(crate) struct Graphs {}

/// Draw a graph, or where a thread of it stands
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  {bin} graph {graph}\n  {bin} graph {graph} --format dot | dot -Tsvg > graph.svg")]
pub(crate) struct Draw {
    /// The graph's name: `graphs` lists them
    #[arg(value_name = "NAME")]
    pub name: String,

    /// In which language
    #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
    pub format: Format,

    /// Mark what runs next in this thread, and what it asks
    #[arg(long, value_name = "ID")]
    pub thread: Option<String>,

    /// How many levels of subgraphs are drawn in full
    #[arg(long, value_name = "LEVELS", default_value_t = 0)]
    pub depth: usize,
}

/// Print a script that completes commands in a shell
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  {bin} completions bash > ~/.local/share/bash-completion/completions/{bin}")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}
