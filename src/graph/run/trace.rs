//! What a run tells a log: spans run > superstep > task, and what goes wrong. Ids, names and words of errors only: no state, no
//! payload, no answer. Costs a glance at a global when nobody listens.

use std::time::Duration;

use tracing::{Level as Loudness, Span, info_span};

use crate::checkpoint::{CheckpointError, ThreadId};

use super::ctx::TaskCtx;
use super::error::RunError;
use super::superstep::Run;
use crate::graph::channels::state::State;
use crate::graph::define::interrupt::Question;
use crate::graph::define::node::{NodeError, NodeId};
use crate::graph::thread::outcome::Outcome;

/// Whether anybody listens. Asked once a run.
pub(crate) fn is_on() -> bool {
    tracing::span_enabled!(Loudness::INFO)
}

/// Whether anybody hears warnings.
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
pub(crate) fn superstep_span<S: State, N: NodeId, C: Send + Sync + 'static>(run: &Run<S, N, C>) -> Span {
    let checkpoint = run.pos.is_stored().then_some(run.pos.id.0);
    info_span!("superstep", step = run.pos.step + 1, checkpoint, tasks = run.tasks.len())
}

/// An attempt of a task.
pub(crate) fn task_span<C>(ctx: &TaskCtx<C>) -> Span {
    let id = format!("{}-{:x}", ctx.checkpoint, ctx.task);
    info_span!("task", node = &*ctx.facts.name, task = id, attempt = ctx.attempt)
}

/// An attempt failed, and there is another.
pub(crate) fn retry<C>(ctx: &TaskCtx<C>, error: &NodeError) {
    tracing::warn!(node = &*ctx.facts.name, attempt = ctx.attempt, %error, "an attempt failed; the task is tried again");
}

/// A task of this graph asks; what those inside it ask was told there.
pub(crate) fn asked(way: &[String], questions: &[Question]) {
    for question in questions.iter().filter(|question| question.namespace == way) {
        let (node, id) = (question.node.as_str(), question.id());
        tracing::info!(node, question = question.name.as_str(), %id, "a task asks");
    }
}

/// A body blocked the thread it was polled on.
pub(crate) fn blocked(node: &str, took: Duration) {
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::warn!(
        node,
        millis,
        "a node blocked its thread: other tasks and timeouts waited meanwhile; add it as `blocking(f)`, or await what it waits for"
    );
}

pub(crate) fn failed(node: &str, error: &RunError) {
    tracing::warn!(node, %error, "a task failed");
}

pub(crate) fn commit_failed(thread: &ThreadId, error: &CheckpointError) {
    tracing::error!(thread = thread.as_str(), %error, "a commit failed");
}

/// A run came to rest.
pub(crate) fn ended<S>(outcome: &Result<Outcome<S>, RunError>) {
    let outcome = match outcome {
        Err(error) => return tracing::error!(%error, "the run failed"),
        Ok(Outcome::Cancelled(_)) => return tracing::warn!("the run was cancelled"),
        Ok(Outcome::Finished(_)) => "finished",
        Ok(Outcome::Interrupted(_)) => "interrupted",
        Ok(Outcome::Waiting { .. }) => "waiting",
        Ok(Outcome::AwaitingSignal { .. }) => "awaiting a signal",
        Ok(Outcome::Stopped(_)) => "stopped",
        Ok(Outcome::Drained(_)) => "drained",
        Ok(Outcome::Budget(..)) => "budget",
    };
    tracing::info!(outcome, "the run came to rest");
}
