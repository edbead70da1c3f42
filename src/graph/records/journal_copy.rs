//! Journals of a checkpoint's tasks, for a fork whose tasks go on with the same work. Knows records only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::journal::{Journal, ORIGIN, name};
use super::mapping::Mapping;
use super::puts::Puts;
use super::reader::{Reader, Tasks};
use crate::checkpoint::{CheckpointId, EffectKind, EffectRecord, Key, TaskStatus, decode_record, encode_record};
use crate::graph::error::RunError;

/// From which checkpoint to which fork of it.
pub(crate) struct ForkPoint<'a> {
    pub from: CheckpointId,
    pub to: CheckpointId,
    pub mapping: &'a Mapping,
    /// The tasks' records, if the fork starts a branch beside the one that was followed: several may, and each has
    /// effects of its own.
    pub parts: Option<&'a Tasks>,
}

impl ForkPoint<'_> {
    /// The tasks that came to rest before the branches part: what they do from here on is the branch's. One that failed, or
    /// that has no record, may have started effects that it will start again: it keeps its name.
    fn parted(&self) -> BTreeSet<u32> {
        let tasks = self.parts.into_iter().flatten();
        let rests = tasks.filter(|(_, task)| matches!(task.status, TaskStatus::Interrupted | TaskStatus::Waiting));
        rests.filter_map(|(key, _)| self.mapping.task(*key).ok()).collect()
    }
}

/// Returns the journals of the tasks, those of `planned` among them. The world outside knows them under the names they had.
pub(crate) async fn journals(
    reader: &Reader,
    fork: ForkPoint<'_>,
    planned: impl IntoIterator<Item = u32>,
) -> Result<Puts, RunError> {
    let (parted, ForkPoint { from, to, mapping, .. }) = (fork.parted(), fork);
    let (mut puts, mut unnamed) = (vec![], planned.into_iter().collect::<BTreeSet<u32>>());
    for (task, key, bytes) in reader.effects(from).await? {
        let task = mapping.task(task).map_err(|reason| reader.incompatible(reason))?;
        if key == ORIGIN {
            if parted.contains(&task) {
                continue;
            }
            unnamed.remove(&task);
        }
        puts.push((Key::Effect { checkpoint: to, task, key }, bytes));
    }
    for task in unnamed {
        let origin = match parted.contains(&task) {
            true => name(to, task),
            false => name(from, mapping.stored_task(task)),
        };
        let key = Key::Effect { checkpoint: to, task, key: ORIGIN.to_owned() };
        puts.push((key, encode_record(&named(origin))?));
    }
    Ok(puts)
}

fn named(idempotency: String) -> EffectRecord {
    let (shown, value) = (String::new(), vec![]);
    EffectRecord { kind: EffectKind::Value, order: 0, arguments: 0, shown, idempotency, value, at: 0, runs: vec![] }
}

impl Reader {
    /// Returns the journals of the tasks of a checkpoint, by their keys.
    pub(crate) async fn journals(
        &self,
        checkpoint: CheckpointId,
        mapping: &Mapping,
    ) -> Result<BTreeMap<u32, Arc<Journal>>, RunError> {
        let journal = |(task, records)| (task, Arc::new(Journal::stored(checkpoint, task, records)));
        Ok(self.entries_of(checkpoint, mapping).await?.into_iter().map(journal).collect())
    }

    /// Returns the journal of one task of a checkpoint; none if it has no entries.
    pub(crate) async fn journal(
        &self,
        checkpoint: CheckpointId,
        task: u32,
        mapping: &Mapping,
    ) -> Result<Option<Arc<Journal>>, RunError> {
        let rows = self.effects_in(checkpoint, task..=task).await?;
        let mut journals = self.decoded(rows, mapping)?.into_iter();
        Ok(journals.next().map(|(task, records)| Arc::new(Journal::stored(checkpoint, task, records))))
    }

    /// The same as records.
    pub(crate) async fn entries_of(
        &self,
        checkpoint: CheckpointId,
        mapping: &Mapping,
    ) -> Result<BTreeMap<u32, Vec<(String, EffectRecord)>>, RunError> {
        self.decoded(self.effects(checkpoint).await?, mapping)
    }

    fn decoded(
        &self,
        rows: Vec<(u32, String, Vec<u8>)>,
        mapping: &Mapping,
    ) -> Result<BTreeMap<u32, Vec<(String, EffectRecord)>>, RunError> {
        let mut entries = BTreeMap::<u32, Vec<(String, EffectRecord)>>::new();
        for (task, key, bytes) in rows {
            let record = decode_record(&self.thread, format!("effect `{key}`"), &bytes)?;
            let task = mapping.task(task).map_err(|reason| self.incompatible(reason))?;
            entries.entry(task).or_default().push((key, record));
        }
        Ok(entries)
    }
}
