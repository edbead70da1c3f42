//! Integrity of checkpoints: a checkpoint is whole if everything it references exists, in versions that belong
//! together. Pure.
//!
//! A value is written with or before every record that refers to it. If its row has a later commit, it is a newer value
//! under the same name, and the record that refers to it is an outdated version.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::recovered::RecoveredRecords;
use crate::checkpoint::threads::references::Reference;
use crate::checkpoint::{CheckpointId, Key, RowId, TaskStatus};

/// Maximum number of missing items listed per checkpoint.
const NAMED: usize = 5;

/// Missing items of each checkpoint.
pub(super) struct Integrity {
    /// Missing items of the checkpoint itself; empty if there are none.
    own: BTreeMap<CheckpointId, Vec<String>>,
    /// Checkpoints that it references.
    leads: BTreeMap<CheckpointId, Vec<CheckpointId>>,
}

struct StoredRows<'a> {
    recovered: &'a RecoveredRecords,
    logs: HashMap<&'a str, BTreeMap<RowId, u64>>,
}

impl Integrity {
    pub(super) fn of(recovered: &RecoveredRecords) -> Self {
        let stored = StoredRows::of(recovered);
        let mut integrity = Self { own: BTreeMap::new(), leads: BTreeMap::new() };
        let mut damaged: BTreeMap<CheckpointId, Vec<String>> = BTreeMap::new();
        for key in &recovered.unreadable {
            if let Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } | Key::Effect { checkpoint, .. } = key {
                damaged.entry(*checkpoint).or_default().push(format!("{key} cannot be read"));
            }
        }
        for id in recovered.decoded.checkpoints.keys() {
            let mut lacks = damaged.remove(id).unwrap_or_default();
            let mut leads = vec![];
            for (by, reference) in recovered.decoded.references(*id) {
                match reference {
                    Reference::Checkpoint(other) => leads.push(other),
                    reference => lacks.extend(stored.lacks(&by, &reference)),
                }
            }
            lacks.extend(stored.lacks_effects(*id));
            integrity.own.insert(*id, lacks);
            integrity.leads.insert(*id, leads);
        }
        integrity
    }

    /// Returns the missing items of a checkpoint and of all it references; `None` if it is whole.
    pub(super) fn missing(&self, id: CheckpointId) -> Option<Vec<String>> {
        let (mut open, mut seen, mut missing) = (vec![id], BTreeSet::new(), BTreeSet::new());
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            match self.own.get(&at) {
                None => _ = missing.insert(format!("checkpoint {at} is missing")),
                Some(lacks) => missing.extend(lacks.iter().cloned()),
            }
            open.extend(self.leads.get(&at).into_iter().flatten());
        }
        let more = missing.len().saturating_sub(NAMED);
        let mut named: Vec<String> = missing.into_iter().take(NAMED).collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        (!named.is_empty()).then_some(named)
    }
}

impl<'a> StoredRows<'a> {
    fn of(recovered: &'a RecoveredRecords) -> Self {
        let mut logs: HashMap<&str, BTreeMap<RowId, u64>> = HashMap::new();
        for (key, (commit, _)) in &recovered.records {
            if let Key::Log { channel, row } = key {
                logs.entry(channel).or_default().insert(*row, *commit);
            }
        }
        Self { recovered, logs }
    }

    fn commit(&self, key: &Key) -> Option<u64> {
        self.recovered.records.get(key).map(|(commit, _)| *commit)
    }

    fn lacks(&self, by: &Key, reference: &Reference) -> Option<String> {
        let written = self.commit(by).unwrap_or(u64::MAX);
        match reference {
            Reference::Row(row) => Self::lacks_row(*row, self.commit(&Key::Row(*row)), written, by),
            Reference::Written { log, row } => {
                let entry = self.logs.get(log.as_str()).and_then(|entries| entries.get(row)).copied();
                Self::lacks_row(*row, self.commit(&Key::Row(*row)).or(entry), written, by)
            }
            Reference::Entries { log, range } => {
                let entries = self.logs.get(log.as_str());
                let entries = entries.into_iter().flat_map(|entries| entries.range(range.first..=range.last));
                let there = entries.filter(|(_, commit)| **commit <= written).count();
                let name = log.replace('\0', " ");
                (there != range.count as usize)
                    .then(|| format!("{there} of {} entries of log `{name}` are there", range.count))
            }
            Reference::Shape(shape) => {
                let key = Key::Shape(*shape);
                self.commit(&key).is_none().then(|| format!("{key} is missing"))
            }
            Reference::Checkpoint(_) | Reference::Optional(_) => None,
        }
    }

    fn lacks_row(row: RowId, found: Option<u64>, written: u64, by: &Key) -> Option<String> {
        let key = Key::Row(row);
        match found {
            None => Some(format!("{key} is missing")),
            // Questions may be raised again, with the same value.
            Some(commit) if commit > written && row.slot < RowId::QUESTIONS => {
                Some(format!("{by} is older than {key}"))
            }
            Some(_) => None,
        }
    }

    /// Checks the number of journal entries that a finished task records.
    fn lacks_effects(&self, id: CheckpointId) -> Vec<String> {
        let lacks = |task: u32, said: u32| {
            let key = |key: String| Key::Effect { checkpoint: id, task, key };
            let after = Key::Effect { checkpoint: id, task: task.saturating_add(1), key: String::new() };
            let there = self.recovered.records.range(key(String::new())..after).count();
            (there < said as usize).then(|| format!("{there} of {said} effects of task {task} are there"))
        };
        let tasks = self.recovered.decoded.tasks_of(id).filter(|(_, record)| record.status != TaskStatus::Pending);
        tasks.filter_map(|(task, record)| lacks(task, record.effects)).collect()
    }
}
