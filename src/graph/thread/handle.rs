//! A thread handle: its options, and the runs that it starts; how a compiled graph gives one.
//!
//! Knows what a run is asked for and what it returns; what it does in between is in `run_request` and `resume`.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::outcome::Outcome;
use super::request::Request;
use crate::checkpoint::{CheckpointId, Lease, ThreadId, ThreadPlace};
use crate::graph::build::{CompiledGraph, GraphCore, StopOverrides, Stops};
use crate::graph::context::{AnyContext, Cancellation, DefaultContext, Limits, LoggedSecrets, Stage};
use crate::graph::error::RunError;
use crate::graph::interrupt::{Answer, Interrupt};
use crate::graph::node::{Command, NodeId};
use crate::graph::records::{Durability, Host};
use crate::graph::state::{IntoWrites, State};

/// The default of [`Thread::max_state_bytes`], the maximum size of all values of a stored state together: 1 GiB.
pub const STATE_LIMIT: u64 = 1 << 30;

/// A thread of a graph, stored under a name. LangGraph: a `thread_id` and its config.
///
/// Options are set on the handle before a run; a clone is cheap and continues the same stored thread. A run claims the
/// thread: a second run at the same time fails with `ThreadBusy` (V5). Reading never waits for a run.
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
/// let outcome = thread.invoke(Draft::update()).await?; // continues from the final state of the first run
/// assert_eq!((outcome.state().runs, outcome.state().topic.as_str()), (2, "tides"));
/// # Ok(()) }
/// ```
#[must_use]
pub struct Thread<S: State, N, C = ()> {
    pub(crate) core: ThreadCore,
    types: PhantomData<fn(S, N, C)>,
}

/// A thread handle without its types. What a program calls of it returns a boxed future, so that it is compiled here.
#[derive(Clone)]
#[must_use]
pub(crate) struct ThreadCore {
    pub graph: GraphCore,
    pub id: Option<ThreadId>,
    pub context: AnyContext,
    pub at: Option<CheckpointId>,
    pub scope: Scope,
    pub limits: Limits,
    pub settings: RunSettings,
    pub cancellation: Cancellation,
    pub environment: ThreadEnvironment,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RunSettings {
    pub durability: Durability,
    pub stops: StopOverrides,
    pub supersteps: Option<u64>,
    pub wall_time: Option<Duration>,
    /// Set if input discards what is pending.
    pub discard: bool,
    /// Set if breakpoints are stored with the thread.
    pub remembers: bool,
    /// Set if a run takes the thread over from another run.
    pub take_over: bool,
    /// Set if a run repeats the unfinished superstep, on a new checkpoint.
    pub restart_superstep: bool,
    /// Set if custom events are stored.
    pub records_events: bool,
    pub metadata: Vec<(String, String)>,
    /// The place to which the thread is bound.
    pub place: Option<ThreadPlace>,
}

/// A lease under which the next run of a thread runs, in place of a claim of its own. Clones of a handle share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeaseSlot(Arc<Mutex<Option<Lease>>>);

impl LeaseSlot {
    pub(crate) fn of(lease: Lease) -> Self {
        Self(Arc::new(Mutex::new(Some(lease))))
    }

    /// Takes the lease, unless a run has taken it.
    pub(crate) fn take(&self) -> Option<Lease> {
        self.lock().take()
    }

    /// Takes the lease if it is one of this thread.
    pub(crate) fn take_for(&self, thread: &ThreadId) -> Option<Lease> {
        self.lock().take_if(|lease| lease.thread() == thread)
    }

    /// Returns true if no run has taken the lease on this thread yet.
    pub(crate) fn holds(&self, thread: &ThreadId) -> bool {
        self.lock().as_ref().is_some_and(|lease| lease.thread() == thread)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The world outside a thread.
#[derive(Clone, Default)]
pub(crate) struct ThreadEnvironment {
    /// Set if the thread was claimed before its run.
    pub lease: LeaseSlot,
    /// Clock and random numbers.
    pub host: Host,
    /// Replaces effects in tests.
    pub stage: Option<Arc<dyn Stage>>,
    /// Set for the time of a run whose end is logged or whose events are read: the values that are hidden in them.
    pub secrets: Option<Arc<LoggedSecrets>>,
}

impl<S: State, N: NodeId, C> Clone for Thread<S, N, C> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), types: PhantomData }
    }
}

impl<S: State, N, C> std::fmt::Debug for Thread<S, N, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thread").field("id", &self.core.id).field("at", &self.core.at).finish_non_exhaustive()
    }
}

impl ThreadCore {
    pub(crate) fn new(graph: GraphCore, id: Option<ThreadId>, context: AnyContext) -> Self {
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
            limits,
            settings: RunSettings::default(),
            cancellation: Cancellation::default(),
            environment: ThreadEnvironment::default(),
        }
    }

    fn indexes<N: NodeId>(&self, nodes: impl IntoIterator<Item = N>) -> Vec<u32> {
        nodes.into_iter().filter_map(|node| self.graph.table.node_index(node.name())).collect()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    pub(crate) fn of(core: ThreadCore) -> Self {
        Self { core, types: PhantomData }
    }

    /// Returns the graph of the thread.
    pub fn graph(&self) -> CompiledGraph<S, N, C> {
        CompiledGraph::of(self.core.graph.clone())
    }

    /// Returns the thread's name.
    pub fn id(&self) -> Option<&ThreadId> {
        self.core.id.as_ref()
    }

    /// Addresses a checkpoint instead of the newest: runs and updates from there start a new branch, which becomes the
    /// newest. Nothing of the old branch is lost. LangGraph: `checkpoint_id` in the config.
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
        self.core.at = Some(checkpoint);
        self
    }

    /// Sets the number of supersteps after which a run fails; unless set, the graph's limit, or
    /// [`RECURSION_LIMIT`](crate::graph::build::RECURSION_LIMIT). As in LangGraph, START counts, so a graph of K steps needs a
    /// limit of K + 1.
    pub fn recursion_limit(mut self, supersteps: u64) -> Self {
        self.core.limits.recursion = supersteps;
        self
    }

    /// Sets the maximum encoded size of all values of a stored state together, in bytes; [`STATE_LIMIT`] unless set. A
    /// superstep that exceeds it fails with [`RunError::StateTooLarge`] and is not applied.
    pub fn max_state_bytes(mut self, bytes: u64) -> Self {
        self.core.limits.state_bytes = bytes;
        self
    }

    /// Sets when a superstep counts as done.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.core.settings.durability = durability;
        self
    }

    /// Stores the events that nodes emit ([`Ctx::emit`](crate::graph::Ctx::emit),
    /// [`emit_message`](crate::graph::Ctx::emit_message)), so that a [replay](Self::replay) emits them again. Events
    /// are part of the run's next commit: a process that is killed loses those of unfinished tasks. Events of more than
    /// 1 MiB are left out. They are deleted with the thread; forks do not copy them.
    pub fn record_events(mut self) -> Self {
        self.core.settings.records_events = true;
        self
    }

    /// Limits the number of tasks that run at once, over all levels of a run; 0 counts as 1. A task that waits for its
    /// subgraphs does not count, so that they can run. For a limit shared by threads see
    /// [`group`](crate::graph::node::NodeOptions::group).
    pub fn max_concurrency(mut self, tasks: usize) -> Self {
        self.core.limits.concurrency = tasks.max(1);
        self
    }

    /// Cancels the siblings of a task that fails, instead of letting them finish.
    pub fn fail_fast(mut self) -> Self {
        self.core.limits.fail_fast = true;
        self
    }

    /// On resume, reruns interrupted tasks that got no answer, as LangGraph does (V12).
    pub fn rerun_unanswered(mut self) -> Self {
        self.core.limits.rerun_unanswered = true;
        self
    }

    /// Limits a stream to the graph's output channels, as it always is for subgraphs. LangGraph: what `invoke` sees.
    pub fn only_output(mut self) -> Self {
        self.core.limits.only_output = true;
        self
    }

    /// Stops this run before these nodes, instead of the graph's own breakpoints. A name that is no node is ignored, as in
    /// LangGraph.
    pub fn interrupt_before(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.core.settings.stops.before = Some(Stops::At(self.core.indexes(nodes)));
        self
    }

    /// Stops this run after these nodes, instead of the graph's own breakpoints. A name that is no node is ignored, as in
    /// LangGraph.
    pub fn interrupt_after(mut self, nodes: impl IntoIterator<Item = N>) -> Self {
        self.core.settings.stops.after = Some(Stops::At(self.core.indexes(nodes)));
        self
    }

    /// Stops this run before every superstep.
    pub fn interrupt_before_all(mut self) -> Self {
        self.core.settings.stops.before = Some(Stops::All);
        self
    }

    /// Stops this run after every superstep.
    pub fn interrupt_after_all(mut self) -> Self {
        self.core.settings.stops.after = Some(Stops::All);
        self
    }

    /// Adds metadata to every checkpoint that this handle makes by runs and updates, those of subgraphs included.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.core.settings.metadata.push((key.into(), value.into()));
        self
    }

    /// Ends the run in [`Outcome::Budget`] after this many supersteps. With 0 an answer or a command is stored, and
    /// nothing runs.
    pub fn max_supersteps(mut self, supersteps: u64) -> Self {
        self.core.settings.supersteps = Some(supersteps);
        self
    }

    /// Ends the run in [`Outcome::Budget`] at the first superstep after this much time.
    pub fn max_wall_time(mut self, limit: Duration) -> Self {
        self.core.settings.wall_time = Some(limit);
        self
    }

    /// Cancels the run when the token is cancelled: running tasks are dropped, finished ones are kept, and
    /// [`proceed`](Self::proceed) resumes the thread.
    pub fn cancel_with(mut self, token: CancellationToken) -> Self {
        self.core.cancellation.cancel = Some(token);
        self
    }

    /// Stops the run after the current superstep when the token is cancelled. LangGraph: `request_drain`.
    pub fn drain_with(mut self, token: CancellationToken) -> Self {
        self.core.cancellation.drain = Some(token);
        self
    }

    /// Lets new input drop pending questions and unfinished tasks (V4).
    pub fn discard_pending(mut self) -> Self {
        self.core.settings.discard = true;
        self
    }

    /// Takes the thread over from another run, whose commits fail from then on.
    pub fn take_over(mut self) -> Self {
        self.core.settings.take_over = true;
        self
    }

    /// Starts at START with new input and runs until the run ends or stops. On a thread that finished before, the input
    /// is merged into its state.
    ///
    /// # Errors
    /// [`RunError::Unfinished`] if tasks or questions are pending (see [`discard_pending`](Self::discard_pending)); any
    /// error of a node, a reducer, a router or the store. Everything done before is stored.
    pub async fn invoke(&self, input: impl IntoWrites<S>) -> Result<Outcome<S>, RunError> {
        self.run(Request::input(input)).await
    }

    /// Resumes a thread that crashed, failed, was cancelled, drained or stopped at a breakpoint. With [`at`](Self::at),
    /// runs again from that checkpoint on a new branch, side effects included. Tasks whose results are stored do not
    /// run again; on a finished or waiting thread it returns the present outcome. LangGraph: `invoke(None)`.
    ///
    /// [`at`](Self::at) the newest checkpoint, if that is itself an update or a fork, no branch starts: its tasks run
    /// and interrupt again, as with [`retry`](Self::retry), but their effects are not repeated.
    ///
    /// # Errors
    /// [`RunError::EmptyInput`] if it never ran; otherwise as [`invoke`](Self::invoke).
    pub async fn proceed(&self) -> Result<Outcome<S>, RunError> {
        self.run(Request::proceed()).await
    }

    /// Drops the results of the unfinished superstep, answers included, and runs all of its tasks again (V3): for when
    /// two tasks wrote one channel, or a reducer failed. To run only the failed tasks again, use `proceed()`.
    ///
    /// # Errors
    /// As [`invoke`](Self::invoke).
    pub async fn retry(&self) -> Result<Outcome<S>, RunError> {
        Ok(self.core.retry().await?.typed())
    }

    /// Restarts the unfinished superstep with the next run: [`retry`](Self::retry) as a setting, for a stream.
    pub fn restart_superstep(mut self) -> Self {
        self.core = self.core.restart_superstep();
        self
    }

    /// Answers the one pending question of this type and resumes: `thread.resume::<Approve>(true).await?`. The answer
    /// is on disk before it is used, in every durability. LangGraph: `invoke(Command(resume=…))`.
    ///
    /// # Errors
    /// [`RunError::UnknownQuestion`] or [`RunError::AmbiguousAnswer`] with nothing written; otherwise as
    /// [`invoke`](Self::invoke).
    pub async fn resume<I: Interrupt>(&self, answer: I::Resume) -> Result<Outcome<S>, RunError> {
        self.answer(Answer::new::<I>(&answer)).await
    }

    /// Answers a question and resumes: by id, as JSON, with the name of the person who answers; see [`Answer`]. For
    /// several answers at once use [`Request::answers`] with [`run`](Self::run).
    ///
    /// # Errors
    /// [`RunError::UnknownQuestion`], [`RunError::AlreadyAnswered`], [`RunError::AmbiguousAnswer`] or
    /// [`RunError::MistypedAnswer`] with nothing written; otherwise as [`invoke`](Self::invoke).
    pub async fn answer(&self, answer: Answer) -> Result<Outcome<S>, RunError> {
        self.run(Request::answers([answer])).await
    }

    /// Applies an update and starts nodes, in addition to the pending tasks.
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
        self.core.run(request.into()).await.map(Outcome::typed)
    }
}

/// The subgraph that a handle addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The nodes that contain it, outermost first; empty for the root graph.
    pub nodes: Vec<String>,
    /// The present and former names of each of these nodes.
    pub names: Vec<Vec<String>>,
    /// The first of these nodes that its graph does not have.
    pub unknown: Option<String>,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> CompiledGraph<S, N, C> {
    /// Returns a thread of the graph with the default context; see [`thread_with`](Self::thread_with) for another.
    /// Nothing is read or claimed yet. Without a checkpointer its runs are not stored.
    pub fn thread(&self, id: impl Into<ThreadId>) -> Thread<S, N, C>
    where
        C: DefaultContext,
    {
        self.thread_with(id, C::default_context())
    }

    /// Returns a thread of the graph.
    pub fn thread_with(&self, id: impl Into<ThreadId>, context: impl Into<Arc<C>>) -> Thread<S, N, C> {
        Thread::of(ThreadCore::new(self.core.clone(), Some(id.into()), context.into()))
    }

    /// Runs the graph once, without a thread: nothing is stored.
    ///
    /// # Errors
    /// Whatever the run fails with; [`RunError::NoCheckpointer`] if the graph can ask questions.
    pub async fn invoke(&self, input: impl IntoWrites<S>) -> Result<Outcome<S>, RunError>
    where
        C: DefaultContext,
    {
        self.invoke_with(input, C::default_context()).await
    }

    /// Runs the graph once with a context, without a thread: nothing is stored.
    ///
    /// # Errors
    /// Whatever the run fails with; [`RunError::NoCheckpointer`] if the graph can ask questions.
    pub async fn invoke_with(
        &self,
        input: impl IntoWrites<S>,
        context: impl Into<Arc<C>>,
    ) -> Result<Outcome<S>, RunError> {
        self.detached_thread(context).run(Request::input(input)).await
    }

    /// Returns a run without a thread, to set options on: nothing is stored.
    pub fn detached_thread(&self, context: impl Into<Arc<C>>) -> Thread<S, N, C> {
        let mut graph = self.core.clone();
        graph.store = None;
        Thread::of(ThreadCore::new(graph, None, context.into()))
    }
}
