//! A task as its body sees it: its identity, its answers, what its attempt has done so far, and what the attempt leaves behind
//! for the next, and for its end.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use superstep_base::panics::catch_panic;
use tokio::sync::Notify;

use super::graph_scope::{GraphScope, QuestionOwner, StateCell, StateLocations};
use super::permits::Permits;
use super::places::Answers;
use super::shared::{Exit, RunShared};
use crate::checkpoint::{CheckpointId, EffectKind, Key, ReceiveRecord};
use crate::graph::error::{NodeError, ParentCommand, RunError};
use crate::graph::interrupt::{DeclaredQuestion, Question, SignalDeclarations};
use crate::graph::records::Journal;

/// The properties that all tasks of a node share.
#[derive(Debug)]
pub(crate) struct NodeMeta {
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
    /// True for the node's error handler.
    pub handler: bool,
    /// True if its k-th question gets its k-th answer, whatever they are: LangGraph's rule, for graphs read from data.
    pub by_position: bool,
}

type Declarations = BTreeMap<&'static str, Vec<DeclaredQuestion>>;

/// One attempt of a task, as its body sees it.
pub(crate) struct TaskCtx {
    pub shared: Arc<RunShared>,
    pub scope: Arc<GraphScope>,
    pub facts: Arc<NodeMeta>,
    pub at: TaskPosition,
    pub attempt: Attempt,
    pub answers: Answers,
    /// The newest checkpoints of the graph's subgraphs with state of their own.
    pub children: ChildCheckpoints,
    /// Tasks with subgraphs only: locations of the values of their state, if they are stored.
    pub locations: Option<Arc<StateLocations>>,
    /// Lone tasks that may run a subgraph over their state: that state, for the subgraph to take.
    pub moved_state: Option<Arc<StateCell>>,
    /// The concurrency limits that the task counts towards.
    pub permits: Option<Arc<Permits>>,
    /// Tasks of the root graph only: the journal, once there is one.
    pub journal: OnceLock<Arc<Journal>>,
    pub progress: AttemptProgress,
}

/// The place of a task in its thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskPosition {
    pub step: i64,
    /// The last superstep that the recursion limit allows.
    pub last_step: i64,
    pub checkpoint: CheckpointId,
    pub node: u32,
    pub task: u32,
    /// The version of the graph's control when the task was planned; distinguishes supersteps of one activation.
    pub version: u64,
}

/// The number of an attempt, and its history.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// Counts from 1 in each run.
    pub number: u32,
    /// The number of attempts in earlier runs.
    pub earlier: u32,
    /// True if the task ran before, so that its subgraphs continue where they were.
    pub again: bool,
    /// Restarts the idle timeout.
    pub beat: Option<Arc<Notify>>,
}

/// The progress of an attempt.
#[derive(Default)]
pub(crate) struct AttemptProgress {
    /// The number of questions, and of subgraph calls.
    pub asked: AtomicU32,
    pub calls: AtomicU32,
    /// Set once the body has ended: what is raised then comes too late.
    ended: AtomicBool,
    raised: OnceLock<Box<AttemptStop>>,
    state: OnceLock<Box<Mutex<AttemptState>>>,
}

impl AttemptProgress {
    /// The progress of an attempt that continues with these questions and subgraphs.
    pub(crate) fn of(state: AttemptState) -> Self {
        Self { state: OnceLock::from(Box::new(Mutex::new(state))), ..Self::default() }
    }

    /// Returns what stopped the attempt.
    pub(crate) fn attempt_stop(&self) -> Option<&AttemptStop> {
        self.raised.get().map(|raised| &**raised)
    }

    /// Notes what stops the attempt, or returns it if something else has.
    pub(crate) fn raise(&self, raised: AttemptStop) -> Result<(), Box<AttemptStop>> {
        self.raised.set(Box::new(raised))
    }

    /// Notes that the body has ended.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Empties it for the next task.
    pub(crate) fn reset(&mut self) {
        *self.ended.get_mut() = false;
        (*self.asked.get_mut(), *self.calls.get_mut()) = (0, 0);
        self.raised.take();
        self.state.take();
    }
}

/// Subgraphs with state of their own, by name, and their newest checkpoints.
pub(crate) type ChildCheckpoints = Option<Arc<Vec<(String, CheckpointId)>>>;

/// Mutable state of one attempt: subgraph calls, pending waits, journal entries and question places in use.
#[derive(Debug, Default)]
pub(crate) struct AttemptState {
    pub subgraphs: SubgraphCalls,
    pub waits: PendingWaits,
    pub journal: JournalUse,
    pub questions: QuestionUse,
}

/// The subgraphs that an attempt has called.
#[derive(Debug, Default)]
pub(crate) struct SubgraphCalls {
    /// Newest checkpoints of subgraphs with state of their own, by node.
    pub children: Vec<(String, CheckpointId)>,
    /// Subgraphs that ended, by path and pointer.
    pub ended: Vec<(String, Key)>,
    /// The number of this attempt's first call.
    pub first_call: u32,
    /// Failures of subgraphs; the body handles them or passes them on.
    pub failures: Vec<RunError>,
}

/// Causes that stop an attempt beside the first one.
#[derive(Debug, Default)]
pub(crate) struct PendingWaits {
    /// Questions of the task itself (`None`), and of its subgraphs by call: calls that run at the same time stop in any order.
    pub questions: BTreeMap<Option<u32>, Vec<Question>>,
    /// The earliest time at which a sleeping task resumes, in milliseconds since 1970.
    pub wake: Option<u64>,
    /// Signals that this task and the tasks of its subgraphs wait for.
    pub receives: Vec<ReceiveRecord>,
    /// An invalid question or wait, raised after something else had stopped the attempt.
    pub wrong: Option<RunError>,
}

/// The journal entries that an attempt has used.
#[derive(Debug, Default)]
pub(crate) struct JournalUse {
    pub used: HashSet<String>,
    /// The number of entries without a key of their own, by kind.
    pub nth: [u32; EffectKind::COUNT],
    /// The number of requests to the long-term store, by the key of the first of their kind.
    pub memory: HashMap<String, u32>,
    /// Replays only: the task's key in the graph that recorded it.
    pub stored: Option<u32>,
}

/// The places of questions that an attempt has used.
#[derive(Debug, Default)]
pub(crate) struct QuestionUse {
    pub places: BTreeSet<u32>,
    /// The number of signals and timed questions, by scope and type.
    pub received: HashMap<String, u32>,
    /// The owner of the answers, once somebody has asked, or may.
    pub owner: Option<Arc<QuestionOwner>>,
}

impl AttemptState {
    /// The task goes on when the first one inside it does.
    pub(crate) fn note_wake(&mut self, wake: Option<u64>) {
        self.waits.wake = self.waits.wake.into_iter().chain(wake).min();
    }
}

/// The reason why a task stopped without a result.
pub(crate) enum AttemptStop {
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
    Parent(ParentCommand),
    /// A subgraph stopped at a breakpoint of its own, or was cancelled.
    Stopped(Exit),
}

impl TaskCtx {
    pub(crate) fn id(&self) -> String {
        self.scope.task_id(self.at.checkpoint, self.at.step, self.at.task)
    }

    pub(crate) fn child_checkpoint(&self, name: &str) -> Option<CheckpointId> {
        let kept = self.children.as_ref()?.iter().find(|(known, _)| known == name)?;
        Some(kept.1)
    }

    /// Returns the subgraphs with state of their own that are below the subgraph of this name.
    pub(crate) fn kept_below(&self, name: &str) -> Vec<(String, CheckpointId)> {
        let below =
            |(known, id): &(String, CheckpointId)| Some((known.strip_prefix(name)?.strip_prefix('/')?.to_owned(), *id));
        self.children.iter().flat_map(|kept| kept.iter()).filter_map(below).collect()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, AttemptState> {
        self.progress.state.get_or_init(Box::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The context of another attempt: its questions count from the beginning.
    pub(crate) fn for_attempt(
        &self,
        attempt: u32,
        facts: Option<&Arc<NodeMeta>>,
        beat: Option<Arc<Notify>>,
    ) -> Arc<Self> {
        let progress = {
            let mut before = self.state();
            let questions = QuestionUse { owner: before.questions.owner.clone(), ..QuestionUse::default() };
            let subgraphs =
                SubgraphCalls { ended: std::mem::take(&mut before.subgraphs.ended), ..SubgraphCalls::default() };
            let state = AttemptState { questions, subgraphs, ..AttemptState::default() };
            AttemptProgress::of(state)
        };
        Arc::new(Self {
            shared: Arc::clone(&self.shared),
            scope: Arc::clone(&self.scope),
            facts: Arc::clone(facts.unwrap_or(&self.facts)),
            at: self.at,
            attempt: Attempt { number: attempt, beat, ..self.attempt },
            answers: self.answers.clone(),
            children: self.children.clone(),
            locations: self.locations.clone(),
            moved_state: None,
            permits: self.permits.clone(),
            journal: self.journal.clone(),
            progress,
        })
    }

    /// Stops the task. What was raised first says how it ended; what branches that ran at the same time ask and wait for
    /// is kept beside it, and an error is reported in any case.
    pub(crate) fn raise(&self, raised: AttemptStop) {
        if self.progress.has_ended() {
            return self.raise_late(raised);
        }
        if let Some(scope) = self.effect_scope() {
            scope.stop();
        }
        let Err(beside) = self.progress.raise(raised) else { return };
        let mut state = self.state();
        match *beside {
            AttemptStop::Ask(question) => state.waits.questions.entry(None).or_default().push(question),
            AttemptStop::Sleep(until) => state.note_wake(Some(until)),
            AttemptStop::Wrong(error) => state.waits.wrong = state.waits.wrong.take().or(Some(error)),
            AttemptStop::Inside | AttemptStop::Signal(_) | AttemptStop::Parent(..) | AttemptStop::Stopped(_) => {}
        }
    }

    /// Returns the number of subgraphs that the task has called, in earlier attempts too: a retried node starts its
    /// subgraphs over.
    pub(crate) fn call_count(&self) -> u32 {
        self.progress.calls.load(Ordering::Relaxed)
    }

    /// Returns true if this attempt has used an answer.
    pub(crate) fn answered(&self) -> bool {
        let Some(known) = self.answers.as_ref().filter(|known| !known.answers.is_empty()) else { return false };
        self.state().questions.places.iter().any(|place| known.answers.contains_key(place))
    }

    /// The failure of a subgraph that the body's error tells of, whatever type it was put into.
    pub(crate) fn passed_on(&self, error: &NodeError) -> Option<RunError> {
        let text = catch_panic(|| error.source().to_string()).ok()?;
        let state = self.state();
        state.subgraphs.failures.iter().find(|failure| failure.to_string() == text).cloned()
    }

    /// Notes that the body has ended. What somebody who still holds its context raises from then on fails the run.
    pub(crate) fn end(self: &Arc<Self>) {
        self.progress.end();
        if Arc::strong_count(self) > 1 {
            let held = Arc::downgrade(self);
            self.shared.stragglers.add(self.id(), held);
        }
    }

    /// Notes what was raised after the body had ended.
    fn raise_late(&self, raised: AttemptStop) {
        let node = Arc::clone(&self.facts.name);
        let error = match raised {
            AttemptStop::Ask(question) => RunError::QuestionIgnored { node, question: question.name },
            AttemptStop::Sleep(_) => RunError::QuestionIgnored { node, question: "of how long to sleep".into() },
            AttemptStop::Inside | AttemptStop::Stopped(_) => {
                RunError::QuestionIgnored { node, question: "of its subgraph".into() }
            }
            AttemptStop::Signal(signal) => RunError::SignalIgnored { node, signal },
            AttemptStop::Wrong(error) => error,
            AttemptStop::Parent(..) => RunError::NoParentGraph { node },
        };
        let text = self.shared.events.secrets.hide(&error);
        tracing::error!(node = %self.facts.name, error = %text, "a task that a node spawned asks after the node has ended");
        self.shared.stragglers.fail(self.id(), error);
    }
}
