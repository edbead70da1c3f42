//! A task as its body sees it: its identity, its answers, and what its attempt has done so far.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::Notify;

use super::exit::Exit;
use super::known::Answers;
use super::level::{Borrowed, Level};
use super::permits::Permits;
use super::shared::Shared;
use crate::checkpoint::{CheckpointId, EffectKind, Key, ReceiveRecord};
use crate::graph::error::RunError;
use crate::graph::interrupt::{Asks, Question, SignalDeclarations};
use crate::graph::records::Journal;

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
    pub failures: Vec<RunError>,
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
    pub wrong: Option<RunError>,
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
