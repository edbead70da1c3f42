//! What a run tells the stream besides the ends of tasks: checkpoints, starts, stops, the state it begins with.

use std::sync::Arc;

use super::event::{CheckpointView, EventKind, Mode, TaskView, View};
use super::node::NodeId;
use super::run::Run;
use super::state::State;
use super::task::{Stand, Task};
use super::writes::Writes;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Run<S, N, C> {
    /// The checkpoint that the next superstep starts from.
    pub(crate) async fn emit_checkpoint(&self) {
        if self.shared.recorder.is_none() || !self.wants(Mode::Checkpoints) {
            return;
        }
        let view = CheckpointView {
            id: self.pos.is_stored().then_some(self.pos.id),
            values: View::of_state(Arc::clone(&self.pos.state), Arc::clone(&self.table)),
            next: self.tasks.iter().map(|task| self.node_name(task.node).to_string()).collect(),
            tasks: self.tasks.iter().map(|task| self.task_view(task)).collect(),
            step: self.pos.step,
            source: self.pos.source,
            has_parent: self.pos.parent.is_some(),
        };
        self.emit(self.pos.step, EventKind::Checkpoint(Box::new(view))).await;
    }

    fn task_view(&self, task: &Task<S>) -> TaskView {
        let result = match &task.stand {
            Stand::Done(done) if done.saved => Some(View::of_writes(done.writes.clone(), Arc::clone(&self.table))),
            _ => None,
        };
        TaskView {
            name: self.node_name(task.node).to_string(),
            error: task.error.clone(),
            result,
            questions: task.asked.clone(),
            subgraph: task.node != super::control::START_NODE && self.table.row(task.node).child.is_some(),
        }
    }

    /// The tasks that start, then the results of those that ended in an earlier run.
    pub(crate) async fn emit_starts(&self) {
        if self.pos.start.is_some() {
            return;
        }
        let step = self.pos.step + 1;
        if self.wants(Mode::Tasks) {
            for at in 0..self.tasks.len() {
                let node = self.node_name(self.tasks[at].node);
                self.emit(step, EventKind::TaskStart { node, input: self.input(at) }).await;
            }
        }
        for task in &self.tasks {
            if let Stand::Done(done) = &task.stand {
                self.tell_done(&self.node_name(task.node), &done.writes, true).await;
            }
        }
    }

    pub(crate) fn input(&self, at: usize) -> View {
        match &self.tasks[at].packet {
            Some(packet) => View::of_payload(Arc::clone(&packet.payload)),
            None => self.read(self.tasks[at].node),
        }
    }

    /// What a node reads of the state.
    fn read(&self, node: u32) -> View {
        let (state, table) = (Arc::clone(&self.pos.state), Arc::clone(&self.table));
        match &self.table.row(node).reads {
            Some(only) => View::of_part(state, table, only.clone()),
            None => View::of_state(state, table),
        }
    }

    /// A breakpoint shows as an interrupt without questions.
    pub(crate) async fn emit_breakpoint(&self) {
        if self.is_root() {
            self.emit(self.pos.step + 1, EventKind::Interrupt { questions: vec![] }).await;
        }
    }

    /// The state that a continued run begins with.
    pub(crate) async fn tell_loaded(&self) {
        if self.wants(Mode::Values) {
            let values = self.view();
            self.emit(self.pos.step, EventKind::Values { values, questions: vec![] }).await;
        }
    }

    /// At the end of an interrupted run: the state with the results of finished siblings.
    pub(crate) async fn tell_interrupted(&self) {
        let mut done = self.tasks.iter().filter_map(|task| match &task.stand {
            Stand::Done(done) => Some(&done.writes),
            Stand::Ready | Stand::Asked { .. } | Stand::Failed(_) => None,
        });
        if done.any(|writes: &Writes<S>| !self.shown_writes(writes).is_empty()) && self.wants(Mode::Values) {
            let values = self.shown(self.live());
            self.emit(self.pos.step, EventKind::Values { values, questions: vec![] }).await;
        }
    }
}
