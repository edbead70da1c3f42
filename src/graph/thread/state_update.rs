//! An update for `update_state`: its values, the nodes that it is attributed to, and what becomes of the tasks that commands
//! scheduled when updates take the place of their superstep. Knows no store.

use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::checkpoint::CheckpointId;
use crate::graph::node::{Name, NodeId};
use crate::graph::records::{COMMAND_KEY, START_NODE};
use crate::graph::run::Run;
use crate::graph::state::{AnyWrites, IntoWrites, State};
use crate::graph::superstep::{ApplyPass, Goto, Packet};
use crate::graph::view::EdgeKind;

/// One update of [`Thread::bulk_update`](crate::graph::Thread::bulk_update).
#[must_use]
pub struct StateUpdate<S: State, N> {
    update: AnyUpdate,
    types: PhantomData<fn(S, N)>,
}

pub(crate) enum AsNode {
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
    pub by: AsNode,
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
    fn of(values: Option<AnyWrites>, by: AsNode) -> Self {
        Self { update: AnyUpdate { values, by, returned: None }, types: PhantomData }
    }

    /// Returns an update attributed to the node that ran last.
    pub fn new(values: impl IntoWrites<S>) -> Self {
        Self::of(Some(values.into_writes().into()), AsNode::Inferred)
    }

    /// Attributes it to a node: the node's routers choose and its edges fire.
    pub fn as_node(mut self, node: N) -> Self
    where
        N: NodeId,
    {
        self.update.by = AsNode::Node(node.to_name());
        self
    }

    /// Attributes it to START.
    pub fn as_start(mut self) -> Self {
        self.update.by = AsNode::Start;
        self
    }

    /// Makes it new input, which the next run starts with.
    pub fn as_input(mut self) -> Self {
        self.update.by = AsNode::Input;
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
        Self::of(None, AsNode::End)
    }

    /// Copies the checkpoint as a new branch beside it. LangGraph: `as_node="__copy__"`.
    pub fn copy() -> Self {
        Self::of(None, AsNode::Copy)
    }
}

/// The result of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateReport {
    /// The new checkpoint.
    pub checkpoint: CheckpointId,
    /// Nodes whose finished results the update dropped (V9), and nodes that a command had scheduled and that do not run.
    pub dropped: Vec<String>,
}

/// The scheduled tasks that stay pending, and the nodes of those that do not.
#[derive(Default)]
pub(super) struct ScheduledTasks {
    kept: Vec<PendingGoto>,
    pub dropped: Vec<u32>,
}

struct PendingGoto {
    by: u32,
    nodes: Vec<u32>,
    sends: Vec<(u32, Packet)>,
}

/// The nodes that a superstep of updates is attributed to.
pub(super) struct Attribution {
    nodes: Vec<u32>,
    /// Set if the caller named none.
    is_inferred: bool,
    /// Set if no edge or router of these nodes says where the graph continues.
    is_silent: bool,
}

impl Attribution {
    pub(super) fn new(run: &Run, nodes: Vec<u32>, is_inferred: bool) -> Self {
        let is_silent = nodes.iter().all(|node| is_silent(run, *node));
        Self { nodes, is_inferred, is_silent }
    }

    /// Returns true if the update takes the place of what scheduled this: it changes the state only, or is the result of
    /// that node.
    fn continues(&self, goto: &Goto) -> bool {
        self.is_inferred || self.nodes.contains(&goto.by)
    }

    /// Returns true if what a command scheduled stays pending. A command given to the run is none of a node: as in
    /// LangGraph, it ends with the superstep for which it was given.
    fn keeps(&self, goto: &Goto) -> bool {
        goto.by != COMMAND_KEY && (self.continues(goto) || self.is_silent)
    }

    /// Returns true if the update is the result of this pending node.
    fn replaces(&self, goto: &Goto, node: u32) -> bool {
        !self.continues(goto) && self.nodes.contains(&node)
    }
}

fn is_silent(run: &Run, node: u32) -> bool {
    let outline = &run.table.outline;
    node != START_NODE
        && run.table.exits(node).routers.is_empty()
        && !outline.edges.iter().any(|edge| edge.from == Some(node as usize) && edge.kind != EdgeKind::Commanded)
        && !outline.joins.iter().any(|(sources, _)| sources.contains(&(node as usize)))
}

impl ScheduledTasks {
    /// Sorts the pending tasks that commands scheduled.
    pub(super) fn of(run: &Run, update: &Attribution) -> Self {
        let mut scheduled = Self::default();
        let control = &run.pos.control;
        for goto in &control.gotos {
            let sends = control.sends.get(goto.sends.start as usize..goto.sends.end as usize).unwrap_or_default();
            if update.keeps(goto) {
                let nodes = goto.nodes.iter().copied().filter(|node| !update.replaces(goto, *node)).collect();
                let sends = sends.iter().filter(|(node, _)| !update.replaces(goto, *node)).cloned().collect();
                scheduled.kept.push(PendingGoto { by: goto.by, nodes, sends });
                continue;
            }
            let is_deferred = |node: u32| run.table.wiring.deferred[node as usize] && goto.by != COMMAND_KEY;
            let waits = |node: &u32| !is_deferred(*node); // a node that is deferred waits on
            let nodes = goto.nodes.iter().copied().filter(waits).chain(sends.iter().map(|(node, _)| *node));
            scheduled.dropped.extend(nodes.filter(|node| !update.nodes.contains(node)));
        }
        scheduled
    }

    /// Schedules anew what stays pending, once the superstep's own triggers were cleared.
    pub(super) fn restore(self, run: &mut Run, applying: &mut ApplyPass) {
        let (wiring, control) = (&run.table.wiring, &mut run.pos.control);
        for PendingGoto { by, nodes, sends } in self.kept {
            control.note_goto(by, &nodes, sends.len() as u32);
            control.sends.extend(sends);
            for node in nodes {
                // A deferred node is not cleared; where it was released already, it stays so.
                if !control.deferred.iter().any(|deferred| deferred.node == node) {
                    control.trigger(wiring, applying, node);
                }
            }
        }
    }
}
