//! Reports of a repair, for people and machines. Knows numbers and names only.

use std::fmt;

use serde::Serialize;

use crate::checkpoint::{CheckpointId, ItemKey, ThreadId};

/// A checkpoint of which a trace was found, but which is not in the new store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LostCheckpoint {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// Missing items.
    pub missing: Vec<String>,
}

/// Result for one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairedThread {
    /// The thread.
    pub thread: ThreadId,
    /// Newest whole checkpoint: the head of the thread in the new store. `None` if there is none, and then the thread
    /// is not in the new store.
    pub goes_on_from: Option<CheckpointId>,
    /// Newest checkpoint of which a trace was found.
    pub newest_seen: Option<CheckpointId>,
    /// Whole checkpoints of the root graph, oldest first.
    pub whole: Vec<CheckpointId>,
    /// Checkpoints that are not whole: damaged, or removed earlier with rows left in the files.
    pub lost: Vec<LostCheckpoint>,
    /// Checkpoints that others follow, without any other trace: removed earlier, or lost.
    pub gone: Vec<CheckpointId>,
    /// Records of which a trace was found, but which cannot be read.
    pub unreadable: Vec<String>,
    /// Number of records in the new store.
    pub records: usize,
    /// Set if the record of the thread's origin is lost: the thread has to be trusted before it is run.
    pub origin_unknown: bool,
    /// Set if the ids of questions differ from those before.
    pub birth_unknown: bool,
    /// Set if the head is lost, or older than other records of the thread. Each commit writes the head, so newer
    /// checkpoints may have been lost without a trace.
    pub head_outdated: bool,
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
            head_outdated: false,
        }
    }
}

impl RepairedThread {
    /// Returns whether everything of which a trace was found is in the new store. Data without a trace cannot be
    /// detected.
    pub fn is_whole(&self) -> bool {
        let nothing_lacks = self.lost.is_empty() && self.gone.is_empty() && self.unreadable.is_empty();
        nothing_lacks && self.is_at_newest() && !self.origin_unknown && !self.head_outdated
    }

    fn is_at_newest(&self) -> bool {
        self.goes_on_from.is_some() && self.goes_on_from == self.newest_seen
    }
}

/// Result of the repair of a damaged store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairReport {
    /// Number of bytes searched.
    pub bytes: u64,
    /// Number of intact rows, older versions and deleted ones included.
    pub rows: u64,
    /// Number of places that look like a row but cannot be read; older versions and reused space of the log count as
    /// well.
    pub broken: u64,
    /// Set if the newest acknowledged commit was found; `None` if its number is unknown.
    pub has_newest: Option<bool>,
    /// Result for each thread of which anything was found.
    pub threads: Vec<RepairedThread>,
    /// Number of items in the new store.
    pub items: usize,
    /// Items of which a trace was found, but which cannot be read.
    pub lost_items: Vec<ItemKey>,
}

impl RepairReport {
    /// Returns whether nothing is known to be lost.
    pub fn is_whole(&self) -> bool {
        let threads = self.threads.iter().all(RepairedThread::is_whole);
        self.has_newest == Some(true) && threads && self.lost_items.is_empty()
    }
}

impl fmt::Display for RepairedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread `{}`: ", self.thread)?;
        match self.goes_on_from {
            None => write!(f, "nothing could be restored")?,
            Some(_) if self.is_whole() => write!(f, "whole, {} checkpoints", self.whole.len())?,
            Some(id) => write!(f, "continues from checkpoint {id}, {} checkpoints", self.whole.len())?,
        }
        for LostCheckpoint { checkpoint, missing } in &self.lost {
            write!(f, "\n  checkpoint {checkpoint} is lost: {}", missing.join(", "))?;
        }
        for checkpoint in &self.gone {
            write!(f, "\n  checkpoint {checkpoint}, the parent of others, is missing: removed earlier, or lost")?;
        }
        self.unreadable.iter().try_for_each(|record| write!(f, "\n  cannot be read: {record}"))?;
        if self.goes_on_from.is_some() && !self.is_at_newest() {
            write!(f, "\n  what ran after checkpoint {} runs again", self.goes_on_from.unwrap_or_default())?;
        }
        if self.goes_on_from.is_some() && self.head_outdated {
            write!(f, "\n  its newest commit is lost in part: there may have been newer checkpoints")?;
        }
        if self.goes_on_from.is_some() && self.origin_unknown {
            write!(f, "\n  its origin is unknown: it must be trusted before it is run")?;
        }
        if self.goes_on_from.is_some() && self.birth_unknown {
            write!(f, "\n  its open questions have other ids than before")?;
        }
        Ok(())
    }
}

impl fmt::Display for RepairReport {
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
        self.threads.iter().try_for_each(|thread| write!(f, "\n{thread}"))?;
        if self.items > 0 {
            write!(f, "\n{} items beside threads", self.items)?;
        }
        self.lost_items.iter().try_for_each(|item| write!(f, "\ncannot be read: {item}"))
    }
}
