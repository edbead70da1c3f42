//! The settings of a graph that a program registers, besides its arguments: the exit code of its end, the display of its threads, and its
//! part in a fork, for graphs whose threads work outside of the store. Functions of a graph's state become functions of a
//! state of any type here.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use superstep::checkpoint::BoxFuture;
use superstep::graph::view::{TaskSnapshot, View};
use superstep::graph::{AnyState, Event, EventKind, State, StateSnapshot};

use super::custom_output::CustomOutput;
use super::failure::{Exit, Failure, Refusal};

/// A function of a graph's state; it returns none for a state of another graph, which never happens.
pub(crate) type OfState<T> = Arc<dyn Fn(&AnyState) -> Option<T> + Send + Sync>;

/// Returns a function of a state as one of a state of any type.
pub(crate) fn of_state<S: State, T: 'static>(of: impl Fn(&S) -> T + Send + Sync + 'static) -> OfState<T> {
    Arc::new(move |state| state.downcast_ref().map(&of))
}

/// The decisions that other values of a policy would have given.
pub(crate) type WhatIf =
    Arc<dyn Fn(&AnyState, &[(String, String)]) -> Option<Result<CustomOutput, Refusal>> + Send + Sync>;

#[derive(Default)]
pub(crate) struct GraphSettings {
    pub outcome: Option<OfState<Exit>>,
    pub summary: Option<OfState<String>>,
    pub what_if: Option<WhatIf>,
    pub forks: Option<Forks>,
    pub presentation: Presentation,
}

impl GraphSettings {
    /// Returns the exit code of a run that finished with a state.
    pub(crate) fn finished_exit(&self, state: &AnyState) -> Exit {
        self.outcome.as_ref().and_then(|means| means(state)).unwrap_or(Exit::Finished)
    }
}

type Progress = Arc<dyn Fn(&AnyState, &[TaskSnapshot]) -> Option<AnyState> + Send + Sync>;
type Label = Arc<dyn Fn(&View) -> Option<String> + Send + Sync>;

#[derive(Default)]
pub(crate) struct Presentation {
    pub progress: Option<Progress>,
    pub board: Option<OfState<Vec<String>>>,
    /// The cost so far, in millionths of a dollar.
    pub cost: Option<OfState<u64>>,
    /// Set if no node is known to block its thread for long.
    pub never_blocks: bool,
    pub labels: Labels,
    /// The git repository that the graph works in.
    pub repository: Option<OfState<PathBuf>>,
    /// A commit of its work there.
    pub commit: Option<OfState<Option<String>>>,
    /// The repository that it was started with.
    #[cfg(feature = "agents")]
    pub origin: Option<OfState<Option<superstep::workspace::RepositoryOrigin>>>,
}

/// The git repository that a thread works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkRepository {
    /// The stored path of its work tree.
    pub folder: PathBuf,
    /// A commit of the work; none: it has not begun.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only repositories of agents are looked for"))]
    pub commit: Option<String>,
    /// The repository that it was started with.
    #[cfg(feature = "agents")]
    pub origin: Option<superstep::workspace::RepositoryOrigin>,
}

impl Presentation {
    pub(crate) fn merge_with<S: State>(&mut self, progress: fn(&mut S, &[TaskSnapshot])) {
        self.progress = Some(Arc::new(move |state, tasks| {
            let mut state = state.downcast_ref::<S>()?.clone();
            progress(&mut state, tasks);
            Some(Arc::new(state).into())
        }));
    }

    /// Merges the progress of subgraphs into the state of a snapshot.
    pub(crate) fn merge(&self, snapshot: &mut StateSnapshot<AnyState>) {
        let merged = self.progress.as_ref().and_then(|progress| progress(&snapshot.values, &snapshot.tasks));
        if let Some(state) = merged {
            snapshot.values = Arc::new(state);
        }
    }

    pub(crate) fn lines(&self, state: &AnyState) -> Vec<String> {
        self.board.as_ref().and_then(|board| board(state)).unwrap_or_default()
    }

    /// Returns the repository that a thread with this state works in; none if there is none.
    pub(crate) fn repository(&self, state: &AnyState) -> Option<WorkRepository> {
        let folder = self.repository.as_ref()?(state).filter(|folder| !folder.as_os_str().is_empty())?;
        Some(WorkRepository {
            folder,
            commit: self.commit.as_ref().and_then(|commit| commit(state)).flatten(),
            #[cfg(feature = "agents")]
            origin: self.origin.as_ref().and_then(|origin| origin(state)).flatten(),
        })
    }
}

/// Labels of tasks, by the type of their input, and the nodes that a live view hides.
#[derive(Clone, Default)]
pub(crate) struct Labels {
    labels: Vec<Label>,
    /// Nodes whose ends people need not see.
    machinery: Vec<&'static str>,
}

impl Labels {
    pub(crate) fn hide(&mut self, nodes: &[&'static str]) {
        self.machinery.extend(nodes);
    }

    /// Returns true if an event is about a step of the machinery.
    pub(crate) fn is_machinery(&self, event: &serde_json::Value) -> bool {
        event["node"].as_str().is_some_and(|node| self.machinery.contains(&node))
    }

    pub(crate) fn add<T: 'static>(&mut self, label: fn(&T) -> String) {
        self.labels.push(Arc::new(move |input| input.get::<T>().map(label)));
    }

    /// Returns the label of the task that an event starts; none if it starts none, or the task has no label.
    pub(crate) fn of(&self, event: &Event) -> Option<String> {
        let EventKind::TaskStart { input, .. } = &event.kind else { return None };
        self.labels.iter().find_map(|label| label(input))
    }
}

/// A fork of a thread that is about to be made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ForkPoint<S> {
    /// The state at the checkpoint.
    pub at: Arc<S>,
    /// The newest state of the thread.
    pub newest: Arc<S>,
    /// The name of the thread that the fork belongs to.
    pub thread: String,
    /// True if it becomes a new thread.
    pub is_new_thread: bool,
}

/// The values that a fork writes.
#[derive(Clone, Debug, Default)]
pub struct ForkWrites {
    /// An object with a key for each channel.
    pub values: Value,
    /// Lines for people about it.
    pub text: String,
    /// Undoes what was done outside of the store.
    undo: UndoHook,
}

type UndoFn = dyn Fn() -> BoxFuture<'static, Result<(), Refusal>> + Send + Sync;

#[derive(Clone, Default)]
struct UndoHook(Option<Arc<UndoFn>>);

impl fmt::Debug for UndoHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Undo").field(&self.0.is_some()).finish()
    }
}

impl ForkWrites {
    /// Returns the values of a fork, with lines for people about it.
    pub fn new(values: Value, text: impl Into<String>) -> Self {
        Self { values, text: text.into(), undo: UndoHook::default() }
    }

    /// Sets what undoes everything that was done outside of the store: it is called if the fork cannot be stored.
    pub fn undo(mut self, undo: impl Fn() -> BoxFuture<'static, Result<(), Refusal>> + Send + Sync + 'static) -> Self {
        self.undo = UndoHook(Some(Arc::new(undo)));
        self
    }

    /// Returns the result of storing the fork; after a failure, everything is undone.
    pub(crate) async fn undo_on_failure<T>(&self, stored: Result<T, Failure>) -> Result<T, Failure> {
        let UndoHook(undo) = &self.undo;
        let Some(undo) = undo else { return stored };
        let mut failure = match stored {
            Ok(stored) => return Ok(stored),
            Err(failure) => failure,
        };
        if let Err(left) = undo().await {
            failure.causes.push(format!("the files of the fork were not removed: {left}"));
        }
        Err(failure)
    }
}

type ForkFuture = BoxFuture<'static, Result<ForkWrites, Refusal>>;

/// Makes the values of a fork.
pub(crate) type Forks = Arc<dyn Fn(ForkPoint<AnyState>) -> Option<ForkFuture> + Send + Sync>;

/// Returns a function of a fork as one of a fork whose state is of any type.
pub(crate) fn of_fork<S: State>(writes: fn(ForkPoint<S>) -> ForkFuture) -> Forks {
    Arc::new(move |ForkPoint { at, newest, thread, is_new_thread }| {
        Some(writes(ForkPoint { at: at.downcast()?, newest: newest.downcast()?, thread, is_new_thread }))
    })
}

/// Adds values given by a person, which take precedence.
pub(crate) fn merge_values(own: Value, given: Option<Value>) -> Value {
    let mut all = own.as_object().cloned().unwrap_or_default();
    match given {
        Some(Value::Object(given)) => all.extend(given),
        Some(other) => return other, // its error names the problem
        None => {}
    }
    Value::Object(all)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn counting(undone: &Arc<AtomicU32>, ends: fn() -> Result<(), Refusal>) -> ForkWrites {
        let undone = Arc::clone(undone);
        ForkWrites::new(Value::Null, "").undo(move || {
            undone.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(ends()))
        })
    }

    #[tokio::test]
    async fn what_was_made_for_a_fork_is_undone_if_it_cannot_be_stored() {
        let undone = Arc::default();
        let own = counting(&undone, || Ok(()));
        assert_eq!(own.undo_on_failure(Ok(7)).await.ok(), Some(7));
        assert_eq!(undone.load(Ordering::SeqCst), 0);
        let failure = own.undo_on_failure::<()>(Err(Failure::new("the disk is full"))).await.unwrap_err();
        assert_eq!((failure.error, undone.load(Ordering::SeqCst)), ("the disk is full".into(), 1));
        let own = counting(&undone, || Err(Refusal::new("the folder is in use")));
        let failure = own.undo_on_failure::<()>(Err(Failure::new("the disk is full"))).await.unwrap_err();
        assert_eq!(failure.causes, ["the files of the fork were not removed: the folder is in use"]);
    }
}
