//! Changes of a subgraph over its parent's state: only these, not the whole state, are returned to the parent (V8).

use crate::checkpoint::{CheckpointId, CheckpointRecord, Source, TaskRecord, TaskStatus};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::records::{Reader, Tasks, UPDATE_KEY};
use crate::graph::state::{AnySchema, AnyState, AnyWrite, AnyWrites, Mask, Storage};

/// The changes of a run over a shared state: reducer writes in order, other channels as a set.
#[derive(Default)]
pub(crate) struct Delta {
    writes: Vec<AnyWrite>,
    touched: Mask,
}

impl Delta {
    pub(crate) fn record(&mut self, schema: &AnySchema, write: &AnyWrite) {
        let channel = write.channel();
        let whole = matches!(schema.channels()[channel].storage(), Storage::Value | Storage::Never);
        if whole || write.overwrites() {
            self.touched.insert(channel);
        } else if !self.touched.contains(channel) {
            self.writes.push(write.clone());
        }
    }

    /// Returns the changed channels.
    pub(crate) fn channels(&self) -> Mask {
        self.writes.iter().map(AnyWrite::channel).chain(self.touched.iter()).collect()
    }

    /// Drops the changes of a channel that was emptied.
    pub(crate) fn forget(&mut self, channel: usize) {
        self.touched.remove(channel);
        self.writes.retain(|write| write.channel() != channel);
    }

    /// Reads the changes of an activation up to this checkpoint, including those of `update_state`.
    pub(crate) async fn read(table: &Table, reader: &Reader, id: CheckpointId) -> Result<Self, RunError> {
        Self::read_of(table, reader, id, |_| true).await
    }

    /// Reads the changes that tasks with these keys made.
    pub(crate) async fn read_of(
        table: &Table,
        reader: &Reader,
        id: CheckpointId,
        counts: impl Fn(u32) -> bool,
    ) -> Result<Self, RunError> {
        let line = line(reader, id).await?;
        let mut delta = Self::default();
        for (at, made) in line.iter().enumerate() {
            let mapping = reader.mapping(table, made.id, &made.record).await?;
            let applied = line.get(at + 1).is_some_and(LineEntry::applies_results);
            let results = made.tasks.iter().filter(|(key, task)| {
                **key != UPDATE_KEY && counts(**key) && applied && task.status == TaskStatus::Done
            });
            for task in made.external_update().into_iter().chain(results.map(|(_, task)| task)) {
                let done = reader.load_result(table, &made.record.namespace, task, &mapping).await?;
                done.writes.0.iter().for_each(|write| delta.record(&table.schema, write));
            }
            mapping.check_results(reader)?;
        }
        Ok(delta)
    }

    pub(crate) fn finish(self, schema: &AnySchema, state: &AnyState) -> AnyWrites {
        let Self { writes, touched } = self;
        let kept = writes.into_iter().filter(|write| !touched.contains(write.channel()));
        AnyWrites(kept.chain(touched.iter().filter_map(|channel| schema.write_of(state, channel))).collect())
    }
}

/// A checkpoint of an activation.
struct LineEntry {
    id: CheckpointId,
    record: CheckpointRecord,
    tasks: Tasks,
}

impl LineEntry {
    /// Returns the writes of the `update_state` that made it.
    fn external_update(&self) -> Option<&TaskRecord> {
        self.tasks.get(&UPDATE_KEY).filter(|_| matches!(self.record.source, Source::Update | Source::Input))
    }

    /// Returns true if the activation started with it; input of `update_state` does not start one.
    fn is_start(&self) -> bool {
        self.record.source == Source::Input && self.external_update().is_none()
    }

    /// Returns true if it applied the results of the checkpoint before: a fork runs that superstep again, an update
    /// drops it.
    fn applies_results(&self) -> bool {
        self.record.source != Source::Fork && self.external_update().is_none()
    }
}

/// Returns the checkpoints of an activation, oldest first.
async fn line(reader: &Reader, id: CheckpointId) -> Result<Vec<LineEntry>, RunError> {
    let (mut line, mut ancestors) = (vec![], reader.ancestors(id, CheckpointId(0)));
    while let Some((id, record)) = ancestors.next().await? {
        let record = record.ok_or_else(|| reader.missing_subgraph())?;
        line.push(LineEntry { id, record, tasks: reader.tasks(id).await? });
        if line.last().is_some_and(LineEntry::is_start) {
            break;
        }
    }
    line.reverse();
    Ok(line)
}
