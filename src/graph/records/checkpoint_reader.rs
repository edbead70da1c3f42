//! Reading the records of checkpoints. Those that were stored before format 5 do not list what commands scheduled: it is
//! derived from the tasks that led to them. Knows no state and no table.

use std::collections::BTreeSet;

use super::ids::{SENT, START_KEY, START_NODE};
use super::reader::{Reader, Tasks};
use crate::checkpoint::{
    CheckpointId, CheckpointRecord, ControlRecord, GotoRecord, Key, SendRecord, Source, TaskRecord, TaskStatus,
    decode_record,
};
use crate::graph::error::RunError;

/// The first format whose checkpoints list what commands scheduled.
const LISTED_SINCE: u8 = 5;

impl Reader {
    /// Returns a checkpoint's record; root checkpoints and those of subgraphs share their numbers.
    pub(crate) async fn record(&self, id: CheckpointId) -> Result<Option<CheckpointRecord>, RunError> {
        let Some((format, mut record)) = self.stored(id).await? else { return Ok(None) };
        if format < LISTED_SINCE {
            record.gotos = self.derived_gotos(&record).await?;
        }
        Ok(Some(record))
    }

    /// Returns a checkpoint's record as it is stored, and its format.
    async fn stored(&self, id: CheckpointId) -> Result<Option<(u8, CheckpointRecord)>, RunError> {
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
            let Some((_, before)) = self.stored(at).await? else { break };
            if !is_copy(&record, &before) {
                let gotos = gotos_of(&self.tasks(at).await?, &before.control, &Pending::of(&record.control));
                return self.renumbered(gotos, &record, of).await;
            }
            record = before;
        }
        Ok(vec![])
    }

    /// Converts node indexes of one checkpoint to those of another, which a later version of the graph may have stored.
    async fn renumbered(
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
        Self { nodes: ready.chain(deferred).collect(), sends: &control.sends }
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
