//! A registered graph without its types: the one place where a state and node ids are forgotten. Everything above speaks
//! JSON.

use std::any::Any;
use std::sync::Arc;

use clap::{ArgMatches, Command};
use serde_json::Value;

use super::args::StopArgs;
use super::decide::Reply;
use super::exit::Exit;
use super::failure::Failure;
use super::said::Said;
use super::shapes::{Draft, GraphLine, Shown, Stand, Step};
use super::shows::Labels;
use crate::checkpoint::{BoxFuture, CheckpointId, Checkpointer, ThreadId};
use crate::graph::{Answer, CancellationToken, Event, InterruptId, RunError, SignalId, SignalRequest, Status, Verdict};

/// The future of a call that may fail.
pub(crate) type Call<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// A graph of a program.
pub(crate) trait AnyGraph: Send + Sync {
    fn name(&self) -> &str;
    fn line(&self) -> GraphLine;
    fn has_breakpoints(&self) -> bool;
    fn fingerprint(&self) -> u64;
    fn draw(&self, format: Format, depth: usize) -> String;
    /// Adds the graph's own arguments to the command that runs it; returns their ids.
    fn own_args(&self, command: Command) -> (Command, Vec<String>);
    /// Returns examples of arguments of `run`, for its help.
    fn examples(&self) -> &[String];
    /// Makes input of JSON.
    fn input(&self, json: &Value) -> Result<Writing, Failure>;
    /// Makes input of the graph's own arguments.
    fn read(&self, matches: &ArgMatches) -> Result<Read, Failure>;
    fn thread(&self, store: Arc<dyn Checkpointer>, id: ThreadId) -> Arc<dyn AnyThread>;
}

/// A thread of a registered graph.
pub(crate) trait AnyThread: Send + Sync {
    fn run(&self, go: Go, cancel: CancellationToken) -> Result<Box<dyn AnyRun>, Failure>;
    /// Returns the thread with these stop points, which its next run stores; none given: as it is.
    fn stopping(self: Arc<Self>, stops: &StopArgs) -> Result<Arc<dyn AnyThread>, Failure>;
    /// Stores an answer and runs nothing.
    fn record(&self, answer: Answer) -> Call<'_, ()>;
    /// Stores a signal and runs nothing.
    fn send(&self, request: SignalRequest) -> Call<'_, SignalId>;
    /// Removes a signal that no task has received.
    fn discard(&self, signal: SignalId) -> Call<'_, ()>;
    fn stand(&self) -> Call<'_, Stand>;
    /// The labels of its tasks.
    fn labels(&self) -> Labels;
    /// Returns true if there are lines for a live view.
    fn has_board(&self) -> bool;
    /// The status with its types' questions.
    fn status(&self) -> BoxFuture<'_, Result<Status, RunError>>;
    /// Refuses an answer that cannot be followed.
    fn check<'a>(&'a self, to: Option<InterruptId>, answer: &'a Value) -> Call<'a, ()>;
    /// Returns the text that a person edits to answer a question, and the question's id.
    fn draft(&self, to: Option<InterruptId>) -> Call<'_, Draft>;
    /// The answer that an edited text is.
    fn edited<'a>(&'a self, to: Option<InterruptId>, text: String) -> Call<'a, Answer>;
    /// The answer that a plain word comes to.
    fn decide<'a>(&'a self, to: Option<InterruptId>, reply: &'a Reply) -> Call<'a, Answer>;
    fn history<'a>(&'a self, limit: usize, channel: Option<&'a str>) -> Call<'a, Vec<Step>>;
    /// The same with the tasks of each checkpoint and their journals.
    fn worked(&self, limit: usize) -> Call<'_, Vec<Step>>;
    /// Returns the events from a checkpoint on, or from the first, oldest first.
    fn events(&self, from: Option<CheckpointId>) -> Call<'_, Vec<Value>>;
    /// Compares the thread with the present graph.
    fn verify(&self, from: Option<CheckpointId>) -> Call<'_, (Value, String, Verdict)>;
    /// Returns the result that the thread would have had with the present graph.
    fn what_if(&self, from: Option<CheckpointId>) -> Call<'_, (Value, String)>;
    /// Returns the decisions that other values of a policy would have given; none if the graph decides by no policy.
    fn reconsider<'a>(&'a self, changes: &'a [(String, String)]) -> Call<'a, Option<Said>>;
    /// Returns the differences between two checkpoints, for programs and for people.
    fn diff(&self, from: CheckpointId, to: CheckpointId) -> Call<'_, (Value, String)>;
    fn show(&self, at: Option<CheckpointId>) -> Call<'_, Shown>;
    fn update(&self, at: Option<CheckpointId>, node: Option<String>, values: Writing) -> Call<'_, Vec<String>>;
    /// Begins a new branch at a checkpoint.
    fn fork(&self, at: CheckpointId, values: Option<Writing>) -> Call<'_, Vec<String>>;
    /// Copies the thread as it was at a checkpoint into a new one.
    fn copy_to<'a>(&'a self, to: &'a str, at: CheckpointId) -> Call<'a, ()>;
    fn draw(&self, format: Format, depth: usize) -> Call<'_, String>;
}

/// A run under way.
pub(crate) trait AnyRun: Send {
    /// The next thing that happens; none once it has ended.
    fn next(&mut self) -> BoxFuture<'_, Option<Event>>;
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<Exit, RunError>>;
}

/// The result of reading a graph's own arguments.
pub(crate) enum Read {
    Input(Writing),
    /// Nothing is run.
    Instead(Said),
}

/// Checked writes of a graph, which only it can take.
pub(crate) struct Writing(pub Box<dyn Any + Send>);

/// The kind of a run.
pub(crate) enum Go {
    Input(Writing),
    Answer(Box<Answer>),
    Proceed,
    /// Proceeds until the superstep is over in which the token is cancelled.
    Drained(CancellationToken),
    Retry,
    /// Runs again from a checkpoint, on a new branch; or goes on from where the thread stands.
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
