//! The ways in which a program shows a graph's threads besides their state: what subgraphs have stored so far, labels of tasks,
//! lines for a live view. Still typed.

use std::sync::Arc;

use super::shapes::{RunningShape, Stand};
use super::watch::running::{Seen, Tasks};
use crate::graph::{Event, EventKind, State, StateSnapshot, TaskSnapshot, View};

type Progress<S> = fn(&mut S, &[TaskSnapshot]);
type Label = Arc<dyn Fn(&View) -> Option<String> + Send + Sync>;

/// The ways of a graph.
pub(crate) struct Shows<S> {
    pub progress: Option<Progress<S>>,
    pub board: Option<fn(&S) -> Vec<String>>,
    pub labels: Labels,
}

impl<S> Default for Shows<S> {
    fn default() -> Self {
        Self { progress: None, board: None, labels: Labels::default() }
    }
}

impl<S: State> Shows<S> {
    /// Adds what subgraphs have stored so far to the state of a snapshot.
    pub(crate) fn merge(&self, snapshot: &mut StateSnapshot<S>) {
        if let Some(progress) = self.progress {
            let mut state = S::clone(&snapshot.values);
            progress(&mut state, &snapshot.tasks);
            snapshot.values = Arc::new(state);
        }
    }

    /// The lines of a live view.
    pub(crate) fn lines(&self, state: &S) -> Vec<String> {
        self.board.map(|board| board(state)).unwrap_or_default()
    }
}

/// The labels of tasks, by what they are started with.
#[derive(Clone, Default)]
pub(crate) struct Labels(Vec<Label>);

impl Labels {
    pub(crate) fn add<T: 'static>(&mut self, label: fn(&T) -> String) {
        self.0.push(Arc::new(move |input| input.get::<T>().map(label)));
    }

    /// The label of the task that an event starts; none if it starts none, or the task has no label.
    pub(crate) fn of(&self, event: &Event) -> Option<String> {
        let EventKind::TaskStart { input, .. } = &event.kind else { return None };
        self.0.iter().find_map(|label| label(input))
    }
}

impl Stand {
    /// Adds the tasks that run, as the events of the run tell it.
    pub(crate) fn add_running<'a>(&mut self, events: impl Iterator<Item = &'a serde_json::Value>) {
        let mut tasks = Tasks::default();
        events.for_each(|event| tasks.take(&Seen::of(event)));
        self.running = tasks.0.iter().map(RunningShape::from).collect();
    }
}
