//! What a node is handed besides its input: the run's context, the task's identity, questions, events, signs of life.

use std::any::{Any, type_name};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::Serialize;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::checkpoint::{CheckpointId, Key, ThreadId};

use super::cache::NodeCache;
use super::clock;
use super::error::RunError;
use super::event::{EventKind, Sink};
use super::places::Places;
use super::superstep::{Budgets, Exit};
use crate::graph::channels::value;
use crate::graph::define::interrupt::{Interrupt, InterruptId, Interrupted, Question, Shows};
use crate::graph::define::options::Asks;
use crate::graph::records::recorder::Recorder;

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

/// What all tasks of a run share, those of its subgraphs included.
pub(crate) struct Shared<C> {
    pub context: Arc<C>,
    pub thread: Option<ThreadId>,
    pub sink: Option<Sink>,
    pub recorder: Option<Arc<Recorder>>,
    /// Whether questions may be asked: answers have somewhere to go, or nobody wants to answer.
    pub may_ask: bool,
    pub cancel: Option<CancellationToken>,
    pub drain: Option<CancellationToken>,
    pub cache: Option<Arc<dyn NodeCache>>,
    /// The words that each checkpoint of the run is given.
    pub metadata: Vec<(String, String)>,
    pub limits: Limits,
    pub budgets: Budgets,
    /// Supersteps taken so far, those of subgraphs included.
    pub spent: AtomicU64,
    /// Without a store: tells the questions of this run from those of others.
    pub birth: OnceLock<u64>,
}

impl<C> Shared<C> {
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
}

/// Where a graph runs: the root, or a subgraph in a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    /// For events: the nodes on the way down.
    pub names: Arc<[String]>,
    /// For the store: tells activations apart.
    pub path: String,
    /// Whether the run is inside a subgraph whose state is not kept.
    pub unsaved: bool,
    /// In whose name the tasks of such a subgraph ask.
    pub borrowed: Option<Arc<Borrowed>>,
    /// Which of its subgraphs this is, then.
    pub asker: String,
    /// The idle timeouts of the nodes on the way down.
    pub beats: Vec<Arc<Notify>>,
}

/// The nearest task that is saved, for the questions of a subgraph that is not.
#[derive(Debug)]
pub(crate) struct Borrowed {
    pub answers: Answers,
    pub places: Mutex<Places>,
    pub checkpoint: CheckpointId,
    pub task: u32,
}

impl Level {
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
    /// The questions it may ask; none: any.
    pub asks: Option<Arc<Declarations>>,
    /// Whether it is the node's error handler.
    pub handler: bool,
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
}

/// What a task was asked and told before.
pub(crate) type Answers = Option<Arc<Known>>;

/// Answers by the places of their questions, each with its question's name.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub answers: BTreeMap<u32, (String, Vec<u8>)>,
    /// Who asked, by place; also what has no answer yet.
    pub askers: BTreeMap<u32, String>,
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
}

/// Why a task stopped without a result.
pub(crate) enum Raised {
    /// It asks.
    Ask(Question),
    /// Tasks of its subgraphs ask.
    Inside,
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

    /// Returns which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// Returns a name of this task that stays the same over retries, resumes and processes, and is unique within its thread:
    /// with the thread's name, a key by which to make side effects repeatable.
    pub fn task_id(&self) -> String {
        format!("{}-{:x}", self.0.checkpoint, self.0.task)
    }

    /// Returns how many supersteps are left before the recursion limit. LangGraph: `RemainingSteps`.
    pub fn remaining_steps(&self) -> i64 {
        self.0.stop - self.0.step
    }

    /// Returns whether this is the last superstep that can still end well. LangGraph: `IsLastStep`.
    pub fn is_last_step(&self) -> bool {
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

    /// Emits a value to the stream ([`Mode::Custom`](crate::graph::Mode)); waits while the reader is behind. Nothing is stored.
    /// LangGraph: `get_stream_writer`.
    pub async fn emit(&self, value: impl Serialize) {
        self.heartbeat();
        self.send(|node, value| EventKind::Custom { node, value }, value).await;
    }

    /// Emits a piece of a message to the stream ([`Mode::Messages`](crate::graph::Mode)); waits while the reader is behind.
    pub async fn emit_message(&self, piece: impl Serialize) {
        self.heartbeat();
        self.send(|node, value| EventKind::Message { node, value }, piece).await;
    }

    async fn send(&self, kind: fn(Arc<str>, serde_json::Value) -> EventKind, value: impl Serialize) {
        let Some(sink) = &self.0.shared.sink else { return };
        let value = serde_json::to_value(value).unwrap_or_default();
        sink.send(&self.0.level.names, self.0.step, kind(Arc::clone(&self.0.facts.name), value)).await;
    }

    /// Returns the answer to a question, or stops the node until there is one.
    ///
    /// The node runs again from its beginning once the answer is there; its k-th question gets its k-th answer. The question
    /// is stored with the task, the answer when it is given. LangGraph: `interrupt`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { title: String }
    /// # #[derive(Serialize, Deserialize)] struct Title { old: String }
    /// # impl Interrupt for Title { type Resume = String; const NAME: &'static str = "title"; }
    /// async fn entitle(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    ///     let title: String = ctx.interrupt(Title { old: draft.title.clone() })?; // on the node: `.asks::<Title>()`
    ///     Ok(Draft::update().title(title))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Interrupted`] is no failure: pass it on with `?`.
    pub fn interrupt<I: Interrupt>(&self, question: I) -> Result<I::Resume, Interrupted> {
        let lent = self.0.lend();
        let place = self.0.next_place();
        let raised = match lent.answers.as_ref().and_then(|known| known.answers.get(&place)) {
            Some((name, _)) if name != I::NAME => Raised::Wrong(self.0.changed::<I>(place, name)),
            Some((_, bytes)) => match value::decode(bytes) {
                Ok(value) => return Ok(value),
                Err(reason) => Raised::Wrong(RunError::Codec { what: format!("answer to `{}`", I::NAME), reason }),
            },
            None => self.0.ask(place, &question),
        };
        let _ = self.0.raised.set(raised);
        Err(Interrupted::new())
    }
}

impl<C> TaskCtx<C> {
    fn ask<I: Interrupt>(&self, place: u32, question: &I) -> Raised {
        if self.facts.asks.as_ref().is_some_and(|asks| !asks.contains_key(I::NAME)) {
            let (node, type_name) = (Arc::clone(&self.facts.name), type_name::<I>());
            return Raised::Wrong(RunError::UndeclaredQuestion { node, question: I::NAME, type_name });
        }
        if !self.shared.may_ask {
            return Raised::Wrong(RunError::NoCheckpointer { what: "a graph that asks a question" });
        }
        match value::encode_both_ways(|| format!("question `{}`", I::NAME), type_name::<I>(), question) {
            Ok(payload) => Raised::Ask(Question {
                id: self.question_id(place),
                name: I::NAME.to_owned(),
                node: self.facts.name.to_string(),
                namespace: self.level.names.to_vec(),
                payload,
                shows: Shows::of::<I>(),
                answered: false,
                asker: self.asker(),
            }),
            Err(error) => Raised::Wrong(error),
        }
    }

    fn question_id(&self, place: u32) -> InterruptId {
        let birth = match &self.shared.recorder {
            Some(recorder) => recorder.birth(),
            None => *self.shared.birth.get_or_init(clock::birth),
        };
        let Borrowed { checkpoint, task, .. } = *self.lend();
        InterruptId { birth, checkpoint, task, place }
    }

    fn changed<I: Interrupt>(&self, place: u32, before: &str) -> RunError {
        let (node, before) = (Arc::clone(&self.facts.name), before.to_owned());
        RunError::QuestionChanged { node, place: place as usize, before, now: I::NAME }
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
