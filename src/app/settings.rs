//! What a program registers for its graph, besides arguments: exit codes, texts and checks of its questions, the display of
//! its threads, and its part in a fork, for graphs whose threads work outside of the store. Still typed.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::custom_output::Said;
use super::decide::Decider;
use super::failure::{Exit, Failure, Refusal};
use super::questions::Questions;
use crate::checkpoint::BoxFuture;
use crate::graph::{Event, EventKind, State, StateSnapshot, TaskSnapshot, View};

/// The decisions that other values of a policy would have given.
pub(crate) type WhatIf<S> = fn(&S, &[(String, String)]) -> Result<Said, Refusal>;

pub(crate) struct GraphSettings<S> {
    pub outcome: Option<fn(&S) -> Exit>,
    pub deciders: Vec<(&'static str, Decider)>,
    pub asking: Vec<(&'static str, Exit)>,
    pub summary: Option<fn(&S) -> String>,
    pub what_if: Option<WhatIf<S>>,
    pub forks: Option<Forks<S>>,
    pub questions: Questions<S>,
    pub presentation: Presentation<S>,
}

impl<S> GraphSettings<S> {
    /// Returns the exit code of a thread with these pending questions: the first one that is registered.
    pub(crate) fn exit_code<'a>(&self, open: impl Iterator<Item = &'a str>) -> Exit {
        let means = |name: &str| self.asking.iter().find(|(known, _)| *known == name).map(|(_, exit)| *exit);
        open.filter_map(means).next().unwrap_or(Exit::Asking)
    }
}

type Progress<S> = fn(&mut S, &[TaskSnapshot]);
type Label = Arc<dyn Fn(&View) -> Option<String> + Send + Sync>;

pub(crate) struct Presentation<S> {
    pub progress: Option<Progress<S>>,
    pub board: Option<fn(&S) -> Vec<String>>,
    /// The cost so far, in millionths of a dollar.
    pub cost: Option<fn(&S) -> u64>,
    /// Set if no node is known to block its thread for long.
    pub never_blocks: bool,
    pub labels: Labels,
    /// The git repository that the graph works in.
    pub repository: Option<fn(&S) -> PathBuf>,
    /// A commit of its work there.
    pub commit: Option<fn(&S) -> Option<String>>,
    /// The repository that it was started with.
    #[cfg(feature = "agents")]
    pub origin: Option<fn(&S) -> Option<crate::workspace::Origin>>,
}

impl<S> Default for Presentation<S> {
    fn default() -> Self {
        Self {
            progress: None,
            board: None,
            cost: None,
            never_blocks: false,
            labels: Labels::default(),
            repository: None,
            commit: None,
            #[cfg(feature = "agents")]
            origin: None,
        }
    }
}

impl<S: State> Presentation<S> {
    /// Merges the progress of subgraphs into the state of a snapshot.
    pub(crate) fn merge(&self, snapshot: &mut StateSnapshot<S>) {
        if let Some(progress) = self.progress {
            let mut state = S::clone(&snapshot.values);
            progress(&mut state, &snapshot.tasks);
            snapshot.values = Arc::new(state);
        }
    }

    pub(crate) fn lines(&self, state: &S) -> Vec<String> {
        self.board.map(|board| board(state)).unwrap_or_default()
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
    undo: Undo,
}

type UndoFn = dyn Fn() -> BoxFuture<'static, Result<(), Refusal>> + Send + Sync;

#[derive(Clone, Default)]
struct Undo(Option<Arc<UndoFn>>);

impl fmt::Debug for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Undo").field(&self.0.is_some()).finish()
    }
}

impl ForkWrites {
    /// Returns the values of a fork, with lines for people about it.
    pub fn new(values: Value, text: impl Into<String>) -> Self {
        Self { values, text: text.into(), undo: Undo::default() }
    }

    /// Sets what undoes everything that was done outside of the store: it is called if the fork cannot be stored.
    pub fn undo(mut self, undo: impl Fn() -> BoxFuture<'static, Result<(), Refusal>> + Send + Sync + 'static) -> Self {
        self.undo = Undo(Some(Arc::new(undo)));
        self
    }

    /// Returns the result of storing the fork; after a failure, everything is undone.
    pub(crate) async fn stored<T>(&self, stored: Result<T, Failure>) -> Result<T, Failure> {
        let Undo(undo) = &self.undo;
        let Some(undo) = undo else { return stored };
        let mut failure = match stored {
            Ok(stored) => return Ok(stored),
            Err(failure) => failure,
        };
        if let Err(left) = undo().await {
            failure.causes.push(format!("what was made for the fork was not removed: {left}"));
        }
        Err(failure)
    }
}

/// Makes the values of a fork.
pub(crate) type Forks<S> = fn(ForkPoint<S>) -> BoxFuture<'static, Result<ForkWrites, Refusal>>;

/// Adds values given by a person, which take precedence.
pub(crate) fn merged(own: Value, given: Option<Value>) -> Value {
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
        assert_eq!(own.stored(Ok(7)).await.ok(), Some(7));
        assert_eq!(undone.load(Ordering::SeqCst), 0);
        let failure = own.stored::<()>(Err(Failure::new("the disk is full"))).await.unwrap_err();
        assert_eq!((failure.error, undone.load(Ordering::SeqCst)), ("the disk is full".into(), 1));
        let own = counting(&undone, || Err(Refusal::new("the folder is in use")));
        let failure = own.stored::<()>(Err(Failure::new("the disk is full"))).await.unwrap_err();
        assert_eq!(failure.causes, ["what was made for the fork was not removed: the folder is in use"]);
    }
}
