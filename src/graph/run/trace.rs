//! What a run tells a log: spans run > superstep > task, and what goes wrong. Ids, names and words of errors only: no state, no
//! payload, no answer. Costs a glance at a global when nobody listens.

use tracing::{Level as Loudness, Span, info_span};

use crate::checkpoint::{CheckpointId, ThreadId};
use crate::graph::context::TaskCtx;
use crate::graph::error::{NodeError, RunError};
use crate::graph::interrupt::Question;

/// Returns true if a subscriber takes spans. Called once a run.
pub(crate) fn is_on() -> bool {
    tracing::span_enabled!(Loudness::INFO)
}

/// Returns true if a subscriber takes warnings.
pub(crate) fn hears_warnings() -> bool {
    tracing::event_enabled!(Loudness::WARN)
}

/// A run of a graph; `way`: the nodes whose subgraphs it is in.
pub(crate) fn run_span(thread: Option<&ThreadId>, graph: &str, way: &[String]) -> Span {
    let thread = thread.map(ThreadId::as_str);
    let namespace = (!way.is_empty()).then(|| way.join("/"));
    info_span!("run", thread, graph, namespace)
}

/// A superstep that is about to start.
pub(crate) fn superstep_span(step: i64, checkpoint: Option<CheckpointId>, tasks: usize) -> Span {
    info_span!("superstep", step, checkpoint = checkpoint.map(|id| id.0), tasks)
}

/// An attempt of a task.
pub(crate) fn task_span<C>(ctx: &TaskCtx<C>) -> Span {
    let id = format!("{}-{:x}", ctx.at.checkpoint, ctx.at.task);
    info_span!("task", node = &*ctx.facts.name, task = id, attempt = ctx.attempt.number)
}

/// An attempt failed, and there is another.
pub(crate) fn retry<C>(ctx: &TaskCtx<C>, error: &NodeError) {
    tracing::warn!(node = &*ctx.facts.name, attempt = ctx.attempt.number, %error, "an attempt failed; the task is tried again");
}

/// A task of this graph asks; what those inside it ask was told there.
pub(crate) fn asked(way: &[String], questions: &[Question]) {
    for question in questions.iter().filter(|question| question.namespace == way) {
        let (node, id) = (question.node.as_str(), question.id());
        tracing::info!(node, question = question.name.as_str(), %id, "a task asks");
    }
}

pub(crate) fn failed(node: &str, error: &RunError) {
    tracing::warn!(node, %error, "a task failed");
}
