//! What a program registers for its graph, besides arguments: exit codes, the display of its threads, texts, drafts and checks
//! of its questions, and its part in a fork, for graphs whose threads work outside of the store. Functions of a graph's state
//! become functions of a state of any type here.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::custom_output::Said;
use super::decide::Decider;
use super::failure::{Exit, Failure, Refusal};
use crate::checkpoint::BoxFuture;
use crate::graph::{AnyState, Event, EventKind, Interrupt, Question, State, StateSnapshot, TaskSnapshot, View};

/// A function of a graph's state; it returns none for a state of another graph, which never happens.
pub(crate) type OfState<T> = Arc<dyn Fn(&AnyState) -> Option<T> + Send + Sync>;

/// Returns a function of a state as one of a state of any type.
pub(crate) fn of_state<S: State, T: 'static>(of: impl Fn(&S) -> T + Send + Sync + 'static) -> OfState<T> {
    Arc::new(move |state| state.downcast_ref().map(&of))
}

/// The decisions that other values of a policy would have given.
pub(crate) type WhatIf = Arc<dyn Fn(&AnyState, &[(String, String)]) -> Option<Result<Said, Refusal>> + Send + Sync>;

#[derive(Default)]
pub(crate) struct GraphSettings {
    pub outcome: Option<OfState<Exit>>,
    pub deciders: Vec<(&'static str, Decider)>,
    pub asking: Vec<(&'static str, Exit)>,
    pub summary: Option<OfState<String>>,
    pub what_if: Option<WhatIf>,
    pub forks: Option<Forks>,
    pub questions: Questions,
    pub presentation: Presentation,
}

impl GraphSettings {
    /// Returns the exit code of a run that finished with a state.
    pub(crate) fn finished(&self, state: &AnyState) -> Exit {
        self.outcome.as_ref().and_then(|means| means(state)).unwrap_or(Exit::Finished)
    }

    /// Returns the exit code of a thread with these pending questions: the first one that is registered.
    pub(crate) fn exit_code<'a>(&self, open: impl Iterator<Item = &'a str>) -> Exit {
        let means = |name: &str| self.asking.iter().find(|(known, _)| *known == name).map(|(_, exit)| *exit);
        open.filter_map(means).next().unwrap_or(Exit::Asking)
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
    pub origin: Option<OfState<Option<crate::workspace::Origin>>>,
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
    pub origin: Option<crate::workspace::Origin>,
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

type MadeFork = BoxFuture<'static, Result<ForkWrites, Refusal>>;

/// Makes the values of a fork.
pub(crate) type Forks = Arc<dyn Fn(ForkPoint<AnyState>) -> Option<MadeFork> + Send + Sync>;

/// Returns a function of a fork as one of a fork whose state is of any type.
pub(crate) fn of_fork<S: State>(writes: fn(ForkPoint<S>) -> MadeFork) -> Forks {
    Arc::new(move |ForkPoint { at, newest, thread, is_new_thread }| {
        Some(writes(ForkPoint { at: at.downcast()?, newest: newest.downcast()?, thread, is_new_thread }))
    })
}

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

type Text = Arc<dyn Fn(&AnyState, &Question) -> Option<String> + Send + Sync>;
type Suggestions = Arc<dyn Fn(&AnyState, &Question) -> Option<Vec<String>> + Send + Sync>;
type Answer = Arc<dyn Fn(String) -> Option<Value> + Send + Sync>;
type Check = Arc<dyn Fn(&Question, &Value) -> Option<String> + Send + Sync>;

/// Registered functions by the name of the question.
#[derive(Default)]
pub(crate) struct Questions {
    described: Vec<(&'static str, Text)>,
    edited: Vec<(&'static str, Text, Answer)>,
    checked: Vec<(&'static str, Check)>,
    suggested: Vec<(&'static str, Suggestions)>,
}

impl Questions {
    pub(crate) fn describe<S: State, I: Interrupt>(&mut self, text: fn(&S, &I) -> String) {
        let text =
            move |state: &AnyState, question: &Question| Some(text(state.downcast_ref()?, &question.payload::<I>()?));
        self.described.push((I::NAME, Arc::new(text)));
    }

    pub(crate) fn edit<S: State, I: Interrupt>(
        &mut self,
        text: fn(&S, &I) -> Option<String>,
        answer: fn(String) -> I::Resume,
    ) {
        let text = move |state: &AnyState, question: &Question| text(state.downcast_ref()?, &question.payload::<I>()?);
        let answer = move |edited| serde_json::to_value(answer(edited)).ok();
        self.edited.push((I::NAME, Arc::new(text), Arc::new(answer)));
    }

    pub(crate) fn suggest<S: State, I: Interrupt>(&mut self, commands: fn(&S, &I) -> Vec<String>) {
        let commands = move |state: &AnyState, question: &Question| {
            Some(commands(state.downcast_ref()?, &question.payload::<I>()?))
        };
        self.suggested.push((I::NAME, Arc::new(commands)));
    }

    pub(crate) fn check<I: Interrupt>(&mut self, problem: fn(&I, &I::Resume) -> Option<String>) {
        let check = move |question: &Question, answer: &Value| {
            problem(&question.payload::<I>()?, &serde_json::from_value(answer.clone()).ok()?)
        };
        self.checked.push((I::NAME, Arc::new(check)));
    }

    /// Returns the question as lines for people; none without a registered text.
    pub(crate) fn text(&self, state: &AnyState, question: &Question) -> Option<String> {
        let (_, text) = self.described.iter().find(|(name, _)| *name == question.name())?;
        text(state, question)
    }

    /// Returns the registered commands that answer it, without program and thread; none are registered for most.
    pub(crate) fn suggestions(&self, state: &AnyState, question: &Question) -> Vec<String> {
        let found = self.suggested.iter().find(|(name, _)| *name == question.name());
        found.and_then(|(_, commands)| commands(state, question)).unwrap_or_default()
    }

    /// Returns the reason why an answer cannot be followed; none if it can, or is not of the question's type.
    pub(crate) fn problem(&self, question: &Question, answer: &Value) -> Option<String> {
        let (_, check) = self.checked.iter().find(|(name, _)| *name == question.name())?;
        check(question, answer)
    }

    /// Returns the text that a person edits to answer it; none if it is not answered so.
    pub(crate) fn draft(&self, state: &AnyState, question: &Question) -> Option<String> {
        let (_, text, _) = self.edited.iter().find(|(name, ..)| *name == question.name())?;
        text(state, question)
    }

    pub(crate) fn answer(&self, question: &Question, edited: String) -> Option<Value> {
        let (.., answer) = self.edited.iter().find(|(name, ..)| *name == question.name())?;
        answer(edited)
    }
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
