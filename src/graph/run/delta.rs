//! What a subgraph over its parent's state has changed: that, and not the whole state, goes back (V8).

use crate::checkpoint::{CheckpointId, Source, TaskStatus};

use super::error::RunError;
use crate::graph::channels::channel::Stored;
use crate::graph::channels::mask::Mask;
use crate::graph::channels::state::State;
use crate::graph::channels::writes::Writes;
use crate::graph::compile::table::Table;
use crate::graph::define::node::NodeId;
use crate::graph::records::reader::Reader;

/// What a run over a shared state has changed: reducer writes in order, other channels as a set.
pub(crate) struct Delta<S: State> {
    writes: Vec<S::Write>,
    touched: Mask,
}

impl<S: State> Default for Delta<S> {
    fn default() -> Self {
        Self { writes: vec![], touched: Mask::default() }
    }
}

impl<S: State> Delta<S> {
    pub(crate) fn record(&mut self, schema: &S::Schema, write: &S::Write) {
        let channel = S::channel_of(write);
        let whole = matches!(S::channels(schema)[channel].stored(), Stored::Value | Stored::Never);
        if whole || S::overwrites(write) {
            self.touched.insert(channel);
        } else if !self.touched.contains(channel) {
            self.writes.push(write.clone());
        }
    }

    /// What the supersteps of an activation before this checkpoint have changed.
    pub(crate) async fn read<N: NodeId, C>(
        table: &Table<S, N, C>,
        reader: &Reader,
        id: CheckpointId,
    ) -> Result<Self, RunError> {
        let mut line = vec![];
        let mut at = Some(id);
        while let Some(id) = at {
            let Some(record) = reader.record(id).await? else { break };
            at = if record.source == Source::Input { None } else { record.parent };
            line.push((id, record));
        }
        let mut delta = Self::default();
        // A fork runs the superstep of its origin again, so the origin's results do not count.
        let forked: Vec<bool> = line.iter().map(|(_, record)| record.source == Source::Fork).collect();
        let counts = line.into_iter().skip(1).zip(forked).filter(|(_, forked)| !forked).map(|(entry, _)| entry);
        let counts: Vec<_> = counts.collect();
        for (id, record) in counts.into_iter().rev() {
            let mapping = reader.mapping(table, record.shape).await?;
            let tasks = reader.tasks(id).await?;
            for task in tasks.values().filter(|task| task.status == TaskStatus::Done) {
                let done = reader.finished(table, &record.namespace, task, &mapping).await?;
                done.writes.0.iter().for_each(|write| delta.record(&table.schema, write));
            }
        }
        Ok(delta)
    }

    pub(crate) fn finish(self, schema: &S::Schema, state: &S) -> Writes<S> {
        let Self { writes, touched } = self;
        let kept = writes.into_iter().filter(|write| !touched.contains(S::channel_of(write)));
        Writes(kept.chain(touched.iter().filter_map(|channel| state.write_of(schema, channel))).collect())
    }
}
