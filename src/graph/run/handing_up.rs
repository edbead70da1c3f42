//! A task that hands a command to the graph around its own: the subgraph ends there, and what its nodes wrote is dropped.

use super::delta::Delta;
use super::state::Run;
use crate::graph::records::START_KEY;
use crate::graph::records::reader::reader;
use crate::graph::state::Mask;
use crate::graph::superstep::{Task, TaskState};

impl Run {
    /// Notes the channels that nodes of a subgraph write, which a command for the graph around it drops.
    pub(crate) fn note_written(&mut self, tasks: &[Task]) {
        if self.child.caller.is_some() && self.pos.start.is_none() && !tasks.is_empty() {
            self.child.written.extend(self.reusable.merge.written().iter());
        }
    }

    /// Returns the names of the channels to which the subgraph's nodes have written.
    pub(crate) async fn dropped_channels(&self) -> Vec<String> {
        let mut written = self.child.written.clone();
        for task in &self.step.tasks {
            if let TaskState::Done(done) = &task.state {
                written.extend(done.writes.0.iter().map(|write| write.channel()));
            }
        }
        written.extend(self.written_before().await.iter());
        written.iter().map(|channel| self.table.channel(channel).to_owned()).collect()
    }

    /// Returns the channels that nodes wrote in earlier runs of the activation, as they are stored.
    async fn written_before(&self) -> Mask {
        if let Some(delta) = &self.child.delta {
            return delta.channels();
        }
        let (true, Some(recorder)) = (self.child.is_resumed, self.recorder()) else { return Mask::default() };
        let earlier = Delta::read_of(&self.table, &reader(recorder), self.pos.meta.id, |key| key != START_KEY).await;
        earlier.map(|delta| delta.channels()).unwrap_or_default()
    }

    /// Logs a warning of what a command for the graph around this one drops.
    pub(crate) async fn warn_of_dropped(&self) {
        let dropped = self.dropped_channels().await;
        if !dropped.is_empty() {
            tracing::warn!(
                subgraph = self.scope.names.join("/"),
                channels = ?dropped,
                "what a subgraph wrote is dropped: one of its nodes handed a command to the graph around it"
            );
        }
    }
}
