//! Tracing of a run: spans run > superstep > task, and warnings. Fields are ids, names and error messages only: no
//! state, no payload, no answer, and no value of a secret channel in an error. Without a subscriber it costs one check of a global.

use tracing::{Level as Severity, Span, info_span};

use crate::checkpoint::{CheckpointId, ThreadId};
use crate::graph::context::{LoggedSecrets, TaskCtx};
use crate::graph::error::{NodeError, RunError};
use crate::graph::interrupt::Question;

/// Returns true if a subscriber takes spans. Called once per run.
pub(crate) fn is_on() -> bool {
    tracing::span_enabled!(Severity::INFO)
}

/// Returns true if a subscriber takes warnings.
pub(crate) fn logs_warnings() -> bool {
    tracing::event_enabled!(Severity::WARN)
}

/// Returns the span of a run; `way`: the nodes that contain the graph.
pub(crate) fn run_span(thread: Option<&ThreadId>, graph: &str, way: &[String]) -> Span {
    let thread = thread.map(ThreadId::as_str);
    let namespace = (!way.is_empty()).then(|| way.join("/"));
    info_span!("run", thread, graph, namespace)
}

pub(crate) fn superstep_span(step: i64, checkpoint: Option<CheckpointId>, tasks: usize) -> Span {
    info_span!("superstep", step, checkpoint = checkpoint.map(|id| id.0), tasks)
}

pub(crate) fn task_span(ctx: &TaskCtx) -> Span {
    let id = format!("{}-{:x}", ctx.at.checkpoint, ctx.at.task);
    info_span!("task", node = &*ctx.facts.name, task = id, attempt = ctx.attempt.number)
}

/// Logs a failed attempt that is retried.
pub(crate) fn retry(ctx: &TaskCtx, error: &NodeError) {
    let (node, attempt, secrets) = (&*ctx.facts.name, ctx.attempt.number, &ctx.shared.events.secrets);
    tracing::warn!(node, attempt, error = %secrets.hide(error), "an attempt failed; the task is tried again");
}

/// Logs the questions of this graph's tasks; subgraphs log their own.
pub(crate) fn asked(way: &[String], questions: &[Question]) {
    for question in questions.iter().filter(|question| question.namespace == way) {
        let (node, id) = (question.node.as_str(), question.id());
        tracing::info!(node, question = question.name.as_str(), %id, "a task asked a question");
    }
}

pub(crate) fn failed(node: &str, error: &RunError, secrets: &LoggedSecrets) {
    tracing::warn!(node, error = %secrets.hide(error), "a task failed");
}
