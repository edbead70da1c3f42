//! [`AnyGraph`] and [`AnyThread`]: registered graphs without their types. The one place where state and node ids are
//! erased; everything above uses JSON.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgMatches, Command};
use serde_json::Value;

use super::custom_output::Said;
use super::decide::Reply;
use super::failure::{Exit, Failure};
use super::settings::{ForkWrites, Labels};
use super::shapes::{BlockingNode, CheckpointReport, Draft, GraphLine, HistoryStep, ReplacedValue, ThreadReport};
use super::stops::StopArgs;
use crate::checkpoint::{BoxFuture, CheckpointId, Checkpointer, ThreadId};
use crate::graph::{Answer, CancellationToken, Event, InterruptId, RunError, SignalId, SignalRequest, Status, Verdict};

/// Future of a fallible call.
pub(crate) type Call<'a, T> = BoxFuture<'a, Result<T, Failure>>;

pub(crate) trait AnyGraph: Send + Sync {
    fn name(&self) -> &str;
    fn line(&self) -> GraphLine;
    fn has_breakpoints(&self) -> bool;
    fn fingerprint(&self) -> u64;
    fn draw(&self, format: Format, depth: usize) -> String;
    /// Adds the graph's own arguments to the command that runs it; returns their ids.
    fn graph_args(&self, command: Command) -> (Command, Vec<String>);
    /// Returns examples of arguments of `run`, for its help.
    fn examples(&self) -> &[String];
    /// Converts JSON to input.
    fn input(&self, json: &Value) -> Result<ErasedWrites, Failure>;
    /// Converts the graph's own arguments to input.
    fn read(&self, matches: &ArgMatches, thread: Option<&str>) -> Result<ParsedInput, Failure>;
    /// Returns true if a finished thread takes no further input.
    fn takes_one_input(&self) -> bool;
    fn thread(&self, store: Arc<dyn Checkpointer>, id: ThreadId) -> Arc<dyn AnyThread>;
}

pub(crate) trait AnyThread: Send + Sync {
    fn run(&self, go: RunRequest, cancel: CancellationToken) -> Result<Box<dyn AnyRun>, Failure>;
    /// Returns the thread with these stop points, which its next run stores; unchanged if there are none.
    fn with_stops(self: Arc<Self>, stops: &StopArgs) -> Result<Arc<dyn AnyThread>, Failure>;
    /// Returns the values that an input replaces in the state.
    fn replaced<'a>(&'a self, input: &'a ErasedWrites) -> Call<'a, Vec<ReplacedValue>>;
    /// Returns the thread whose next run stops after this many supersteps.
    fn with_max_supersteps(self: Arc<Self>, limit: Option<u64>) -> Arc<dyn AnyThread>;
    /// Stores an answer and runs nothing.
    fn record(&self, answer: Answer) -> Call<'_, ()>;
    /// Stores a signal and runs nothing.
    fn send(&self, request: SignalRequest) -> Call<'_, SignalId>;
    /// Removes a signal that no task has received.
    fn discard(&self, signal: SignalId) -> Call<'_, ()>;
    fn report(&self) -> Call<'_, ThreadReport>;
    fn labels(&self) -> Labels;
    /// Returns the cost so far, in millionths of a dollar; 0 if the graph reports none, or has not started.
    fn cost(&self) -> BoxFuture<'_, u64>;
    /// Returns the nodes that have blocked their executor thread in this process.
    fn blocking(&self) -> Vec<BlockingNode>;
    /// Returns true if such nodes are not warned of.
    fn never_blocks(&self) -> bool;
    /// Returns the git repository that the thread works in.
    fn repository(&self) -> BoxFuture<'_, Option<WorkRepository>>;
    /// Returns true if there are lines for a live view.
    fn has_board(&self) -> bool;
    fn status(&self) -> BoxFuture<'_, Result<Status, RunError>>;
    /// Rejects an answer where no question is open, or that the graph's own check refuses.
    fn check<'a>(&'a self, to: Option<InterruptId>, answer: Option<&'a Value>) -> Call<'a, ()>;
    /// Returns the text that a person edits to answer a question, and the question's id.
    fn draft(&self, to: Option<InterruptId>) -> Call<'_, Draft>;
    /// Converts an edited text to an answer.
    fn edited<'a>(&'a self, to: Option<InterruptId>, text: String) -> Call<'a, Answer>;
    /// Converts `approve`, `reject` or `revise` to an answer.
    fn decide<'a>(&'a self, to: Option<InterruptId>, reply: &'a Reply) -> Call<'a, Answer>;
    fn history<'a>(&'a self, limit: usize, channel: Option<&'a str>) -> Call<'a, Vec<HistoryStep>>;
    /// Returns the history with the tasks of each checkpoint and their journals.
    fn history_with_tasks(&self, limit: usize) -> Call<'_, Vec<HistoryStep>>;
    /// Returns the events from a checkpoint on, or from the first, oldest first.
    fn events(&self, from: Option<CheckpointId>) -> Call<'_, Vec<Value>>;
    /// Compares the thread with the present graph.
    fn verify(&self, from: Option<CheckpointId>) -> Call<'_, (Value, String, Verdict)>;
    /// Returns the result that the thread would have had with the present graph.
    fn what_if(&self, from: Option<CheckpointId>) -> Call<'_, (Value, String)>;
    /// Returns the decisions that other values of a policy would have given; none if the graph decides by no policy.
    fn policy_what_if<'a>(&'a self, changes: &'a [(String, String)]) -> Call<'a, Option<Said>>;
    /// Returns the differences between two checkpoints, for programs and for people.
    fn diff(&self, from: CheckpointId, to: CheckpointId) -> Call<'_, (Value, String)>;
    fn show(&self, at: Option<CheckpointId>) -> Call<'_, CheckpointReport>;
    fn update(&self, at: Option<CheckpointId>, node: Option<String>, values: ErasedWrites) -> Call<'_, Vec<String>>;
    /// Returns what a fork at a checkpoint writes, as a part of this thread or as a new one; none if the graph writes nothing.
    fn fork_writes<'a>(&'a self, at: CheckpointId, new: Option<&'a str>) -> Call<'a, Option<ForkWrites>>;
    /// Starts a new branch at a checkpoint.
    fn fork(&self, at: CheckpointId, values: Option<ErasedWrites>) -> Call<'_, Vec<String>>;
    /// Copies the thread as of a checkpoint into a new one.
    fn copy_to<'a>(&'a self, to: &'a str, at: CheckpointId) -> Call<'a, ()>;
    fn draw(&self, format: Format, depth: usize) -> Call<'_, String>;
}

pub(crate) trait AnyRun: Send {
    /// Returns the next event; none at the end of the run.
    fn next(&mut self) -> BoxFuture<'_, Option<Event>>;
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<Exit, RunError>>;
}

/// The git repository that a thread works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkRepository {
    /// The stored path of its work tree.
    pub folder: PathBuf,
    /// A commit of the work; none: it has not begun.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only repositories of agents are looked for"))]
    pub commit: Option<String>,
    /// The repository that it was started with.
    #[cfg(feature = "agents")]
    pub origin: Option<crate::workspace::Origin>,
}

/// The result of reading a graph's own arguments.
pub(crate) enum ParsedInput {
    Input(ErasedWrites),
    /// Prints this instead of running.
    Instead(Said),
}

/// Validated writes to a graph's channels, with the type erased.
pub(crate) struct ErasedWrites(pub Box<dyn Any + Send>);

/// The kind of a run.
pub(crate) enum RunRequest {
    Input(ErasedWrites),
    /// An input in place of one that was never applied.
    OtherInput(ErasedWrites),
    Answer(Box<Answer>),
    Proceed,
    /// Runs until the end of the superstep in which the token is cancelled.
    Drained(CancellationToken),
    Retry,
    /// Runs from a checkpoint on a new branch, or resumes from the current one.
    Live {
        at: Option<CheckpointId>,
        step: bool,
    },
}

/// The format of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A flowchart in Mermaid's language, as GitHub shows it.
    Mermaid,
    /// For Graphviz.
    Dot,
    /// Plain text.
    Ascii,
}
