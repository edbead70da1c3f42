//! The place of a graph in a run: the root, or a subgraph of a task.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::known::Answers;
use super::places::Places;
use crate::checkpoint::CheckpointId;
use crate::graph::records::{Journal, JournalPath};
use crate::graph::view::event::task_id;

/// The place of a graph in a run: the root, or a subgraph in a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphScope {
    /// The nodes on the way down.
    pub names: Arc<[String]>,
    /// The same for events, with their tasks; empty where no event is sent or stored.
    pub places: Arc<[String]>,
    /// For the store: tells activations apart.
    pub path: String,
    /// True for a subgraph that keeps its state for the thread.
    pub keeps_own: bool,
    /// True inside a subgraph whose state is not stored.
    pub unsaved: bool,
    pub questions: QuestionScope,
    /// The idle timeouts of the nodes on the way down.
    pub beats: Vec<Arc<Notify>>,
    pub journal: JournalScope,
}

/// The owner of the questions of a subgraph whose state is not kept; empty elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuestionScope {
    pub owner: Option<Arc<QuestionOwner>>,
    /// The path of the subgraph below that owner.
    pub asker: String,
}

/// The part of a journal that the tasks of a graph write to.
#[derive(Clone, Debug, Default)]
pub(crate) struct JournalScope {
    /// The journal of the root graph's task that this is in; none in the root graph, whose tasks have one each.
    pub journal: Option<Arc<Journal>>,
    /// The path of the graph in it.
    pub path: JournalPath,
    /// The version of the graph's control at which this activation started; paths count from there.
    pub base: u64,
}

/// The nearest task that is saved, for the questions of a subgraph that is not.
#[derive(Debug)]
pub(crate) struct QuestionOwner {
    pub answers: Answers,
    pub places: Mutex<Places>,
    pub checkpoint: CheckpointId,
    pub task: u32,
    /// Its id.
    pub id: String,
}

impl GraphScope {
    /// Names a task of this graph within its thread. A superstep that is not stored has no checkpoint to name it by: its
    /// number takes the place, below the nearest task that is stored.
    pub(crate) fn task_id(&self, checkpoint: CheckpointId, step: i64, task: u32) -> String {
        match &self.questions.owner {
            Some(lender) => format!("{}{}-{step}.{task:x}", lender.id, self.questions.asker.replace(['/', ':'], "-")),
            None if checkpoint.0 == 0 => format!("{step}-{task:x}"),
            None => task_id(checkpoint, task),
        }
    }

    /// The nodes whose subgraphs this is in are alive.
    pub(crate) fn beat(&self) {
        self.beats.iter().for_each(|beat| beat.notify_one());
    }

    /// Returns the same scope for an activation that started at this version of the graph's control.
    pub(crate) fn since_version(mut self, base: u64) -> Self {
        self.journal.base = base;
        self
    }

    pub(crate) fn root() -> Arc<Self> {
        Arc::new(Self::default())
    }
}
