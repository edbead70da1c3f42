//! The forms of states, tasks and questions on the wire, which the description of the routes has too. Knows no state.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::graph_place::CheckpointJson;

/// A question with which a thread is interrupted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Interrupt)]
pub(crate) struct InterruptJson {
    /// The id under which an answer names it: `command: {"resume": {ID: ANSWER}}`.
    pub id: String,
    /// The question, as its node asks it.
    pub value: Value,
    #[schema(inline = false)]
    pub superstep: TermsJson,
}

/// The terms of a question: who may answer it, until when, and what happens then.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InterruptTerms)]
pub(crate) struct TermsJson {
    pub name: String,
    pub node: String,
    /// The time at which it expires.
    #[schema(required, format = DateTime)]
    pub expires: Option<String>,
    /// The answer that it has when it expires.
    #[schema(required)]
    pub default: Option<Value>,
    /// The number of people who must approve.
    pub approvals: u32,
    /// The people who may answer; all if it is empty.
    pub approvers: Vec<String>,
    pub votes: Vec<VoteJson>,
}

/// The answer of one person to a question that takes several.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InterruptVote)]
pub(crate) struct VoteJson {
    #[schema(required)]
    pub by: Option<String>,
    #[schema(format = DateTime)]
    pub at: String,
    #[schema(required)]
    pub note: Option<String>,
    pub value: Value,
}

/// The state of a thread at a checkpoint. A thread that has not run has an empty one, and null for what it does not have.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = ThreadState)]
pub(crate) struct StateJson {
    /// The channels of the graph.
    pub values: Value,
    /// The nodes that are left to run.
    pub next: Vec<String>,
    pub tasks: Vec<TaskJson>,
    /// `source`, `step`, `graph_id` and `thread_id`, and the metadata of the run.
    #[schema(required, value_type = Option<Object>)]
    pub metadata: Option<Value>,
    #[schema(required, format = DateTime)]
    pub created_at: Option<String>,
    #[schema(required)]
    pub checkpoint: Option<CheckpointJson>,
    #[schema(required)]
    pub parent_checkpoint: Option<CheckpointJson>,
    /// The questions of its tasks.
    #[schema(value_type = Vec<InterruptJson>)]
    pub interrupts: Vec<Value>,
    #[schema(required)]
    pub checkpoint_id: Option<String>,
    #[schema(required)]
    pub parent_checkpoint_id: Option<String>,
}

/// A task of a superstep.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ThreadTask)]
pub(crate) struct TaskJson {
    pub id: String,
    /// Its node.
    pub name: String,
    /// `["__pregel_pull", NODE]`, or `["__pregel_push", NUMBER, false]` for a task that was sent.
    #[schema(value_type = Vec<Value>)]
    pub path: Vec<Value>,
    #[schema(required)]
    pub error: Option<String>,
    /// Its open questions; those that it asked last, once its superstep has ended.
    #[schema(value_type = Vec<InterruptJson>)]
    pub interrupts: Vec<Value>,
    /// The namespace of its subgraph, if it runs one; null if `state` has the subgraph.
    #[schema(required, value_type = Option<Object>)]
    pub checkpoint: Option<Value>,
    /// The state of its subgraph, if the request asks for those of subgraphs.
    #[schema(required, value_type = Option<Object>)]
    pub state: Option<Value>,
    /// Its writes, once it has ended.
    #[schema(required)]
    pub result: Option<Value>,
}

/// A thread.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Thread)]
pub(crate) struct ThreadJson<'a> {
    /// Its name.
    pub thread_id: &'a str,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(format = DateTime)]
    pub updated_at: String,
    #[schema(format = DateTime)]
    pub state_updated_at: String,
    pub metadata: &'a serde_json::Map<String, Value>,
    /// `idle`, `busy`, `interrupted` or `error`.
    pub status: &'static str,
    /// The configurations of its runs, the later ones over the earlier, with the `configurable` of their assistants.
    pub config: &'a serde_json::Map<String, Value>,
    /// The channels of its state; null before its first run.
    pub values: Value,
    /// The open questions by the ids of their tasks.
    #[schema(value_type = std::collections::HashMap<String, Vec<InterruptJson>>)]
    pub interrupts: serde_json::Map<String, Value>,
    #[schema(required)]
    pub error: Option<&'a crate::records::thread::RunFailure>,
}

/// The answer to an update of a state: the new checkpoint, under the names that clients read it by.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StateUpdated)]
pub(crate) struct UpdateJson {
    pub checkpoint: CheckpointJson,
    pub configurable: CheckpointJson,
    pub checkpoint_id: String,
}
