//! The line of checkpoints that led to one: parents of parents, oldest first; forks beside it are not read. It begins at the
//! first checkpoint or, where older ones were removed, at the oldest that is kept.

use std::collections::BTreeSet;

use super::reader::Reader;
use crate::checkpoint::{CheckpointId, CheckpointRecord, Key, Order, decode_record};
use crate::graph::error::RunError;

/// A checkpoint as it is stored.
pub(crate) type Listed = (CheckpointId, CheckpointRecord);

/// The number of checkpoints scanned at once.
const PAGE: usize = 64;

/// A walk from a checkpoint along parents, newest first.
pub(crate) struct Ancestors<'a> {
    reader: &'a Reader,
    since: CheckpointId,
    next: Option<CheckpointId>,
}

impl Ancestors<'_> {
    /// Returns the next checkpoint; without a record if it was removed, and then nothing after it.
    pub(crate) async fn next(&mut self) -> Result<Option<(CheckpointId, Option<CheckpointRecord>)>, RunError> {
        let Some(id) = self.next.take().filter(|id| *id > self.since) else { return Ok(None) };
        let record = self.reader.record(id).await?;
        self.next = record.as_ref().and_then(|record| record.parent);
        Ok(Some((id, record)))
    }
}

impl Reader {
    /// The checkpoints of the root graph that led to `tip`, which is the last of them.
    pub(crate) async fn line(&self, tip: CheckpointId) -> Result<Vec<Listed>, RunError> {
        let (mut line, mut wanted) = (vec![], Some(tip));
        while let Some(newest) = wanted {
            let range = Key::Checkpoint(CheckpointId(0))..=Key::Checkpoint(newest);
            let page = self.store.scan(&self.thread, range, Order::Descending, PAGE).await?;
            let before = line.len();
            for (key, bytes) in page {
                let Key::Checkpoint(id) = key else { continue };
                if wanted == Some(id) {
                    let record: CheckpointRecord = decode_record(&self.thread, "checkpoint", &bytes)?;
                    wanted = record.parent;
                    line.push((id, record));
                }
            }
            if line.is_empty() {
                return Err(RunError::UnknownCheckpoint { thread: self.thread.clone(), checkpoint: tip });
            }
            if line.len() == before {
                break; // its parent was removed
            }
        }
        line.reverse();
        Ok(line)
    }

    /// The checkpoints of a subgraph that led to `tip`, as far as they were made after `since`.
    pub(crate) async fn nested_line(&self, tip: CheckpointId, since: CheckpointId) -> Result<Vec<Listed>, RunError> {
        let (mut line, mut ancestors) = (vec![], self.ancestors(tip, since));
        while let Some((id, record)) = ancestors.next().await? {
            match record {
                Some(record) => line.push((id, record)),
                None if line.is_empty() => {
                    return Err(self.damaged(&format!("checkpoint {id:?} of a subgraph"), "it is missing"));
                }
                None => {} // it was removed
            }
        }
        line.reverse();
        Ok(line)
    }

    /// Returns a walk from `tip` along parents, as far as they were made after `since`.
    pub(crate) fn ancestors(&self, tip: CheckpointId, since: CheckpointId) -> Ancestors<'_> {
        Ancestors { reader: self, since, next: Some(tip) }
    }

    /// The newest of the root graph's checkpoints that followed one.
    pub(crate) async fn newest_after(&self, from: CheckpointId) -> Result<CheckpointId, RunError> {
        let (mut line, mut at) = (BTreeSet::from([from]), from);
        loop {
            let range = Key::Checkpoint(at)..=Key::Checkpoint(CheckpointId(u64::MAX));
            let page = self.store.scan(&self.thread, range, Order::Ascending, PAGE).await?;
            let more = page.len() == PAGE;
            for (key, bytes) in page {
                let Key::Checkpoint(id) = key else { continue };
                let record: CheckpointRecord = decode_record(&self.thread, "checkpoint", &bytes)?;
                if record.parent.is_some_and(|parent| line.contains(&parent)) {
                    line.insert(id);
                }
                at = id;
            }
            if !more {
                return Ok(line.last().copied().unwrap_or(from));
            }
        }
    }
}
