//! What a run tells while it goes on: one typed event, filtered by modes, in one order, and the task that it comes from. Knows
//! no store.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
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
        /// The node.
        node: Arc<str>,
        /// The task.
        task: EventTask,
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
        /// The node.
        node: Arc<str>,
        /// The task.
        task: EventTask,
        /// The answer.
        answer: AnswerInfo,
    },
    /// A task of the root graph, or one in its subgraphs, did something in the world outside or recorded something. Emitted only by
    /// a [replay](crate::graph::Replay), with [`Mode::Journal`].
    Journal {
        /// The node of the root graph.
        node: Arc<str>,
        /// Its task.
        task: EventTask,
        /// The entry. Messages of an effect are events of their own.
        entry: Box<JournalEntry>,
    },
    /// A node emitted a value.
    Custom {
        /// The node.
        node: Arc<str>,
        /// The task.
        task: EventTask,
        /// The value.
        value: Value,
    },
    /// A node emitted a piece of a message.
    Message {
        /// The node.
        node: Arc<str>,
        /// The task.
        task: EventTask,
        /// The piece.
        value: Value,
        /// The origin of the piece.
        metadata: MessageMetadata,
    },
    /// A task starts.
    TaskStart {
        /// The node.
        node: Arc<str>,
        /// The task.
        task: EventTask,
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
        /// The node.
        node: Arc<str>,
        /// The task.
        task: EventTask,
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
    fn mode(&self) -> Mode {
        match self {
            Self::Values { .. } => Mode::Values,
            Self::Update { .. } | Self::Interrupt { .. } | Self::Answered { .. } => Mode::Updates,
            Self::Custom { .. } => Mode::Custom,
            Self::Message { .. } => Mode::Messages,
            Self::TaskStart { .. } | Self::TaskEnd { .. } => Mode::Tasks,
            Self::Checkpoint(_) => Mode::Checkpoints,
            Self::Stored => Mode::Stored,
            Self::Journal { .. } => Mode::Journal,
        }
    }
}

impl Event {
    /// Returns the task that the event comes from, if it comes from one.
    pub fn task(&self) -> Option<&EventTask> {
        match &self.kind {
            EventKind::Update { task, .. }
            | EventKind::Answered { task, .. }
            | EventKind::Journal { task, .. }
            | EventKind::Custom { task, .. }
            | EventKind::Message { task, .. }
            | EventKind::TaskStart { task, .. }
            | EventKind::TaskEnd { task, .. } => Some(task),
            EventKind::Values { .. } | EventKind::Interrupt { .. } | EventKind::Checkpoint(_) | EventKind::Stored => {
                None
            }
        }
    }

    /// Returns the nodes whose subgraphs the event comes from, outermost first: the namespace without the tasks.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.namespace.iter().map(|place| node_of(place))
    }

    /// Returns whether a mode carries this event.
    pub fn is(&self, mode: Mode) -> bool {
        let own = self.kind.mode();
        own == mode || (mode == Mode::Debug && matches!(own, Mode::Tasks | Mode::Checkpoints))
    }
}

/// A checkpoint as an event shows it.
#[derive(Clone, Debug)]
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
    /// The nodes of the superstep that made it: a name for each task; none at the start of a run. With durability
    /// [`Sync`](crate::graph::Durability) their results are on disk.
    pub ran: Vec<String>,
}

/// A task as a checkpoint event shows it.
#[derive(Clone, Debug)]
pub struct TaskView {
    /// The node.
    pub name: String,
    /// The error, if it failed.
    pub error: Option<String>,
    /// Its writes, once it has ended.
    pub result: Option<View>,
    /// The questions it asked.
    pub questions: Vec<Question>,
    /// True if it runs a subgraph.
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
    pub(crate) async fn send(&self, namespace: &Arc<[String]>, step: i64, kind: EventKind) {
        if !self.wants(kind.mode(), namespace.is_empty()) {
            return;
        }
        let Ok(permit) = self.0.sender.reserve().await else { return };
        let mut seq = self.0.seq.lock().unwrap_or_else(PoisonError::into_inner);
        let (thread, namespace) = (self.0.thread.clone(), Arc::clone(namespace));
        permit.send(Event { seq: *seq, thread, namespace, step, kind });
        *seq += 1;
    }
}

/// The task that an event comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventTask {
    /// The task's id, as [`Ctx::task_id`](crate::graph::Ctx::task_id) and [`TaskSnapshot::id`](crate::graph::TaskSnapshot)
    /// have it. Parallel tasks of one node have different ids.
    pub id: Arc<str>,
    /// The way down to the task: the event's namespace, then the task itself as `node:task`. No two tasks of a thread share
    /// it.
    pub path: Arc<[String]>,
}

/// The origin of a piece of a message. LangGraph: the metadata of `stream_mode="messages"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageMetadata {
    /// The node.
    pub node: Arc<str>,
    /// The superstep.
    pub step: i64,
    /// The [tags](crate::graph::NodeOptions::tags) of the node.
    pub tags: Arc<[String]>,
}

impl EventTask {
    /// The task of a node in the graph at a namespace.
    pub(crate) fn below(namespace: &[String], node: &str, id: String) -> Self {
        let path = namespace.iter().cloned().chain([place(node, &id)]).collect();
        Self { id: id.into(), path }
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
