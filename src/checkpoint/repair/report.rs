//! What a repair came to, for people and machines. Knows numbers and names only.

use std::fmt;

use serde::Serialize;

use crate::checkpoint::{CheckpointId, ThreadId};

/// A checkpoint that left a trace and is not in the new store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostCheckpoint {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// What it lacks.
    pub missing: Vec<String>,
}

/// What became of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepairedThread {
    /// The thread.
    pub thread: ThreadId,
    /// The newest checkpoint that is whole: the thread stands there now. None if none is, and the thread is not in the new
    /// store.
    pub goes_on_from: Option<CheckpointId>,
    /// The newest checkpoint that left a trace.
    pub newest_seen: Option<CheckpointId>,
    /// The checkpoints of the root graph that are whole, oldest first.
    pub whole: Vec<CheckpointId>,
    /// Those that are not: damaged, or removed earlier and not quite gone.
    pub lost: Vec<LostCheckpoint>,
    /// Checkpoints that others follow and that left no other trace: removed earlier, or lost.
    pub gone: Vec<CheckpointId>,
    /// Records that left a trace and cannot be read.
    pub unreadable: Vec<String>,
    /// How many records are in the new store.
    pub records: usize,
    /// Whether the record that says where the thread came from is lost: it has to be trusted before it is run.
    pub origin_unknown: bool,
    /// Whether ids of questions are others than before.
    pub birth_unknown: bool,
}

impl Default for RepairedThread {
    fn default() -> Self {
        Self {
            thread: "".into(),
            goes_on_from: None,
            newest_seen: None,
            whole: vec![],
            lost: vec![],
            gone: vec![],
            unreadable: vec![],
            records: 0,
            origin_unknown: false,
            birth_unknown: false,
        }
    }
}

impl RepairedThread {
    /// Returns whether everything that left a trace is in the new store. What left none cannot be told from what never was.
    pub fn is_whole(&self) -> bool {
        let nothing_lacks = self.lost.is_empty() && self.gone.is_empty() && self.unreadable.is_empty();
        nothing_lacks && self.stands_at_newest() && !self.origin_unknown
    }

    fn stands_at_newest(&self) -> bool {
        self.goes_on_from.is_some() && self.goes_on_from == self.newest_seen
    }
}

/// What could be saved of a damaged store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// The bytes that were searched.
    pub bytes: u64,
    /// How many whole rows were found, older versions and deleted ones included.
    pub rows: u64,
    /// How many places look like a row and cannot be read; older versions and reused room of the log do, too.
    pub broken: u64,
    /// Whether the newest acknowledged commit was found; none if the store did not say which that is.
    pub has_newest: Option<bool>,
    /// What became of each thread of which anything was found.
    pub threads: Vec<RepairedThread>,
}

impl Repaired {
    /// Returns whether nothing is known to be lost.
    pub fn is_whole(&self) -> bool {
        self.has_newest == Some(true) && self.threads.iter().all(RepairedThread::is_whole)
    }
}

impl fmt::Display for RepairedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread `{}`: ", self.thread)?;
        match self.goes_on_from {
            None => write!(f, "nothing could be restored")?,
            Some(_) if self.is_whole() => write!(f, "whole, {} checkpoints", self.whole.len())?,
            Some(id) => write!(f, "goes on from checkpoint {id}, {} checkpoints", self.whole.len())?,
        }
        for LostCheckpoint { checkpoint, missing } in &self.lost {
            write!(f, "\n  checkpoint {checkpoint} is lost: {}", missing.join(", "))?;
        }
        for checkpoint in &self.gone {
            write!(f, "\n  checkpoint {checkpoint}, which others follow, is not there: removed earlier, or lost")?;
        }
        self.unreadable.iter().try_for_each(|record| write!(f, "\n  cannot be read: {record}"))?;
        if self.goes_on_from.is_some() && !self.stands_at_newest() {
            write!(f, "\n  what ran after checkpoint {} runs again", self.goes_on_from.unwrap_or_default())?;
        }
        if self.goes_on_from.is_some() && self.origin_unknown {
            write!(f, "\n  where it came from is not known: trust it before it is run")?;
        }
        if self.goes_on_from.is_some() && self.birth_unknown {
            write!(f, "\n  its open questions have other ids than before")?;
        }
        Ok(())
    }
}

impl fmt::Display for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = self.threads.iter().filter(|thread| thread.goes_on_from.is_none()).count();
        let whole = self.threads.iter().filter(|thread| thread.is_whole()).count();
        let part = self.threads.len() - lost - whole;
        write!(f, "{} threads: {whole} whole, {part} in part, {lost} lost", self.threads.len())?;
        match self.has_newest {
            Some(true) => {}
            Some(false) => write!(f, "\nthe newest acknowledged commit is lost; there may have been more threads")?,
            None => write!(f, "\nwhether the newest acknowledged commit is there is not known")?,
        }
        self.threads.iter().try_for_each(|thread| write!(f, "\n{thread}"))
    }
}
