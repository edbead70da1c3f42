//! Display of a graph's threads besides their state: progress of subgraphs, labels of tasks, lines of a live view, the
//! repository of their work.
//! Still typed.

use std::path::PathBuf;
use std::sync::Arc;

use super::shapes::{RunningShape, ThreadReport};
use super::watch::running::{EventView, Tasks};
use crate::graph::{Event, EventKind, State, StateSnapshot, TaskSnapshot, View};

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

impl ThreadReport {
    /// Adds the running tasks, from the events of the run.
    pub(crate) fn add_running<'a>(&mut self, events: impl Iterator<Item = &'a serde_json::Value>) {
        let mut tasks = Tasks::default();
        events.for_each(|event| tasks.take(&EventView::of(event)));
        self.running = tasks.0.iter().map(RunningShape::from).collect();
    }
}
