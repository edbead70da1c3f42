//! Stored checkpoints: their headers, what they plan, the line of checkpoints that led to one, and the entries by which a log
//! grew from one to another. Knows no state and no table.
//!
//! Those stored before format 5 do not list what commands scheduled: it is derived from the tasks that led to them.

use std::collections::BTreeSet;

use serde::Serialize;
use superstep_base::gather;

use super::ids::{SENT, START_KEY, START_NODE};
use super::reader::{Reader, Tasks};
use crate::checkpoint::{
    CheckpointId, CheckpointRecord, ControlRecord, GotoRecord, Key, LogRange, Order, RowId, SendRecord, Slot, Source,
    TaskRecord, TaskStatus, decode_record,
};
use crate::graph::error::RunError;
use crate::graph::json::{write_metadata, write_source, write_time};

/// A checkpoint without its state.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CheckpointInfo {
    /// Its number.
    #[serde(rename = "checkpoint")]
    pub id: CheckpointId,
    /// The checkpoint it followed.
    pub parent: Option<CheckpointId>,
    /// Counts along the parent chain, from -1.
    pub step: i64,
    /// The cause of the checkpoint.
    #[serde(serialize_with = "write_source")]
    pub source: Source,
    /// The time at which it was made, in milliseconds since 1970.
    #[serde(serialize_with = "write_time")]
    pub created_at: u64,
    /// The user's key-value pairs: [`Thread::metadata`](crate::graph::Thread::metadata).
    #[serde(serialize_with = "write_metadata", skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<(String, String)>,
}

impl CheckpointInfo {
    /// Returns the header of a stored checkpoint.
    pub(crate) fn of(id: CheckpointId, record: &CheckpointRecord) -> Self {
        let CheckpointRecord { parent, source, step, created_at, .. } = *record;
        Self { id, parent, source, step, created_at, metadata: record.metadata.clone() }
    }
}

/// The first format whose checkpoints list what commands scheduled.
const LISTED_SINCE: u8 = 5;

impl Reader {
    /// Returns a checkpoint's record; root checkpoints and those of subgraphs share their numbers.
    pub(crate) async fn record(&self, id: CheckpointId) -> Result<Option<CheckpointRecord>, RunError> {
        let Some((format, mut record)) = self.stored_record(id).await? else { return Ok(None) };
        if format < LISTED_SINCE {
            record.gotos = self.derived_gotos(&record).await?;
        }
        Ok(Some(record))
    }

    /// Returns the record of a checkpoint that should be there.
    pub(crate) async fn known_record(&self, id: CheckpointId) -> Result<CheckpointRecord, RunError> {
        self.record(id).await?.ok_or_else(|| self.unknown(id))
    }

    pub(crate) fn unknown(&self, checkpoint: CheckpointId) -> RunError {
        RunError::UnknownCheckpoint { thread: self.thread.clone(), checkpoint }
    }

    /// Returns a checkpoint's record as it is stored, and its format.
    async fn stored_record(&self, id: CheckpointId) -> Result<Option<(u8, CheckpointRecord)>, RunError> {
        let found = self.get(vec![Key::Checkpoint(id), Key::Nested(id)]).await?;
        let Some(bytes) = found.into_iter().flatten().next() else { return Ok(None) };
        let record = decode_record(&self.thread, "checkpoint", &bytes)?;
        Ok(bytes.first().map(|format| (*format, record)))
    }

    /// Derives what commands scheduled, as far as it is pending at a checkpoint.
    async fn derived_gotos(&self, of: &CheckpointRecord) -> Result<Vec<GotoRecord>, RunError> {
        let mut record = of.clone();
        while !Pending::of(&record.control).is_empty() && record.source != Source::Update {
            let Some(at) = record.parent else { break };
            let Some((_, before)) = self.stored_record(at).await? else { break };
            if !is_copy(&record, &before) {
                let gotos = gotos_of(&self.tasks(at).await?, &before.control, &Pending::of(&record.control));
                return self.renumber(gotos, &record, of).await;
            }
            record = before;
        }
        Ok(vec![])
    }

    /// Converts node indexes of one checkpoint to those of another, which a later version of the graph may have stored.
    async fn renumber(
        &self,
        gotos: Vec<GotoRecord>,
        from: &CheckpointRecord,
        to: &CheckpointRecord,
    ) -> Result<Vec<GotoRecord>, RunError> {
        if gotos.is_empty() || from.shape == to.shape {
            return Ok(gotos);
        }
        let (from, to) = (self.shape(from).await?, self.shape(to).await?);
        let index = |node: u32| {
            let name = from.nodes.get(node as usize)?;
            to.nodes.iter().position(|node| node == name).map(|at| at as u32)
        };
        let renumbered = |goto: GotoRecord| {
            let by = if goto.by == START_NODE { goto.by } else { index(goto.by)? };
            Some(GotoRecord { by, nodes: goto.nodes.into_iter().filter_map(index).collect(), ..goto })
        };
        Ok(gotos.into_iter().filter_map(renumbered).collect())
    }
}

/// The tasks of a checkpoint that a command may have scheduled.
struct Pending<'a> {
    nodes: BTreeSet<u32>,
    sends: &'a [SendRecord],
}

impl<'a> Pending<'a> {
    fn of(control: &'a ControlRecord) -> Self {
        let ready = control.ready.iter().map(|(node, _)| *node);
        let deferred = control.deferred.iter().map(|(node, ..)| *node);
        Self { nodes: gather(ready.chain(deferred)), sends: &control.sends }
    }

    fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.sends.is_empty()
    }

    /// Returns what a task's body chose itself and has not run.
    fn chosen_by(&self, by: u32, task: &TaskRecord) -> GotoRecord {
        let (targets, sends) = (task.chosen.0 as usize, task.chosen.1 as usize);
        let nodes = task.targets.iter().take(targets).copied().filter(|node| self.nodes.contains(node)).collect();
        let sends = &task.sends[..sends.min(task.sends.len())];
        let first = sends.first().and_then(|first| self.sends.iter().position(|send| send.payload == first.payload));
        let sends = first.map_or((0, 0), |first| (first as u32, sends.len().min(self.sends.len() - first) as u32));
        GotoRecord { by, nodes, sends }
    }
}

fn gotos_of(tasks: &Tasks, control: &ControlRecord, pending: &Pending<'_>) -> Vec<GotoRecord> {
    let finished = tasks.iter().filter(|(_, task)| task.status == TaskStatus::Done);
    let chosen = finished.filter_map(|(key, task)| Some(pending.chosen_by(node_of(*key, control)?, task)));
    chosen.filter(|goto| !goto.nodes.is_empty() || goto.sends.1 > 0).collect()
}

/// Returns the node of a task; none for what was written through commands and updates.
fn node_of(key: u32, control: &ControlRecord) -> Option<u32> {
    match key {
        START_KEY => Some(START_NODE),
        GotoRecord::CALLER => None,
        _ if key < SENT => Some(key),
        _ => control.sends.get((key - SENT) as usize).map(|send| send.node),
    }
}

/// Returns true if a checkpoint has the pending tasks of the one before it: it is a copy, perhaps of a later version of the
/// graph, or has new input besides.
fn is_copy(record: &CheckpointRecord, before: &CheckpointRecord) -> bool {
    record.source != Source::Loop && (record.shape != before.shape || has_equal_tasks(&record.control, &before.control))
}

fn has_equal_tasks(one: &ControlRecord, other: &ControlRecord) -> bool {
    (&one.ready, &one.deferred, &one.joins, &one.sends) == (&other.ready, &other.deferred, &other.joins, &other.sends)
}

/// A checkpoint as it is stored.
pub(crate) type ListedCheckpoint = (CheckpointId, CheckpointRecord);

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
    pub(crate) async fn line(&self, tip: CheckpointId) -> Result<Vec<ListedCheckpoint>, RunError> {
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
                return Err(self.unknown(tip));
            }
            if line.len() == before {
                break; // its parent was removed
            }
        }
        line.reverse();
        Ok(line)
    }

    /// The checkpoints of a subgraph that led to `tip`, as far as they were made after `since`.
    pub(crate) async fn nested_line(
        &self,
        tip: CheckpointId,
        since: CheckpointId,
    ) -> Result<Vec<ListedCheckpoint>, RunError> {
        let (mut line, mut ancestors) = (vec![], self.ancestors(tip, since));
        while let Some((id, record)) = ancestors.next().await? {
            match record {
                Some(record) => line.push((id, record)),
                None if line.is_empty() => {
                    return Err(self.damaged_error(&format!("checkpoint {id:?} of a subgraph"), "it is missing"));
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

/// Returns the entries that a log has grown by; `None` if it is another log.
pub(crate) fn growth(old: &Slot, new: &Slot) -> Option<Vec<LogRange>> {
    let (Slot::Log { full, ranges: old, .. }, Slot::Log { full: now, ranges: new, .. }) = (old, new) else {
        return None;
    };
    let Some((last, before)) = old.split_last() else { return (full == now).then(|| new.clone()) };
    let (grown, more) = new.get(before.len()..)?.split_first()?;
    let same = full == now
        && new.starts_with(before)
        && grown.log == last.log
        && grown.first == last.first
        && grown.last >= last.last;
    let count = grown.count.checked_sub(last.count).filter(|_| same)?;
    let after = RowId { slot: last.last.slot.saturating_add(1), ..last.last };
    let bytes = grown.bytes.saturating_sub(last.bytes);
    let rest = LogRange { log: grown.log.clone(), first: after, last: grown.last, count, bytes };
    Some((count > 0).then_some(rest).into_iter().chain(more.iter().cloned()).collect())
}
