//! Which checkpoints are whole: they have everything they lead to, in versions that belong together. Pure.
//!
//! A value is written with or before whatever refers to it. One that a later commit wrote is another value under the same
//! name, and what refers to it is older than it should be.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::found::Found;
use crate::checkpoint::threads::needs::Need;
use crate::checkpoint::{CheckpointId, Key, RowId, TaskStatus};

/// How many things are named that one checkpoint lacks.
const NAMED: usize = 5;

/// What each checkpoint lacks.
pub(super) struct Judge {
    /// Of its own; nothing for one that is whole.
    own: BTreeMap<CheckpointId, Vec<String>>,
    /// The checkpoints it leads to.
    leads: BTreeMap<CheckpointId, Vec<CheckpointId>>,
}

struct Stored<'a> {
    found: &'a Found,
    logs: HashMap<&'a str, BTreeMap<RowId, u64>>,
}

impl Judge {
    pub(super) fn of(found: &Found) -> Self {
        let stored = Stored::of(found);
        let mut judge = Self { own: BTreeMap::new(), leads: BTreeMap::new() };
        let mut damaged: BTreeMap<CheckpointId, Vec<String>> = BTreeMap::new();
        for key in &found.unreadable {
            if let Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } | Key::Effect { checkpoint, .. } = key {
                damaged.entry(*checkpoint).or_default().push(format!("{key} cannot be read"));
            }
        }
        for id in found.anatomy.checkpoints.keys() {
            let mut lacks = damaged.remove(id).unwrap_or_default();
            let mut leads = vec![];
            for (by, need) in found.anatomy.needs(*id) {
                match need {
                    Need::Checkpoint(other) => leads.push(other),
                    need => lacks.extend(stored.lacks(&by, &need)),
                }
            }
            lacks.extend(stored.lacks_effects(*id));
            judge.own.insert(*id, lacks);
            judge.leads.insert(*id, leads);
        }
        judge
    }

    /// Returns what a checkpoint lacks, itself or where it leads; none if it is whole.
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

impl<'a> Stored<'a> {
    fn of(found: &'a Found) -> Self {
        let mut logs: HashMap<&str, BTreeMap<RowId, u64>> = HashMap::new();
        for (key, (commit, _)) in &found.records {
            if let Key::Log { channel, row } = key {
                logs.entry(channel).or_default().insert(*row, *commit);
            }
        }
        Self { found, logs }
    }

    fn commit(&self, key: &Key) -> Option<u64> {
        self.found.records.get(key).map(|(commit, _)| *commit)
    }

    fn lacks(&self, by: &Key, need: &Need) -> Option<String> {
        let written = self.commit(by).unwrap_or(u64::MAX);
        match need {
            Need::Row(row) => self.lacks_row(*row, self.commit(&Key::Row(*row)), written, by),
            Need::Written { log, row } => {
                let entry = self.logs.get(log.as_str()).and_then(|entries| entries.get(row)).copied();
                self.lacks_row(*row, self.commit(&Key::Row(*row)).or(entry), written, by)
            }
            Need::Entries { log, range } => {
                let entries = self.logs.get(log.as_str());
                let entries = entries.into_iter().flat_map(|entries| entries.range(range.first..=range.last));
                let there = entries.filter(|(_, commit)| **commit <= written).count();
                let name = log.replace('\0', " ");
                (there != range.count as usize)
                    .then(|| format!("{there} of {} entries of log `{name}` are there", range.count))
            }
            Need::Shape(shape) => {
                let key = Key::Shape(*shape);
                self.commit(&key).is_none().then(|| format!("{key} is missing"))
            }
            Need::Checkpoint(_) | Need::Perhaps(_) => None,
        }
    }

    fn lacks_row(&self, row: RowId, found: Option<u64>, written: u64, by: &Key) -> Option<String> {
        let key = Key::Row(row);
        match found {
            None => Some(format!("{key} is missing")),
            // Questions may be asked again, and are the same then.
            Some(commit) if commit > written && row.slot < RowId::QUESTIONS => {
                Some(format!("{by} is older than {key}"))
            }
            Some(_) => None,
        }
    }

    /// A finished task says how many entries its journal has.
    fn lacks_effects(&self, id: CheckpointId) -> Vec<String> {
        let lacks = |task: u32, said: u32| {
            let key = |key: String| Key::Effect { checkpoint: id, task, key };
            let after = Key::Effect { checkpoint: id, task: task.saturating_add(1), key: String::new() };
            let there = self.found.records.range(key(String::new())..after).count();
            (there < said as usize).then(|| format!("{there} of {said} effects of task {task} are there"))
        };
        let tasks = self.found.anatomy.tasks_of(id).filter(|(_, record)| record.status != TaskStatus::Pending);
        tasks.filter_map(|(task, record)| lacks(task, record.effects)).collect()
    }
}
