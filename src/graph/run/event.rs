//! What a run tells while it goes on: one typed event, filtered by modes, in one order. Knows no store.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::checkpoint::{CheckpointId, Source, ThreadId};

use crate::graph::channels::mask::Mask;
use crate::graph::channels::state::State;
use crate::graph::channels::writes::Writes;
use crate::graph::define::interrupt::Question;
use crate::graph::thread::snapshot::AnswerInfo;

/// Which events a stream carries. The names and their meaning are LangGraph's stream modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// The state after each superstep that wrote it.
    Values,
    /// What each task wrote, as it ends; and questions and breakpoints that stop the run.
    Updates,
    /// What nodes emit.
    Custom,
    /// What nodes emit piece by piece: messages of models and agents.
    Messages,
    /// Tasks that start and end.
    Tasks,
    /// Checkpoints as they are made.
    Checkpoints,
    /// That what was told of ended tasks is on disk. LangGraph has no counterpart.
    Stored,
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
    /// The nodes whose subgraphs the event comes from, outermost first; empty for the root graph. A subgraph that one task
    /// calls again adds `#1`, and so on.
    pub namespace: Arc<[String]>,
    /// The superstep, as in [`StateSnapshot::step`](crate::graph::StateSnapshot).
    pub step: i64,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
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
        /// Its writes, in order.
        writes: View,
        /// Whether the result was taken from an earlier run or the cache.
        cached: bool,
    },
    /// A task stopped to ask, or the run stopped at a breakpoint (no questions then).
    Interrupt {
        /// The questions.
        questions: Vec<Question>,
    },
    /// A task got an answer. Told only by a [replay](crate::graph::Replay).
    Answered {
        /// The node.
        node: Arc<str>,
        /// The answer.
        answer: AnswerInfo,
    },
    /// A node emitted a value.
    Custom {
        /// The node.
        node: Arc<str>,
        /// The value.
        value: Value,
    },
    /// A node emitted a piece of a message.
    Message {
        /// The node.
        node: Arc<str>,
        /// The piece.
        value: Value,
    },
    /// A task starts.
    TaskStart {
        /// The node.
        node: Arc<str>,
        /// The state or payload it starts with.
        input: View,
        /// Whether a send started it, with a payload.
        sent: bool,
        /// How many supersteps are left before the recursion limit, as
        /// [`Ctx::remaining_steps`](crate::graph::Ctx::remaining_steps).
        remaining_steps: i64,
    },
    /// A task ended, failed or stopped to ask.
    TaskEnd {
        /// The node.
        node: Arc<str>,
        /// How it failed.
        error: Option<String>,
        /// Its writes.
        writes: View,
        /// Its open questions.
        questions: Vec<Question>,
    },
    /// A checkpoint was made.
    Checkpoint(Box<CheckpointView>),
    /// What the tasks that were told to have ended came to is on disk; at once for a subgraph of which nothing is kept. Told
    /// with durability [`Sync`](crate::graph::Durability); with others, and for what ended last, the end of the run says so.
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
        }
    }
}

impl Event {
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
    /// What is to run next: a name for each task.
    pub next: Vec<String>,
    /// The tasks.
    pub tasks: Vec<TaskView>,
    /// Counts along the parent chain.
    pub step: i64,
    /// Why it was made.
    pub source: Source,
    /// Whether it has a parent.
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
    /// How it failed.
    pub error: Option<String>,
    /// What it wrote, once it has ended.
    pub result: Option<View>,
    /// The questions it asked.
    pub questions: Vec<Question>,
    /// Whether it runs a subgraph.
    pub subgraph: bool,
}

/// A state, a payload or writes of any graph: typed when asked for the right type, JSON otherwise. Secrets never show.
#[derive(Clone)]
pub struct View(Arc<dyn Erased>);

trait Erased: Send + Sync {
    fn json(&self) -> Value;
    fn any(&self) -> &(dyn Any + Send + Sync);
}

impl View {
    /// Returns the value as JSON, without secret channels. Writes are a list of `{channel: value}`, where
    /// `{"$overwrite": value}` marks a value that replaces a reduced channel.
    pub fn json(&self) -> Value {
        self.0.json()
    }

    /// Returns the value, if it is of this type (a state, a payload, or [`Writes`] of a state).
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.any().downcast_ref()
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.json())
    }
}

/// What is needed to show a state: its schema.
pub(crate) trait Showing<S: State>: Send + Sync + 'static {
    fn schema(&self) -> &S::Schema;
}

struct StateView<S, T>(Arc<S>, Arc<T>);

impl<S: State, T: Showing<S>> Erased for StateView<S, T> {
    fn json(&self) -> Value {
        state_json(&*self.0, self.1.schema(), None)
    }

    fn any(&self) -> &(dyn Any + Send + Sync) {
        &*self.0
    }
}

struct PartView<S, T>(Arc<S>, Arc<T>, Mask);

impl<S: State, T: Showing<S>> Erased for PartView<S, T> {
    fn json(&self) -> Value {
        state_json(&*self.0, self.1.schema(), Some(&self.2))
    }

    fn any(&self) -> &(dyn Any + Send + Sync) {
        &*self.0
    }
}

struct WritesView<S: State, T>(Writes<S>, Arc<T>);

impl<S: State, T: Showing<S>> Erased for WritesView<S, T> {
    fn json(&self) -> Value {
        writes_json::<S>(&self.0, self.1.schema())
    }

    fn any(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }
}

struct PayloadView(Arc<dyn crate::graph::define::command::Payload>);

impl Erased for PayloadView {
    fn json(&self) -> Value {
        self.0.json()
    }

    fn any(&self) -> &(dyn Any + Send + Sync) {
        &*self.0
    }
}

impl View {
    pub(crate) fn of_state<S: State, T: Showing<S>>(state: Arc<S>, table: Arc<T>) -> Self {
        Self(Arc::new(StateView(state, table)))
    }

    pub(crate) fn of_writes<S: State, T: Showing<S>>(writes: Writes<S>, table: Arc<T>) -> Self {
        Self(Arc::new(WritesView(writes, table)))
    }

    /// Only some channels of a state: what a node reads.
    pub(crate) fn of_part<S: State, T: Showing<S>>(state: Arc<S>, table: Arc<T>, only: Mask) -> Self {
        Self(Arc::new(PartView(state, table, only)))
    }

    pub(crate) fn of_payload(payload: Arc<dyn crate::graph::define::command::Payload>) -> Self {
        Self(Arc::new(PayloadView(payload)))
    }
}

fn shows(channel: &crate::graph::channels::channel::Channel, at: usize, only: Option<&Mask>) -> bool {
    !channel.is_secret() && only.is_none_or(|only| only.contains(at))
}

/// The state as JSON: channels that have a value, without secrets.
pub(crate) fn state_json<S: State>(state: &S, schema: &S::Schema, only: Option<&Mask>) -> Value {
    let mut map = Map::new();
    for (at, channel) in S::channels(schema).iter().enumerate() {
        if let Some(value) = shows(channel, at, only).then(|| channel_json(state, schema, at)).flatten() {
            map.insert(channel.name().to_owned(), value);
        }
    }
    Value::Object(map)
}

/// A channel's value as JSON, secret or not; none if it has none.
pub(crate) fn channel_json<S: State>(state: &S, schema: &S::Schema, at: usize) -> Option<Value> {
    let json = || state.show_channel(schema, at, serde_json::value::Serializer).unwrap_or_default();
    state.is_set(schema, at).then(json)
}

/// A state in debugging output, without secrets. A schema that is known only at run time is not at hand here, so of a
/// data-defined state nothing is shown.
pub(crate) struct Shown<'a, S>(pub &'a S);

impl<S: State> fmt::Debug for Shown<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nothing: &dyn Any = &();
        match nothing.downcast_ref::<S::Schema>() {
            Some(schema) => write!(f, "{}", state_json(self.0, schema, None)),
            None => f.write_str("{..}"),
        }
    }
}

fn writes_json<S: State>(writes: &Writes<S>, schema: &S::Schema) -> Value {
    let channels = S::channels(schema);
    let seen = writes.0.iter().filter(|write| {
        let at = S::channel_of(write);
        shows(&channels[at], at, None)
    });
    let entry = |write: &S::Write| {
        let mut value = S::encode_write(schema, write, serde_json::value::Serializer).unwrap_or_default();
        if S::overwrites(write) {
            value = serde_json::json!({ "$overwrite": value });
        }
        Value::Object(Map::from_iter([(channels[S::channel_of(write)].name().to_owned(), value)]))
    };
    Value::Array(seen.map(entry).collect())
}

/// Where a run's events go.
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

    /// Whether anybody listens to these events at this depth.
    pub(crate) fn wants(&self, mode: Mode, namespace: &[String]) -> bool {
        let debug = matches!(mode, Mode::Tasks | Mode::Checkpoints) && self.0.modes.contains(&Mode::Debug);
        let deep = namespace.is_empty() || self.0.subgraphs;
        deep && (debug || self.0.modes.contains(&mode))
    }

    /// Whether subgraphs are told of too.
    pub(crate) fn is_deep(&self) -> bool {
        self.0.subgraphs
    }

    /// Sends an event, waiting while the reader is behind. A reader that is gone is no failure.
    pub(crate) async fn send(&self, namespace: &Arc<[String]>, step: i64, kind: EventKind) {
        if !self.wants(kind.mode(), namespace) {
            return;
        }
        let Ok(permit) = self.0.sender.reserve().await else { return };
        let mut seq = self.0.seq.lock().unwrap_or_else(PoisonError::into_inner);
        let (thread, namespace) = (self.0.thread.clone(), Arc::clone(namespace));
        permit.send(Event { seq: *seq, thread, namespace, step, kind });
        *seq += 1;
    }
}
