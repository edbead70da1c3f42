//! Selection of the checkpoints to keep. Pure, apart from the default time.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use superstep_base::time::now;

use crate::checkpoint::threads::thread_records::ThreadRecords;
use crate::checkpoint::{CheckpointId, CheckpointRecord, Head, Shape, TaskStatus};

/// Rules that select which checkpoints of a thread are kept; one rule is enough. LangGraph has no counterpart.
///
/// Always kept: the newest checkpoint, the one before it, and everything a kept one needs to be loaded, replayed and
/// resumed: the checkpoint its channel map builds on, its tasks, journals, events and subgraphs. Without
/// [`keep_last`](Self::keep_last) and [`max_age`](Self::max_age) all checkpoints are kept, and only unreachable records
/// are removed.
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
    /// Returns rules that keep all checkpoints and everything they reach.
    pub fn new() -> Self {
        Self { last: None, max_age: None, unfinished: true, tagged: true, as_of: None }
    }

    /// Keeps the newest `checkpoints` of each thread's root graph, counted over all branches.
    pub fn keep_last(mut self, checkpoints: usize) -> Self {
        self.last = Some(checkpoints);
        self
    }

    /// Keeps checkpoints up to this age. Combined with [`keep_last`](Self::keep_last), a checkpoint is removed only if
    /// neither keeps it.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Sets whether older branches that wait are kept: with pending questions, a time to wait for, or an unfinished
    /// superstep. Default: true.
    pub fn keep_unfinished(mut self, keep: bool) -> Self {
        self.unfinished = keep;
        self
    }

    /// Sets whether checkpoints with a tag are kept; if not, their tags are removed with them. Default: true.
    pub fn keep_tagged(mut self, keep: bool) -> Self {
        self.tagged = keep;
        self
    }

    /// Sets the time from which ages are counted, in milliseconds since 1970. Default: now.
    pub fn as_of(mut self, time: u64) -> Self {
        self.as_of = Some(time);
        self
    }

    /// Returns the checkpoints selected by the rules, without those that they need.
    pub(super) fn roots(&self, decoded: &ThreadRecords, head: Head) -> BTreeSet<CheckpointId> {
        let mut kept: BTreeSet<CheckpointId> = head.checkpoint.into_iter().collect();
        // A breakpoint of a thread is read from the checkpoint before its newest one.
        let newest = head.checkpoint.and_then(|id| decoded.checkpoints.get(&id));
        kept.extend(newest.and_then(|made| made.record.parent));
        let left: HashSet<CheckpointId> = decoded.roots().filter_map(|(_, record)| record.parent).collect();
        for (place, (id, record)) in decoded.roots().enumerate() {
            let waits = || waits(decoded, id, record, left.contains(&id));
            if self.is_recent(place, record) || (self.unfinished && waits()) {
                kept.insert(id);
            }
        }
        if self.tagged {
            kept.extend(decoded.tags.values().map(|tag| tag.checkpoint));
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

/// Returns whether a task of the checkpoint waits for a person or a time, or its superstep was never finished: no
/// checkpoint follows it.
fn waits(decoded: &ThreadRecords, id: CheckpointId, record: &CheckpointRecord, is_left: bool) -> bool {
    let waiting = |status| matches!(status, TaskStatus::Interrupted | TaskStatus::Waiting);
    if decoded.tasks_of(id).any(|(_, task)| waiting(task.status)) {
        return true;
    }
    !is_left && has_work(record, decoded.shapes.get(&record.shape))
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
