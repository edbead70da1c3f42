//! Events of a run: typed, filtered by modes, in one order, each with the task that it comes from; and their JSON, the same
//! for a live run and a replay. Knows no store.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use superstep_base::time::rfc3339;
use tokio::sync::mpsc;

use super::task_journal::JournalEntry;
use super::untyped::View;
use crate::checkpoint::{CheckpointId, Source, ThreadId};
use crate::graph::interrupt::{AnswerInfo, Question};

/// The events that a stream carries. The names and their meaning are LangGraph's stream modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// The state after each superstep that wrote it.
    Values,
    /// The writes of each task as it ends, and questions and breakpoints that stop the run.
    Updates,
    /// Custom events that nodes emit.
    Custom,
    /// Pieces of messages that nodes emit: of models and agents.
    Messages,
    /// Tasks that start and end.
    Tasks,
    /// Checkpoints as they are made.
    Checkpoints,
    /// Acknowledgements: the results of ended tasks are on disk. LangGraph has no counterpart.
    Stored,
    /// The entries of tasks' journals: effects and recorded values. Only a [replay](crate::graph::Replay) has them.
    /// LangGraph has no counterpart.
    Journal,
    /// Tasks and checkpoints.
    Debug,
}

/// One thing that happened in a run.
#[derive(Clone, Debug)]
pub struct Event {
    /// Counts the events of one run, from 0; it grows by one with each event sent.
    pub seq: u64,
    /// The thread; none for a run without one.
    pub thread: Option<ThreadId>,
    /// The tasks whose subgraphs the event comes from, outermost first, each as `node:task`; empty for the root graph. A
    /// subgraph that one task calls again adds `#1`, and so on.
    pub namespace: Arc<[String]>,
    /// The superstep, as in [`StateSnapshot::step`](crate::graph::StateSnapshot).
    pub step: i64,
    /// The task that the event comes from, if it comes from one.
    pub task: Option<EventTask>,
    /// The event itself.
    pub kind: EventKind,
}

/// An event of a run.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The state now; with questions when a task stopped to ask.
    Values {
        /// The state.
        values: View,
        /// Questions just asked.
        questions: Vec<Question>,
    },
    /// A task ended.
    Update {
        /// Its writes, in order.
        writes: View,
        /// True if the result was taken from an earlier run or the cache.
        cached: bool,
    },
    /// A task stopped to ask, or the run stopped at a breakpoint (no questions then).
    Interrupt {
        /// The questions.
        questions: Vec<Question>,
    },
    /// A task got an answer. Emitted only by a [replay](crate::graph::Replay).
    Answered {
        /// The answer.
        answer: AnswerInfo,
    },
    /// A task of the root graph, or one in its subgraphs, did something in the world outside or recorded something; the
    /// event's task is that of the root graph. Emitted only by a [replay](crate::graph::Replay), with [`Mode::Journal`].
    Journal {
        /// The entry. Messages of an effect are events of their own.
        entry: Box<JournalEntry>,
    },
    /// A node emitted a value.
    Custom {
        /// The value.
        value: Value,
    },
    /// A node emitted a piece of a message.
    Message {
        /// The piece.
        value: Value,
        /// The [tags](crate::graph::node::NodeOptions::tags) of the node.
        tags: Arc<[String]>,
    },
    /// A task starts.
    TaskStart {
        /// The state or payload it starts with.
        input: View,
        /// True if a send started it, with a payload.
        sent: bool,
        /// The number of supersteps left before the recursion limit, as
        /// [`Ctx::remaining_steps`](crate::graph::Ctx::remaining_steps).
        remaining_steps: i64,
    },
    /// A task ended, failed or stopped to ask.
    TaskEnd {
        /// The error, if it failed.
        error: Option<String>,
        /// Its writes.
        writes: View,
        /// Its open questions.
        questions: Vec<Question>,
        /// Channels to which nodes of its graph had written, if it handed a command to the graph around that
        /// ([`Command::parent`](crate::graph::Command::parent)): what was written is dropped. Such a task is in a subgraph, whose
        /// events [`stream_deep`](crate::graph::Thread::stream_deep) yields.
        dropped: Vec<String>,
    },
    /// A checkpoint was made.
    Checkpoint(Box<CheckpointView>),
    /// The results of the tasks whose ends were emitted are on disk; emitted at once for a subgraph whose state is not
    /// stored. Emitted with durability [`Sync`](crate::graph::Durability); with others, and for the last results, the
    /// end of the run has this meaning.
    Stored,
}

impl EventKind {
    /// Returns the row of the table of events: the mode, the name in JSON, and whether the command line prints the event (not
    /// if another one repeats its content).
    fn row(&self) -> (Mode, &'static str, bool) {
        match self {
            Self::Values { .. } => (Mode::Values, "values", false),
            Self::Update { .. } => (Mode::Updates, "update", false),
            Self::Interrupt { .. } => (Mode::Updates, "interrupt", false),
            Self::Answered { .. } => (Mode::Updates, "answered", true),
            Self::Journal { .. } => (Mode::Journal, "journal", true),
            Self::Custom { .. } => (Mode::Custom, "custom", true),
            Self::Message { .. } => (Mode::Messages, "message", true),
            Self::TaskStart { .. } => (Mode::Tasks, "start", true),
            Self::TaskEnd { error: Some(_), .. } => (Mode::Tasks, "failed", true),
            Self::TaskEnd { questions, .. } if !questions.is_empty() => (Mode::Tasks, "asked", true),
            Self::TaskEnd { .. } => (Mode::Tasks, "end", true),
            Self::Checkpoint(_) => (Mode::Checkpoints, "checkpoint", true),
            Self::Stored => (Mode::Stored, "stored", false),
        }
    }

    /// Returns the fields of the event's JSON that no other event has; in brief without states and inputs.
    fn fields(&self, is_brief: bool) -> Value {
        match self {
            Self::Values { values, questions } => json!({ "state": values, "questions": questions }),
            Self::Update { writes, cached } => json!({ "writes": writes, "cached": cached }),
            Self::Interrupt { questions } => json!({ "questions": questions }),
            Self::Answered { answer: AnswerInfo { name, value, by, at, note } } => {
                json!({ "question": name, "answer": value, "by": by, "note": note, "at": rfc3339(*at) })
            }
            Self::Journal { entry } => json!({ "entry": entry }),
            Self::Custom { value } => json!({ "value": value }),
            Self::Message { value, tags } => json!({ "value": value, "tags": **tags }),
            Self::TaskStart { .. } if is_brief => json!({}),
            Self::TaskStart { input, sent, remaining_steps } => {
                json!({ "input": input, "sent": sent, "remaining_steps": remaining_steps })
            }
            Self::TaskEnd { error: Some(error), .. } => json!({ "error": error }),
            Self::TaskEnd { questions, .. } if !questions.is_empty() => json!({ "questions": questions }),
            Self::TaskEnd { writes, dropped, .. } if dropped.is_empty() => json!({ "writes": writes }),
            Self::TaskEnd { writes, dropped, .. } => json!({ "writes": writes, "dropped": dropped }),
            Self::Checkpoint(made) => made.fields(is_brief),
            Self::Stored => json!({}),
        }
    }
}

impl Event {
    /// Returns the node that the event comes from, if it comes from one.
    pub fn node(&self) -> Option<&str> {
        self.task.as_ref().map(|task| &*task.node)
    }

    /// Returns the event as the command line prints it; `None` for an event whose content another one repeats. Left out:
    /// the event's number and thread, which differ between a run and its replay, and states and inputs.
    pub fn brief(&self) -> Option<Value> {
        let (.., is_printed) = self.kind.row();
        is_printed.then(|| self.json(true))
    }

    fn json(&self, is_brief: bool) -> Value {
        let mut out = self.kind.fields(is_brief);
        out["kind"] = self.kind.row().1.into();
        out["step"] = self.step.into();
        if let Some(EventTask { node, id, path }) = &self.task {
            (out["node"], out["task"], out["path"]) = ((**node).into(), (**id).into(), json!(**path));
        }
        if !self.namespace.is_empty() {
            out["namespace"] = json!(*self.namespace);
        }
        out
    }

    /// Returns the nodes whose subgraphs the event comes from, outermost first: the namespace without the tasks.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.namespace.iter().map(|place| node_of(place))
    }

    /// Returns whether a mode carries this event.
    pub fn is(&self, mode: Mode) -> bool {
        let (own, ..) = self.kind.row();
        own == mode || (mode == Mode::Debug && matches!(own, Mode::Tasks | Mode::Checkpoints))
    }
}

impl Serialize for Event {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        let mut json = self.json(false);
        json["seq"] = self.seq.into();
        if let Some(thread) = &self.thread {
            json["thread"] = thread.as_str().into();
        }
        json.serialize(out)
    }
}

/// A checkpoint as an event shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckpointView {
    /// Its number; none without a store.
    pub id: Option<CheckpointId>,
    /// The state.
    pub values: View,
    /// The nodes that run next: a name for each task.
    pub next: Vec<String>,
    /// The tasks.
    pub tasks: Vec<TaskView>,
    /// Counts along the parent chain.
    pub step: i64,
    /// The cause of the checkpoint.
    pub source: Source,
    /// True if it has a parent.
    pub has_parent: bool,
    /// The checkpoint that it followed, if it has one with a number.
    pub parent: Option<CheckpointId>,
    /// The nodes of the superstep that made it: a name for each task; none at the start of a run. With durability
    /// [`Sync`](crate::graph::Durability) their results are on disk.
    pub ran: Vec<String>,
}

impl CheckpointView {
    fn fields(&self, is_brief: bool) -> Value {
        let mut out = json!({ "checkpoint": self.id, "source": self.source.as_str(), "next": self.next });
        if !is_brief {
            (out["ran"], out["state"], out["tasks"]) = (json!(self.ran), json!(self.values), json!(self.tasks));
        }
        out
    }
}

/// A task as a checkpoint event shows it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TaskView {
    /// Its id, as [`EventTask::id`].
    #[serde(skip)]
    pub id: String,
    /// The node.
    #[serde(rename = "node")]
    pub name: String,
    /// The error, if it failed.
    pub error: Option<String>,
    /// Its writes, once it has ended.
    #[serde(rename = "writes")]
    pub result: Option<View>,
    /// The questions it asked.
    pub questions: Vec<Question>,
    /// True if it runs a subgraph.
    #[serde(skip)]
    pub subgraph: bool,
}

/// The receiver of a run's events.
#[derive(Clone, Debug)]
pub(crate) struct Sink(Arc<SinkInner>);

#[derive(Debug)]
struct SinkInner {
    sender: mpsc::Sender<Event>,
    seq: Mutex<u64>,
    modes: Vec<Mode>,
    subgraphs: bool,
    thread: Option<ThreadId>,
}

impl Sink {
    pub(crate) fn new(
        sender: mpsc::Sender<Event>,
        modes: Vec<Mode>,
        subgraphs: bool,
        thread: Option<ThreadId>,
    ) -> Self {
        Self(Arc::new(SinkInner { sender, seq: Mutex::new(0), modes, subgraphs, thread }))
    }

    /// Nobody listens.
    pub(crate) fn deaf() -> Self {
        Self::new(mpsc::channel(1).0, vec![], false, None)
    }

    /// Returns true if a listener takes these events at this depth.
    pub(crate) fn wants(&self, mode: Mode, root: bool) -> bool {
        let debug = matches!(mode, Mode::Tasks | Mode::Checkpoints) && self.0.modes.contains(&Mode::Debug);
        let deep = root || self.0.subgraphs;
        deep && (debug || self.0.modes.contains(&mode))
    }

    /// Returns true if the events of subgraphs are taken too.
    pub(crate) fn is_deep(&self) -> bool {
        self.0.subgraphs
    }

    /// Sends an event, waiting while the reader is behind. A reader that is gone is no failure.
    pub(crate) async fn send(&self, namespace: &Arc<[String]>, step: i64, task: Option<EventTask>, kind: EventKind) {
        if !self.wants(kind.row().0, namespace.is_empty()) {
            return;
        }
        let Ok(permit) = self.0.sender.reserve().await else { return };
        let mut seq = self.0.seq.lock().unwrap_or_else(PoisonError::into_inner);
        let (thread, namespace) = (self.0.thread.clone(), Arc::clone(namespace));
        permit.send(Event { seq: *seq, thread, namespace, step, task, kind });
        *seq += 1;
    }
}

/// The task that an event comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventTask {
    /// The node; for the result of an error handler, the handler's.
    pub node: Arc<str>,
    /// The task's id, as [`Ctx::task_id`](crate::graph::Ctx::task_id) and [`TaskSnapshot::id`](crate::graph::view::TaskSnapshot)
    /// have it. Parallel tasks of one node have different ids.
    pub id: Arc<str>,
    /// The way down to the task: the event's namespace, then the task itself as `node:task`. No two tasks of a thread share
    /// it.
    pub path: Arc<[String]>,
}

impl EventTask {
    /// The task of a node in the graph at a namespace.
    pub(crate) fn below(namespace: &[String], node: Arc<str>, id: String) -> Self {
        let path = namespace.iter().cloned().chain([place(&node, &id)]).collect();
        Self { node, id: id.into(), path }
    }
}

/// A task as a namespace names it.
pub(crate) fn place(node: &str, id: &str) -> String {
    format!("{node}:{id}")
}

/// The node of a place in a namespace.
pub(crate) fn node_of(place: &str) -> &str {
    place.rsplit_once(':').map_or(place, |(node, _)| node)
}

/// Names a stored task within its thread.
pub(crate) fn task_id(checkpoint: CheckpointId, task: u32) -> String {
    format!("{checkpoint}-{task:x}")
}

/// Reads the [id of a task](crate::graph::Ctx::task_id): the checkpoint that planned it, and its number there; `None` for another text.
///
/// ```
/// # use superstep::checkpoint::CheckpointId;
/// # use superstep::graph::view::parse_task_id;
/// assert_eq!(parse_task_id("12-1f"), Some((CheckpointId(12), 31)));
/// assert_eq!(parse_task_id("12"), None);
/// ```
pub fn parse_task_id(id: &str) -> Option<(CheckpointId, u32)> {
    let (checkpoint, task) = id.split_once('-')?;
    Some((CheckpointId(checkpoint.parse().ok()?), u32::from_str_radix(task, 16).ok()?))
}
