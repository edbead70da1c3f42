//! What a node is handed besides its input: the run's context, the task's identity, questions, events, signs of life.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::checkpoint::{CheckpointId, EffectKind, Key, ReceiveRecord, ThreadId};

use super::cache::NodeCache;
use super::clock::Outside;
use super::error::RunError;
use super::event::Sink;
use super::keep::Keeps;
pub(crate) use super::known::{Answers, EarlierQuestion, Known, Rematch};
use super::origin::task_id;
use super::permits::Permits;
use super::places::Places;
use super::superstep::{Budgets, Exit};
use crate::graph::define::interrupt::Question;
use crate::graph::define::options::Asks;
use crate::graph::define::signal::SignalDeclarations;
use crate::graph::journal::book::Journal;
use crate::graph::journal::effect::Stage;
use crate::graph::records::recorder::Recorder;
use crate::graph::replay::report::Comparison;

/// The run's context and the task's identity; one pointer wide.
pub struct Ctx<C = ()>(pub(crate) Arc<TaskCtx<C>>);

impl<C> Clone for Ctx<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> std::fmt::Debug for Ctx<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ctx({} in superstep {})", self.0.facts.name, self.0.step)
    }
}

/// A context that a run may be given without being asked for one: any type with a default.
#[diagnostic::on_unimplemented(
    message = "a graph with the context `{Self}` is run with one, as it has no default",
    note = "give it: `graph.thread_with(id, context)`, `graph.invoke_with(input, context)`; or derive `Default` for `{Self}`"
)]
pub trait DefaultContext {
    /// Makes the context.
    fn default_context() -> Self;
}

#[diagnostic::do_not_recommend]
impl<C: Default> DefaultContext for C {
    fn default_context() -> Self {
        C::default()
    }
}

/// What all tasks of a run share, those of its subgraphs included.
pub(crate) struct Shared<C> {
    pub context: Arc<C>,
    pub thread: Option<ThreadId>,
    pub sink: Option<Sink>,
    pub recorder: Option<Arc<Recorder>>,
    /// Whether questions may be asked: answers have somewhere to go, or nobody wants to answer.
    pub may_ask: bool,
    /// Whether what nodes emit is stored.
    pub records_events: bool,
    /// Whether a log is told of supersteps and tasks.
    pub traced: bool,
    /// Whether polls of bodies are timed: somebody listens to the run or to warnings.
    pub timed: bool,
    pub cancel: Option<CancellationToken>,
    pub drain: Option<CancellationToken>,
    pub cache: Option<Arc<dyn NodeCache>>,
    /// The words that each checkpoint of the run is given.
    pub metadata: Vec<(String, String)>,
    pub limits: Limits,
    pub budgets: Budgets,
    /// As many permits as tasks may run at once, over all levels; none: no limit.
    pub running: Option<Arc<Semaphore>>,
    /// Supersteps taken so far, those of subgraphs included.
    pub spent: AtomicU64,
    /// Without a store: tells the questions of this run from those of others.
    pub birth: OnceLock<u64>,
    /// Where the time and noise come from.
    pub outside: Outside,
    /// What a test puts in the place of the world outside.
    pub stage: Option<Arc<dyn Stage>>,
    /// What the run is compared with, if it is a replay.
    pub replay: Option<Arc<Comparison>>,
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep values"))]
    pub keeps: Keeps,
}

impl<C> Shared<C> {
    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.outside.now()
    }

    pub(crate) fn noise(&self) -> u64 {
        self.outside.noise()
    }

    pub(crate) async fn cancelled(&self) {
        match &self.cancel {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

/// What limits a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub recursion: u64,
    pub concurrency: usize,
    pub fail_fast: bool,
    pub rerun_unanswered: bool,
    pub only_output: bool,
    pub state_bytes: u64,
}

/// Where a graph runs: the root, or a subgraph in a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    /// The nodes on the way down.
    pub names: Arc<[String]>,
    /// The same for events, with their tasks; empty where no event is sent or stored.
    pub places: Arc<[String]>,
    /// For the store: tells activations apart.
    pub path: String,
    /// Whether it is a subgraph that keeps its state for the thread.
    pub keeps_own: bool,
    /// Whether the run is inside a subgraph whose state is not kept.
    pub unsaved: bool,
    /// In whose name the tasks of such a subgraph ask.
    pub borrowed: Option<Arc<Borrowed>>,
    /// Which of its subgraphs this is, then.
    pub asker: String,
    /// The idle timeouts of the nodes on the way down.
    pub beats: Vec<Arc<Notify>>,
    /// The journal of the root graph's task that this is in; none in the root graph, whose tasks have one each.
    pub journal: Option<Arc<Journal>>,
    /// Where the tasks of this graph write in it.
    pub place: String,
    /// The version of the graph's control at which this activation began: places count from there.
    pub base: u64,
}

/// The nearest task that is saved, for the questions of a subgraph that is not.
#[derive(Debug)]
pub(crate) struct Borrowed {
    pub answers: Answers,
    pub places: Mutex<Places>,
    pub checkpoint: CheckpointId,
    pub task: u32,
    /// Its id.
    pub id: String,
}

impl Level {
    /// Names a task of this graph within its thread. A superstep that is not stored has no checkpoint to name it by: its
    /// number takes the place, below the nearest task that is stored.
    pub(crate) fn task_id(&self, checkpoint: CheckpointId, step: i64, task: u32) -> String {
        match &self.borrowed {
            Some(lender) => format!("{}{}-{step}.{task:x}", lender.id, self.asker.replace(['/', ':'], "-")),
            None if checkpoint.0 == 0 => format!("{step}-{task:x}"),
            None => task_id(checkpoint, task),
        }
    }

    /// The nodes whose subgraphs this is in are alive.
    pub(crate) fn beat(&self) {
        self.beats.iter().for_each(|beat| beat.notify_one());
    }

    pub(crate) fn root() -> Arc<Self> {
        Arc::new(Self::default())
    }
}

/// What stays the same for all tasks of a node.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The name in events and errors.
    pub name: Arc<str>,
    /// The name in journals: the first it ever had, so that it stays when the node is renamed.
    pub first_name: Arc<str>,
    /// The questions it may ask; none: any.
    pub asks: Option<Arc<Declarations>>,
    /// The signals it may receive.
    pub receives: Arc<SignalDeclarations>,
    /// The tags for messages.
    pub tags: Arc<[String]>,
    /// Whether it is the node's error handler.
    pub handler: bool,
    /// Whether its k-th question gets its k-th answer, whatever they are: LangGraph's way, for graphs read from data.
    pub by_position: bool,
}

pub(crate) type Declarations = BTreeMap<&'static str, Vec<Asks>>;

pub(crate) struct TaskCtx<C> {
    pub shared: Arc<Shared<C>>,
    pub level: Arc<Level>,
    pub facts: Arc<Facts>,
    pub step: i64,
    pub stop: i64,
    pub checkpoint: CheckpointId,
    pub node: u32,
    pub task: u32,
    pub attempt: u32,
    /// How often the task was started in earlier runs.
    pub earlier: u32,
    /// Whether this task ran before, so that its subgraphs go on where they were.
    pub again: bool,
    pub answers: Answers,
    pub asked: AtomicU32,
    pub calls: AtomicU32,
    pub raised: OnceLock<Raised>,
    pub inside: Mutex<Inside>,
    /// What the graph's subgraphs with state of their own ended at before.
    pub children: Kept,
    pub beat: Option<Arc<Notify>>,
    /// What it needs in order to run, if anything limits that.
    pub permits: Option<Arc<Permits>>,
    /// The version of the graph's control when the task was planned: tells supersteps of one activation apart.
    pub version: u64,
    /// Of a task of the root graph: its journal, once there is one.
    pub journal: OnceLock<Arc<Journal>>,
}

/// Subgraphs with state of their own, by name, and their newest checkpoints.
pub(crate) type Kept = Option<Arc<Vec<(String, CheckpointId)>>>;

/// What the subgraphs of a task left behind.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    /// The state of subgraphs that keep their own, by node.
    pub children: Vec<(String, CheckpointId)>,
    /// Subgraphs that ended, by path and pointer.
    pub ended: Vec<(String, Key)>,
    /// The number of the first one that this attempt calls.
    pub first_call: u32,
    /// What tasks of its subgraphs ask.
    pub questions: Vec<Question>,
    /// How its subgraphs failed: the body deals with it, or passes it on.
    pub failures: Vec<super::error::RunError>,
    /// The answers, once somebody has asked, or may.
    pub lent: Option<Arc<Borrowed>>,
    /// The entries of the journal that this attempt has used.
    pub used: HashSet<String>,
    /// How many entries without keys of their own it has used, by kind.
    pub nth: [u32; EffectKind::COUNT],
    /// The places of the questions that this attempt has asked.
    pub places: BTreeSet<u32>,
    /// When the first task of its subgraphs that sleeps goes on.
    pub wake: Option<u64>,
    /// The signals that it and the tasks of its subgraphs wait for.
    pub receives: Vec<ReceiveRecord>,
    /// How many signals and questions with a time this attempt has asked for, by scope and type.
    pub received: HashMap<String, u32>,
    /// What it asked or waited for in a way that cannot be, after something else had stopped it.
    pub wrong: Option<super::error::RunError>,
    /// In a replay: the task's key in the graph that recorded it.
    pub stored: Option<u32>,
}

impl Inside {
    /// The task goes on when the first one inside it does.
    pub(crate) fn note_wake(&mut self, wake: Option<u64>) {
        self.wake = self.wake.into_iter().chain(wake).min();
    }
}

/// Why a task stopped without a result.
pub(crate) enum Raised {
    /// It asks.
    Ask(Question),
    /// Tasks of its subgraphs ask, or sleep.
    Inside,
    /// It sleeps until then.
    Sleep(u64),
    /// It waits for a signal of this type, which `inside` notes.
    Signal(String),
    /// It asked in a way that cannot be.
    Wrong(RunError),
    /// Its subgraph handed a command to the graph the task is in.
    Parent(Arc<dyn Any + Send + Sync>, &'static str),
    /// A subgraph stopped at a breakpoint of its own, or was cancelled.
    Stopped(Exit),
}

impl<C> Ctx<C> {
    /// Returns the run's context: dependencies and settings that are never stored.
    pub fn context(&self) -> &C {
        &self.0.shared.context
    }

    /// Returns the number of the superstep.
    pub fn step(&self) -> i64 {
        self.0.step
    }

    /// Returns the name of the node.
    pub fn node(&self) -> &str {
        &self.0.facts.name
    }

    /// Returns the thread; none for a run without one.
    pub fn thread(&self) -> Option<&ThreadId> {
        self.0.shared.thread.as_ref()
    }

    /// Returns which attempt of this run this is, from 1; a replay gives the number that was recorded.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// Returns a name of this task that stays the same over retries, resumes and processes, and is unique within its thread:
    /// with the thread's name, a key by which to make side effects repeatable.
    pub fn task_id(&self) -> String {
        self.0.id()
    }

    /// Returns how many supersteps are left before the recursion limit. LangGraph: `RemainingSteps`.
    ///
    /// Not recorded: a replay counts as if a run began with this superstep. A body that is to be replayed notes it:
    /// `ctx.record("left", ctx.remaining_steps())`.
    pub fn remaining_steps(&self) -> i64 {
        self.note_unrecorded_steps();
        self.0.stop - self.0.step
    }

    fn note_unrecorded_steps(&self) {
        if let Some(comparison) = &self.0.shared.replay {
            comparison.doubts("it read how many supersteps were left, which is not recorded");
        }
    }

    /// Returns whether this is the last superstep that can still end well. LangGraph: `IsLastStep`. A replay may say otherwise,
    /// as with [`remaining_steps`](Self::remaining_steps).
    pub fn is_last_step(&self) -> bool {
        self.note_unrecorded_steps();
        self.0.step == self.0.stop - 1
    }

    /// Returns whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.shared.cancel.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Returns when the run is cancelled, and never if it cannot be: to clean up before the task is dropped. What the node
    /// returns after that counts as ever (an update is kept, an error fails the run), so end with
    /// `std::future::pending().await` to leave the thread cancelled.
    pub async fn cancelled(&self) {
        self.0.shared.cancelled().await;
    }

    /// Tells an idle timeout that the node is alive; with it are the nodes whose subgraphs it is in.
    pub fn heartbeat(&self) {
        self.0.level.beat();
        if let Some(beat) = &self.0.beat {
            beat.notify_one();
        }
    }
}

impl<C> TaskCtx<C> {
    pub(crate) fn id(&self) -> String {
        self.level.task_id(self.checkpoint, self.step, self.task)
    }

    pub(crate) fn kept(&self, name: &str) -> Option<CheckpointId> {
        let kept = self.children.as_ref()?.iter().find(|(known, _)| known == name)?;
        Some(kept.1)
    }

    pub(crate) fn inside(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Ctx<C> {
    /// Returns the nodes whose subgraphs this task is in, outermost first; empty in the root graph. A second call of a
    /// subgraph by one task adds `#1`, and so on.
    pub fn namespace(&self) -> &[String] {
        &self.0.level.names
    }
}
