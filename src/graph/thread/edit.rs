//! Updates for `update_state`, the node each is attributed to, and their result. Knows no thread.

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::checkpoint::CheckpointId;
use crate::graph::node::{Name, NodeId};
use crate::graph::state::{AnyWrites, IntoWrites, State};

/// One update of [`Thread::bulk_update`](crate::graph::Thread::bulk_update).
#[must_use]
pub struct StateUpdate<S: State, N> {
    update: AnyUpdate,
    types: PhantomData<fn(S, N)>,
}

pub(crate) enum By {
    Inferred,
    Start,
    Node(Name),
    Input,
    End,
    Copy,
}

/// An update without the types of its state and node ids.
pub(crate) struct AnyUpdate {
    pub values: Option<AnyWrites>,
    pub by: By,
    pub returned: Option<Arc<Map<String, Value>>>,
}

impl<S: State, N> From<StateUpdate<S, N>> for AnyUpdate {
    fn from(update: StateUpdate<S, N>) -> Self {
        update.update
    }
}

impl<S: State, N> std::fmt::Debug for StateUpdate<S, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateUpdate").field("values", &self.update.values).finish_non_exhaustive()
    }
}

impl<S: State, N> StateUpdate<S, N> {
    fn of(values: Option<AnyWrites>, by: By) -> Self {
        Self { update: AnyUpdate { values, by, returned: None }, types: PhantomData }
    }

    /// Returns an update attributed to the node that ran last.
    pub fn new(values: impl IntoWrites<S>) -> Self {
        Self::of(Some(values.into_writes().into()), By::Inferred)
    }

    /// Attributes it to a node: the node's routers choose and its edges fire.
    pub fn as_node(mut self, node: N) -> Self
    where
        N: NodeId,
    {
        self.update.by = By::Node(node.to_name());
        self
    }

    /// Attributes it to START.
    pub fn as_start(mut self) -> Self {
        self.update.by = By::Start;
        self
    }

    /// Makes it new input, which the next run starts with.
    pub fn as_input(mut self) -> Self {
        self.update.by = By::Input;
        self
    }

    /// Adds the object that the node is taken to have returned, as
    /// [`Command::returning`](crate::graph::Command::returning).
    pub fn returning(mut self, returned: Map<String, Value>) -> Self {
        self.update.returned = Some(Arc::new(returned));
        self
    }

    /// Drops what is unfinished; results of finished parallel tasks are kept. LangGraph: `update_state(None, END)`.
    pub fn clear() -> Self {
        Self::of(None, By::End)
    }

    /// Copies the checkpoint as a new branch beside it. LangGraph: `as_node="__copy__"`.
    pub fn copy() -> Self {
        Self::of(None, By::Copy)
    }
}

/// The result of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The new checkpoint.
    pub checkpoint: CheckpointId,
    /// Nodes whose finished results the update dropped (V9), and nodes that a command had scheduled and that do not run.
    pub dropped: Vec<String>,
}
