//! What a node is handed besides its input: the run's context, the task's identity, questions, events, signs of life.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::task::TaskCtx;
use crate::checkpoint::ThreadId;

/// The run's context and the task's identity; two pointers wide.
pub struct Ctx<C = ()>(pub(crate) Arc<TaskCtx>, Arc<C>);

impl<C> Clone for Ctx<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), Arc::clone(&self.1))
    }
}

impl<C> std::fmt::Debug for Ctx<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ctx({} in superstep {})", self.0.facts.name, self.0.at.step)
    }
}

/// A context that a run may be given without being asked for one: any type with a default.
#[diagnostic::on_unimplemented(
    message = "a graph with the context `{Self}` is run with one, as it has no default",
    note = "give it: `graph.thread_with(id, context)`, `graph.invoke_with(input, context)`; or derive `Default` for `{Self}`"
)]
pub trait DefaultContext {
    /// Makes the context.
    fn default_context() -> Self;
}

#[diagnostic::do_not_recommend]
impl<C: Default> DefaultContext for C {
    fn default_context() -> Self {
        C::default()
    }
}

impl<C: Send + Sync + 'static> Ctx<C> {
    /// Returns the context of a task; `None` if its run has a context of another type.
    pub(crate) fn of(task: Arc<TaskCtx>) -> Option<Self> {
        let context = Arc::clone(&task.shared.context).downcast().ok()?;
        Some(Self(task, context))
    }
}

impl<C> Ctx<C> {
    /// Returns the run's context: dependencies and settings that are never stored.
    pub fn context(&self) -> &C {
        &self.1
    }

    /// Returns the number of the superstep.
    pub fn step(&self) -> i64 {
        self.0.at.step
    }

    /// Returns the name of the node.
    pub fn node(&self) -> &str {
        &self.0.facts.name
    }

    /// Returns the thread; none for a run without one. A replay of a copied or imported thread gives the name of the copy.
    pub fn thread(&self) -> Option<&ThreadId> {
        if let Some(comparison) = &self.0.shared.replay {
            comparison.reads_thread();
        }
        self.0.shared.thread.as_ref()
    }

    /// Returns which attempt of this run this is, from 1; a replay gives the number that was recorded.
    pub fn attempt(&self) -> u32 {
        self.0.attempt.number
    }

    /// Returns a name of this task that stays the same over retries, resumes and processes, and is unique within its thread:
    /// with the thread's name, a key by which to make side effects repeatable.
    pub fn task_id(&self) -> String {
        self.0.id()
    }

    /// Returns how many supersteps are left before the recursion limit. LangGraph: `RemainingSteps`.
    ///
    /// Not recorded: a replay counts as if a run began with this superstep. A body that is to be replayed notes it:
    /// `ctx.record("left", ctx.remaining_steps())`.
    pub fn remaining_steps(&self) -> i64 {
        self.note_unrecorded_steps();
        self.0.at.last_step - self.0.at.step
    }

    fn note_unrecorded_steps(&self) {
        if let Some(comparison) = &self.0.shared.replay {
            comparison.doubts("it read how many supersteps were left, which is not recorded");
        }
    }

    /// Returns whether this is the last superstep that can still end well. LangGraph: `IsLastStep`. A replay may say otherwise,
    /// as with [`remaining_steps`](Self::remaining_steps).
    pub fn is_last_step(&self) -> bool {
        self.note_unrecorded_steps();
        self.0.at.step == self.0.at.last_step - 1
    }

    /// Returns whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.shared.cancellation.cancel.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Returns when the run is cancelled, and never if it cannot be: to clean up before the task is dropped. What the node
    /// returns after that counts as ever (an update is kept, an error fails the run), so end with
    /// `std::future::pending().await` to leave the thread cancelled.
    pub async fn cancelled(&self) {
        self.0.shared.cancelled().await;
    }

    /// Tells an idle timeout that the node is alive; with it are the nodes whose subgraphs it is in.
    pub fn heartbeat(&self) {
        self.0.scope.beat();
        if let Some(beat) = &self.0.attempt.beat {
            beat.notify_one();
        }
    }
}

impl<C> Ctx<C> {
    /// Returns the nodes whose subgraphs this task is in, outermost first; empty in the root graph. A second call of a
    /// subgraph by one task adds `#1`, and so on.
    pub fn namespace(&self) -> &[String] {
        &self.0.scope.names
    }
}
