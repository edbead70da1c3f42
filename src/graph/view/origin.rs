//! The task that an event comes from: its id, and the way down to it. Pure.

use std::sync::Arc;

use crate::checkpoint::CheckpointId;

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
