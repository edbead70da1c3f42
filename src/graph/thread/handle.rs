//! One conversation with a graph: run it, answer it, go on with it. Reading and rewriting its past is in `past`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::outcome::Outcome;
use super::request::Request;
use crate::checkpoint::{CheckpointId, Head, ThreadId};
use crate::graph::build::{CompiledGraph, Stops};
use crate::graph::context::{Cancellation, Limits, Stage};
use crate::graph::error::RunError;
use crate::graph::interrupt::{Answer, Interrupt};
use crate::graph::node::{Command, NodeId};
use crate::graph::records::{Durability, Outside};
use crate::graph::state::{IntoWrites, State};
use crate::graph::superstep::Position;

/// The default of [`Thread::max_state_bytes`], the maximum size of all values of a stored state together: 1 GiB.
pub const STATE_LIMIT: u64 = 1 << 30;

/// One conversation with a graph, as it is kept in a store under a name. LangGraph: a `thread_id` and its config.
///
/// Options are set on the handle before a run; a clone is cheap and goes on with the same stored thread. A run claims the
/// thread: a second one at the same time is refused with `ThreadBusy` (V5). Reading never waits for a run.
///
/// ```
/// # use std::sync::Arc;
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { topic: String, #[channel(add)] runs: u32 }
/// # #[derive(NodeId)] enum Step { Write }
/// # async fn write(_: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> { Ok(Draft::update().runs(1)) }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let graph = StateGraph::new().add_node(Step::Write, write).add_sequence([Step::Write]).compile()?;
/// let graph = graph.with_checkpointer(MemoryCheckpointer::new());
/// let thread = graph.thread("essay-1").recursion_limit(100).durability(Durability::Async);
/// thread.invoke(Draft::update().topic("tides")).await?;
/// let outcome = thread.invoke(Draft::update()).await?; // goes on from the state the first run ended with
/// assert_eq!((outcome.state().runs, outcome.state().topic.as_str()), (2, "tides"));
/// # Ok(()) }
/// ```
#[must_use]
pub struct Thread<S: State, N, C = ()> {
    pub(crate) graph: CompiledGraph<S, N, C>,
    pub(crate) id: Option<ThreadId>,
    pub(crate) context: Arc<C>,
    pub(crate) at: Option<CheckpointId>,
    pub(crate) scope: Scope,
    pub(crate) kept: Kept<S>,
    pub(crate) limits: Limits,
    pub(crate) settings: RunSettings,
    pub(crate) cancellation: Cancellation,
    pub(crate) environment: ThreadEnvironment,
}

/// The settings of a handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunSettings {
    pub durability: Durability,
    /// Overrides the graph's breakpoints.
    pub before: Option<Stops<u32>>,
    pub after: Option<Stops<u32>>,
    pub supersteps: Option<u64>,
    pub wall_time: Option<Duration>,
    /// Set if input discards what is pending.
    pub discard: bool,
    /// Set if breakpoints are stored with the thread.
    pub remembers: bool,
    /// Set if a run claims the thread from another.
    pub take_over: bool,
    /// Set if a run repeats the unfinished superstep, on a checkpoint of its own.
    pub restart_superstep: bool,
    pub metadata: Vec<(String, String)>,
}

/// The world outside a thread.
#[derive(Clone, Default)]
pub(crate) struct ThreadEnvironment {
    /// Clock and random numbers.
    pub outside: Outside,
    /// Replaces effects in tests.
    pub stage: Option<Arc<dyn Stage>>,
    /// Set if custom events are stored.
    pub records_events: bool,
}

/// The end of the last run, with the thread's head as that run left it.
type Kept<S> = Arc<Mutex<Option<(Head, Position<S>)>>>;

impl<S: State, N: NodeId, C> Clone for Thread<S, N, C> {
    fn clone(&self) -> Self {
        Self {
            graph: self.graph.clone(),
            id: self.id.clone(),
            context: Arc::clone(&self.context),
            scope: self.scope.clone(),
            kept: Arc::clone(&self.kept),
            settings: self.settings.clone(),
            cancellation: self.cancellation.clone(),
            environment: self.environment.clone(),
            ..*self
        }
    }
}

impl<S: State, N, C> std::fmt::Debug for Thread<S, N, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thread").field("id", &self.id).field("at", &self.at).finish_non_exhaustive()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    pub(crate) fn new(graph: CompiledGraph<S, N, C>, id: Option<ThreadId>, context: Arc<C>) -> Self {
        let limits = Limits {
            recursion: graph.recursion,
            concurrency: usize::MAX,
            fail_fast: false,
            rerun_unanswered: false,
            only_output: false,
            state_bytes: STATE_LIMIT,
            may_ask: false,
        };
        Self {
            graph,
            id,
            context,
            at: None,
            scope: Scope::default(),
            kept: Arc::default(),
            limits,
            settings: RunSettings::default(),
            cancellation: Cancellation::default(),
            environment: ThreadEnvironment::default(),
        }
    }

    /// Returns the thread's name.
    pub fn id(&self) -> Option<&ThreadId> {
        self.id.as_ref()
    }

    /// Addresses a checkpoint instead of the newest: what runs or is written from there begins a new branch, which is the
    /// thread's newest then. Nothing of the old one is lost. LangGraph: `checkpoint_id` in the config.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State, Writes};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>, other_topic: Writes<S>) -> Result<(), RunError> {
    /// let there = thread.clone().at(CheckpointId(3));
    /// there.update_state(other_topic).await?; // a fork with an edit ...
    /// thread.proceed().await?; // ... and on from it
    /// # Ok(()) }
    /// ```
    pub fn at(mut self, checkpoint: CheckpointId) -> Self {
        self.at = Some(checkpoint);
        self
    }

    /// Sets how many supersteps a run may take before it is an error; unless set, what the graph says, or
    /// [`RECURSION_LIMIT`](crate::graph::RECURSION_LIMIT). As in LangGraph, START counts, so a graph of K steps needs a limit of K + 1.
    pub fn recursion_limit(mut self, supersteps: u64) -> Self {
        self.limits.recursion = supersteps;
        self
    }

    /// Sets how many bytes all values of a stored state may have together, as they are encoded; [`STATE_LIMIT`] unless set.
    /// A superstep that brings a graph's state over it fails with [`RunError::StateTooLarge`] and is not applied.
    pub fn max_state_bytes(mut self, bytes: u64) -> Self {
        self.limits.state_bytes = bytes;
        self
    }

    /// Sets when a superstep counts as done.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Stores what nodes emit ([`Ctx::emit`](crate::graph::Ctx::emit), [`emit_message`](crate::graph::Ctx::emit_message)), so
    /// that a [replay](Self::replay) tells it again. Events ride on the run's next commit: a process that is killed loses those
    /// of tasks that had not ended. Events of more than 1 MiB are left out. They go with the thread; forks do not copy them.
    pub fn record_events(mut self) -> Self {
        self.environment.records_events = true;
        self
    }

    /// Limits how many tasks run at once, over all levels of a run; 0 counts as 1. A task that waits for its subgraphs does not
    /// count, so that they can run. For a limit that threads share see [`group`](crate::graph::NodeOptions::group).
    pub fn max_concurrency(mut self, tasks: usize) -> Self {
        self.limits.concurrency = tasks.max(1);
        self
    }

    /// Cancels the siblings of a task that fails, instead of letting them finish.
    pub fn fail_fast(mut self) -> Self {
        self.limits.fail_fast = true;
        self
    }

    /// On resume, runs paused tasks again that got no answer, as LangGraph does (V12).
    pub fn rerun_unanswered(mut self) -> Self {
        self.limits.rerun_unanswered = true;
        self
    }

    /// Lets a stream show only the graph's output channels, as it always does for subgraphs. LangGraph: what `invoke` sees.
    pub fn only_output(mut self) -> Self {
        self.limits.only_output = true;
        self
    }

    /// Stops this run before these nodes, instead of the graph's own breakpoints. A name that is no node is ignored, as in
    /// LangGraph.
    pub fn interrupt_before(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.settings.before = Some(Stops::At(self.indexes(nodes)));
        self
    }

    /// Stops this run after these nodes, instead of the graph's own breakpoints. A name that is no node is ignored, as in
    /// LangGraph.
    pub fn interrupt_after(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.settings.after = Some(Stops::At(self.indexes(nodes)));
        self
    }

    /// Stops this run before every superstep.
    pub fn interrupt_before_all(mut self) -> Self {
        self.settings.before = Some(Stops::All);
        self
    }

    /// Stops this run after every superstep.
    pub fn interrupt_after_all(mut self) -> Self {
        self.settings.after = Some(Stops::All);
        self
    }

    fn indexes(&self, nodes: impl IntoIterator<Item = N>) -> Vec<u32> {
        nodes.into_iter().filter_map(|node| self.graph.table.at(&node)).collect()
    }

    /// Adds a word of your own to every checkpoint that this handle makes by runs and updates, those of subgraphs included.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.metadata.push((key.into(), value.into()));
        self
    }

    /// Ends the run in [`Outcome::Budget`] after so many supersteps. With 0 an answer or a command is stored, and nothing runs.
    pub fn max_supersteps(mut self, supersteps: u64) -> Self {
        self.settings.supersteps = Some(supersteps);
        self
    }

    /// Ends the run in [`Outcome::Budget`] at the first superstep after so much time.
    pub fn max_wall_time(mut self, limit: Duration) -> Self {
        self.settings.wall_time = Some(limit);
        self
    }

    /// Cancels the run when the token is cancelled: running tasks are dropped, finished ones are kept, and the thread can go
    /// on with [`proceed`](Self::proceed).
    pub fn cancel_with(mut self, token: CancellationToken) -> Self {
        self.cancellation.cancel = Some(token);
        self
    }

    /// Stops the run after its present superstep when the token is cancelled. LangGraph: `request_drain`.
    pub fn drain_with(mut self, token: CancellationToken) -> Self {
        self.cancellation.drain = Some(token);
        self
    }

    /// Lets new input drop open questions and unfinished tasks (V4).
    pub fn discard_pending(mut self) -> Self {
        self.settings.discard = true;
        self
    }

    /// Takes the thread from another run that holds it, whose commits are refused from then on.
    pub fn take_over(mut self) -> Self {
        self.settings.take_over = true;
        self
    }

    /// Begins at START with new input and runs until there is a reason to stop. On a thread that finished before, the state
    /// goes on from there: the input is merged into it.
    ///
    /// # Errors
    /// [`RunError::Unfinished`] if something is open (see [`discard_pending`](Self::discard_pending));
    /// whatever a node, a reducer, a router or the store fails with. Everything done before is stored.
    pub async fn invoke(&self, input: impl IntoWrites<S>) -> Result<Outcome<S>, RunError> {
        self.run(Request::input(input)).await
    }

    /// Goes on with a thread that crashed, failed, was cancelled, drained or stopped at a breakpoint. With
    /// [`at`](Self::at), runs from that checkpoint again on a new branch: for real, side effects included. Tasks whose results
    /// are stored do not run again; on a finished or waiting thread it returns how it stands. LangGraph: `invoke(None)`.
    ///
    /// [`at`](Self::at) the newest checkpoint, if that is itself an update or a fork, no branch begins: its tasks run again
    /// and ask again, as with [`retry`](Self::retry), but their effects are not done again.
    ///
    /// # Errors
    /// [`RunError::EmptyInput`] if it never ran; otherwise as [`invoke`](Self::invoke).
    pub async fn proceed(&self) -> Result<Outcome<S>, RunError> {
        self.run(Request::proceed()).await
    }

    /// Answers the one open question of this type and goes on: `thread.resume::<Approve>(true).await?`. The answer is on disk
    /// before it is used, in every durability. LangGraph: `invoke(Command(resume=…))`.
    ///
    /// # Errors
    /// [`RunError::UnknownQuestion`] or [`RunError::AmbiguousAnswer`] with nothing written; otherwise as
    /// [`invoke`](Self::invoke).
    pub async fn resume<I: Interrupt>(&self, answer: I::Resume) -> Result<Outcome<S>, RunError> {
        self.answer(Answer::new::<I>(&answer)).await
    }

    /// Answers a question and goes on: by id, as JSON, with who answered; see [`Answer`]. Several answers at once:
    /// [`Request::answers`] with [`run`](Self::run).
    ///
    /// # Errors
    /// [`RunError::UnknownQuestion`], [`RunError::AlreadyAnswered`], [`RunError::AmbiguousAnswer`] or
    /// [`RunError::MistypedAnswer`] with nothing written; otherwise as [`invoke`](Self::invoke).
    pub async fn answer(&self, answer: Answer) -> Result<Outcome<S>, RunError> {
        self.run(Request::answers([answer])).await
    }

    /// Applies an update and goes to nodes, besides whatever waits.
    ///
    /// # Errors
    /// As [`invoke`](Self::invoke).
    pub async fn command(&self, command: Command<S, N>) -> Result<Outcome<S>, RunError> {
        self.run(Request::command(command)).await
    }

    /// Runs a request.
    ///
    /// # Errors
    /// As [`invoke`](Self::invoke) and [`answer`](Self::answer).
    pub async fn run(&self, request: Request<S, N>) -> Result<Outcome<S>, RunError> {
        self.perform(request, None).await
    }
}

/// The subgraph a thread handle is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The nodes on the way down; empty for the root graph.
    pub nodes: Vec<String>,
    /// The names that each of them has and had.
    pub names: Vec<Vec<String>>,
    /// One of them that the graph above does not have.
    pub unknown: Option<String>,
}
