//! Which checkpoints are kept. Pure, but for the clock's default.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use crate::checkpoint::threads::anatomy::Anatomy;
use crate::checkpoint::time::now;
use crate::checkpoint::{CheckpointId, CheckpointRecord, Head, Shape, TaskStatus};

/// Which checkpoints of a thread are kept: any that one of the rules keeps. LangGraph has no counterpart.
///
/// Always kept: the newest checkpoint, the one before it, and whatever a kept one needs to be loaded, replayed and gone on
/// with: the checkpoint its map of channels builds on, its tasks, journals, events and subgraphs. Without
/// [`keep_last`](Self::keep_last) and [`max_age`](Self::max_age) all checkpoints are kept, and only what none of them
/// reaches goes.
///
/// ```
/// # use std::time::Duration;
/// # use superstep::checkpoint::{MemoryCheckpointer, Retention, gc_all};
/// # async fn example(store: MemoryCheckpointer) -> Result<(), superstep::checkpoint::CheckpointError> {
/// let policy = Retention::new().keep_last(20).max_age(Duration::from_secs(30 * 86_400));
/// println!("{}", gc_all(&store, &policy).await?);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Retention {
    last: Option<usize>,
    max_age: Option<Duration>,
    unfinished: bool,
    tagged: bool,
    as_of: Option<u64>,
}

impl Default for Retention {
    fn default() -> Self {
        Self::new()
    }
}

impl Retention {
    /// Returns the rules that keep everything a checkpoint reaches.
    pub fn new() -> Self {
        Self { last: None, max_age: None, unfinished: true, tagged: true, as_of: None }
    }

    /// Keeps the newest so many checkpoints of each thread's root graph, counted over all branches.
    pub fn keep_last(mut self, checkpoints: usize) -> Self {
        self.last = Some(checkpoints);
        self
    }

    /// Keeps the checkpoints that are not older. With [`keep_last`](Self::keep_last) too, one goes only if neither keeps it.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Sets whether older branches that wait are kept: with open questions, a time to wait for, or an unfinished superstep.
    /// They are unless set otherwise.
    pub fn keep_unfinished(mut self, keep: bool) -> Self {
        self.unfinished = keep;
        self
    }

    /// Sets whether checkpoints with a tag are kept. They are unless set otherwise; else their tags go with them.
    pub fn keep_tagged(mut self, keep: bool) -> Self {
        self.tagged = keep;
        self
    }

    /// Sets the time that ages are counted back from, in milliseconds since 1970, instead of now.
    pub fn as_of(mut self, time: u64) -> Self {
        self.as_of = Some(time);
        self
    }

    /// Returns the checkpoints to keep for their own sake.
    pub(super) fn roots(&self, anatomy: &Anatomy, head: Head) -> BTreeSet<CheckpointId> {
        let mut kept: BTreeSet<CheckpointId> = head.checkpoint.into_iter().collect();
        // Whether a thread stands at a breakpoint is read off the checkpoint before its newest.
        let newest = head.checkpoint.and_then(|id| anatomy.checkpoints.get(&id));
        kept.extend(newest.and_then(|made| made.record.parent));
        let left: HashSet<CheckpointId> = anatomy.roots().filter_map(|(_, record)| record.parent).collect();
        for (place, (id, record)) in anatomy.roots().enumerate() {
            let waits = || waits(anatomy, id, record, left.contains(&id));
            if self.is_recent(place, record) || (self.unfinished && waits()) {
                kept.insert(id);
            }
        }
        if self.tagged {
            kept.extend(anatomy.tags.values().map(|tag| tag.checkpoint));
        }
        kept
    }

    fn is_recent(&self, place: usize, record: &CheckpointRecord) -> bool {
        let counts = self.last.is_some_and(|last| place < last);
        let since = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let oldest = |age| self.as_of.unwrap_or_else(now).saturating_sub(since(age));
        let young = self.max_age.is_some_and(|age| record.created_at >= oldest(age));
        counts || young || (self.last.is_none() && self.max_age.is_none())
    }
}

/// Returns whether a person or a time is waited for at a checkpoint, or its superstep was never finished: none follows it.
fn waits(anatomy: &Anatomy, id: CheckpointId, record: &CheckpointRecord, is_left: bool) -> bool {
    let waiting = |status| matches!(status, TaskStatus::Interrupted | TaskStatus::Waiting);
    if anatomy.tasks_of(id).any(|(_, task)| waiting(task.status)) {
        return true;
    }
    !is_left && has_work(record, anatomy.shapes.get(&record.shape))
}

fn has_work(record: &CheckpointRecord, shape: Option<&Shape>) -> bool {
    let control = &record.control;
    let complete = |at: u32, arrived: &[u64]| {
        let sources = shape.and_then(|shape| shape.joins.get(at as usize)).map(|(sources, _)| sources.len());
        sources.is_none_or(|sources| arrived.iter().map(|word| word.count_ones() as usize).sum::<usize>() >= sources)
    };
    control.start.is_some()
        || !control.ready.is_empty()
        || !control.deferred.is_empty()
        || !control.sends.is_empty()
        || control.joins.iter().any(|(at, join)| complete(*at, &join.arrived))
}
