//! The ends of the tasks of a superstep, for outcomes. Copies share them in chunks, so that a run that changes a few of
//! many tasks copies few.

use std::sync::Arc;

use crate::graph::interrupt::Question;
use crate::graph::superstep::{Finished, Task, TaskState};

/// The number of tasks that are copied together.
const CHUNK: usize = 64;

/// The ends of a superstep's tasks, in the order of the tasks.
#[derive(Clone, Default)]
pub(crate) struct TaskEnds(Vec<Arc<Vec<TaskEnd>>>);

/// A task, and its end so far.
#[derive(Clone)]
pub(crate) struct TaskEnd {
    pub node: u32,
    pub is_edge: bool,
    pub end: End,
}

#[derive(Clone)]
pub(crate) enum End {
    /// Its pending questions.
    Asked(Arc<[Question]>),
    /// Its result: writes, and the nodes it leads to.
    Done(Arc<Finished>),
    /// It has no result yet, or failed.
    Open,
}

impl TaskEnds {
    /// Returns the ends of tasks.
    pub(crate) fn of(tasks: &[Task]) -> Self {
        Self(tasks.chunks(CHUNK).map(|chunk| Arc::new(chunk.iter().map(TaskEnd::of).collect())).collect())
    }

    /// Notes the end of the task at this index.
    pub(crate) fn set(&mut self, at: usize, task: &Task) {
        if let Some(end) = self.0.get_mut(at / CHUNK).and_then(|chunk| Arc::make_mut(chunk).get_mut(at % CHUNK)) {
            *end = TaskEnd::of(task);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TaskEnd> {
        self.0.iter().flat_map(|chunk| chunk.iter())
    }
}

impl TaskEnd {
    fn of(task: &Task) -> Self {
        let end = match &task.state {
            TaskState::Asked { questions, .. } => End::Asked(Arc::clone(questions)),
            TaskState::Done(done) => End::Done(Arc::new(done.result())),
            TaskState::Ready | TaskState::Failed(_) => End::Open,
        };
        Self { node: task.node, is_edge: task.is_edge(), end }
    }

    pub(crate) fn done(&self) -> Option<(u32, &Finished)> {
        match &self.end {
            End::Done(done) => Some((self.node, done)),
            End::Asked(_) | End::Open => None,
        }
    }

    pub(crate) fn asks(&self) -> &[Question] {
        match &self.end {
            End::Asked(questions) => questions,
            End::Done(_) | End::Open => &[],
        }
    }
}
