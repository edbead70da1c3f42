//! The way of records into the store: numbers checkpoints, keeps order and durability. Knows no state and no node.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Mutex as AsyncMutex;

use super::pending_events::PendingEvents;
use crate::checkpoint::spending::RunItems;
use crate::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Commit, ItemWrite, Key, Lease, Receipt, Row, StopRecord, ThreadHead,
    ThreadId, ThreadPlace,
};
use crate::graph::interrupt::SignalId;

/// Records of one commit.
pub(crate) type Puts = Vec<(Key, Row)>;

/// When a superstep counts as done. LangGraph: `durability`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// On disk before the next superstep starts.
    #[default]
    Sync,
    /// On its way to disk, in order, at most 64 commits behind; on disk before the run returns.
    Async,
    /// Only the end of the run is stored: finished, failed, interrupted or stopped. A killed process loses the run.
    Exit,
}

pub(crate) const LAG: usize = 64;

/// Frees the thread of a run that was dropped, even while a task that was dropped still holds on to the run's context.
#[derive(Debug)]
pub(crate) struct ThreadGuard(pub Arc<Recorder>);

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        self.0.lease.release_soon();
    }
}

impl ThreadGuard {
    /// Frees the thread at the end of a run; what somebody cancelled is not due again by itself. If the store cannot be
    /// written, the lease ends with its time.
    pub(crate) async fn release(self) {
        let lease = &self.0.lease;
        let freed = if lease.is_cancelled() { lease.leave().await } else { lease.release().await };
        if let Err(error) = freed {
            tracing::warn!(thread = self.0.lease.thread().as_str(), %error, "the lease was not released");
        }
    }
}

#[derive(Debug)]
pub(crate) struct Recorder {
    store: Arc<dyn Checkpointer>,
    lease: Lease,
    durability: Durability,
    /// The graph's name.
    graph: Arc<str>,
    /// The first number that this run may take for a checkpoint.
    pub(super) first: CheckpointId,
    /// The breakpoints stored with the thread, which apply unless a handle has its own.
    stops: OnceLock<Vec<StopRecord>>,
    /// The place that the first record of a new thread names.
    place: Option<ThreadPlace>,
    /// Held while a report of a task is taken in.
    pub(super) reports: AsyncMutex<()>,
    inner: Mutex<Inner>,
}

/// The part of a recorder that its lock guards.
#[derive(Debug)]
pub(crate) struct Inner {
    head: ThreadHead,
    pub(super) expected: Option<CheckpointId>,
    pub(super) in_flight: VecDeque<Receipt>,
    pub(super) held: BTreeMap<Key, Row>,
    pub(super) replaced: ReplacedCheckpoints,
    known: KnownRecords,
    staging: Staging,
    /// Events that the next commit takes along.
    pub(super) noted: PendingEvents,
    /// Checkpoints of subgraphs that the next commit takes along.
    pub(super) riders: Puts,
    /// Items that the next commit takes along.
    items: Vec<ItemWrite>,
    /// Reports of tasks, of which the next commit takes along what is new.
    pub(super) reported: RunItems,
    pub(super) mail: Mail,
    /// Set before the last commit of the run.
    ends: bool,
}

/// Durability `exit` only: the checkpoints that later ones of the same run replace.
#[derive(Debug, Default)]
pub(super) struct ReplacedCheckpoints {
    pub(super) checkpoints: HashSet<CheckpointId>,
    pub(super) newest: HashMap<String, CheckpointId>,
    /// Checkpoints that the run has left: their records are dropped, except those in `kept`.
    pub(super) left: HashSet<CheckpointId>,
    pub(super) kept: HashSet<Key>,
}

/// The records of the thread as a whole that the store has.
#[derive(Debug)]
struct KnownRecords {
    shapes: Vec<u64>,
    /// Set once the thread's own record is stored.
    introduced: bool,
}

/// An external write of several steps, which commits as one.
#[derive(Debug, Default)]
struct Staging {
    /// Set while the records held back count only together.
    in_part: bool,
    /// Set while records are gathered into one commit.
    gathering: bool,
    /// The keys that this commit deletes.
    gone: Vec<Key>,
    /// Durability `exit` only: records that do not wait for the end of the run.
    soon: Puts,
}

/// Changes of a run to the mailbox of its thread.
#[derive(Debug, Default)]
pub(super) struct Mail {
    pub(super) taken: HashSet<SignalId>,
    /// With durability `exit`: signals that the commit at the end of the run removes.
    pub(super) received: Vec<Key>,
}

impl Inner {
    /// Returns true while records are gathered into one commit.
    pub(super) fn is_gathering(&self) -> bool {
        self.staging.gathering
    }

    /// Returns true if something waits for the next commit.
    fn has_uncommitted(&self) -> bool {
        let has_records = !self.held.is_empty() || !self.noted.is_empty() || !self.riders.is_empty();
        has_records || !self.items.is_empty() || self.reported.has_changed()
    }

    /// Takes records into the commit that is being gathered; gives them back if there is none.
    fn gather_puts(&mut self, puts: Puts, head: Option<CheckpointId>) -> Option<Puts> {
        if !self.staging.gathering {
            return Some(puts);
        }
        self.head.checkpoint = head.or(self.head.checkpoint);
        self.held.extend(puts);
        None
    }
}

impl Recorder {
    pub(crate) fn new(
        store: Arc<dyn Checkpointer>,
        lease: Lease,
        head: ThreadHead,
        durability: Durability,
        graph: Arc<str>,
    ) -> Self {
        let inner = Inner {
            head,
            expected: head.checkpoint,
            in_flight: VecDeque::new(),
            held: BTreeMap::new(),
            replaced: ReplacedCheckpoints::default(),
            known: KnownRecords { shapes: vec![], introduced: head.checkpoint.is_some() },
            staging: Staging::default(),
            noted: PendingEvents::default(),
            riders: vec![],
            items: vec![],
            reported: RunItems::default(),
            mail: Mail::default(),
            ends: false,
        };
        Self {
            store,
            lease,
            durability,
            graph,
            first: CheckpointId(head.next),
            stops: OnceLock::new(),
            place: None,
            reports: AsyncMutex::new(()),
            inner: Mutex::new(inner),
        }
    }

    pub(crate) fn with_place(self, place: Option<ThreadPlace>) -> Self {
        Self { place, ..self }
    }

    pub(crate) fn place(&self) -> Option<&ThreadPlace> {
        self.place.as_ref()
    }

    /// Adds a record to whatever is committed next.
    pub(crate) fn add_rider(&self, record: (Key, Row)) {
        self.lock().riders.push(record);
    }

    /// Adds items to whatever is committed next.
    pub(crate) fn add_items(&self, items: Vec<ItemWrite>) {
        self.lock().items.extend(items);
    }

    /// Returns true if items wait for the next commit.
    pub(crate) fn has_items(&self) -> bool {
        !self.lock().items.is_empty()
    }

    /// Drops the items that no commit has taken along.
    pub(crate) fn drop_items(&self) {
        self.lock().items.clear();
    }

    /// Returns where the runs of the thread stop.
    pub(crate) fn stops(&self) -> &[StopRecord] {
        self.stops.get().map_or(&[], Vec::as_slice)
    }

    /// Sets where they stop; once.
    pub(crate) fn stops_at(&self, stops: Vec<StopRecord>) {
        _ = self.stops.set(stops);
    }

    pub(crate) fn store(&self) -> &Arc<dyn Checkpointer> {
        &self.store
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns the graph's name.
    pub(super) fn graph(&self) -> &str {
        &self.graph
    }

    pub(crate) fn birth(&self) -> u64 {
        self.lock().head.birth
    }

    pub(crate) fn head(&self) -> ThreadHead {
        self.lock().head
    }

    /// Takes the next number; it is used up even if nothing is stored under it.
    pub(crate) fn next_id(&self) -> CheckpointId {
        let mut inner = self.lock();
        let id = CheckpointId(inner.head.next);
        inner.head.next += 1;
        id
    }

    /// Returns true the first time that a shape is stored.
    pub(crate) fn is_new_shape(&self, fingerprint: u64) -> bool {
        let known = &mut self.lock().known.shapes;
        let is_new = !known.contains(&fingerprint);
        if is_new {
            known.push(fingerprint);
        }
        is_new
    }

    /// The graph's name, if the store does not have it yet; returned once.
    pub(crate) fn take_introduction(&self) -> Option<&str> {
        let known = std::mem::replace(&mut self.lock().known.introduced, true);
        (!known).then_some(&*self.graph)
    }

    /// Begins to gather: what is written from outside becomes one commit, or is dropped whole. With durability `exit` it
    /// becomes part of the run's own.
    pub(crate) fn gather(&self) {
        let mut inner = self.lock();
        inner.staging.in_part = true;
        inner.staging.gathering = self.durability != Durability::Exit;
    }

    /// Removes a record in the commit that is being gathered.
    pub(crate) fn delete_gathered(&self, key: Key) {
        self.lock().staging.gone.push(key);
    }

    /// Makes what was gathered durable.
    pub(crate) async fn keep_gathered(&self) -> Result<(), CheckpointError> {
        {
            let mut inner = self.lock();
            inner.staging.in_part = false;
            let exits = self.durability == Durability::Exit;
            let gathered = std::mem::take(&mut inner.staging.gathering) || exits;
            let puts: Puts = match exits {
                true => std::mem::take(&mut inner.staging.soon),
                false => std::mem::take(&mut inner.held).into_iter().collect(),
            };
            let gone = std::mem::take(&mut inner.staging.gone);
            if !gathered || (puts.is_empty() && gone.is_empty() && inner.items.is_empty()) {
                return Ok(());
            }
            self.send_now(&mut inner, puts, gone);
        }
        self.drain(0).await
    }

    /// Queues records, in order, without waiting. `head`: the root graph's new head.
    pub(crate) fn queue(&self, puts: Puts, head: Option<CheckpointId>) {
        let mut inner = self.lock();
        let Some(puts) = inner.gather_puts(puts, head) else { return };
        inner.head.checkpoint = head.or(inner.head.checkpoint);
        if self.durability == Durability::Exit {
            let Inner { held, replaced, .. } = &mut *inner;
            held.extend(puts.into_iter().filter(|(key, _)| !replaced.drops(key)));
            return;
        }
        let receipt = self.send(&mut inner, puts);
        inner.in_flight.push_back(receipt);
    }

    fn send(&self, inner: &mut Inner, puts: Puts) -> Receipt {
        self.send_with(inner, puts, vec![])
    }

    fn send_with(&self, inner: &mut Inner, later: Puts, deletes: Vec<Key>) -> Receipt {
        let mut puts = std::mem::take(&mut inner.riders);
        match puts.is_empty() {
            true => puts = later,
            false => puts.extend(later),
        }
        puts.append(&mut inner.noted.take());
        let mut items = std::mem::take(&mut inner.items);
        items.append(&mut inner.reported.take_writes(self.lease.thread()));
        let moved = Commit::new(self.lease.thread().clone(), self.lease.epoch(), inner.expected, inner.head);
        let commit = Commit { puts, deletes, items, is_last: inner.ends, ..moved };
        inner.expected = inner.head.checkpoint;
        self.store.commit(commit)
    }

    /// Notes that the run ends with the next commit.
    pub(crate) fn end_with_next(&self) {
        self.lock().ends = true;
    }

    /// Queues records and waits as the durability asks.
    pub(crate) async fn commit(&self, puts: Puts, head: Option<CheckpointId>) -> Result<(), CheckpointError> {
        if self.durability == Durability::Sync {
            let (receipt, behind) = {
                let mut inner = self.lock();
                let Some(puts) = inner.gather_puts(puts, head) else { return Ok(()) };
                inner.head.checkpoint = head.or(inner.head.checkpoint);
                (self.send(&mut inner, puts), !inner.in_flight.is_empty())
            };
            if behind {
                self.drain(0).await?;
            }
            return receipt.await.inspect_err(|error| self.log_failure(error));
        }
        self.queue(puts, head);
        match self.durability {
            Durability::Sync => self.drain(0).await,
            Durability::Async => self.drain(LAG).await,
            Durability::Exit => Ok(()),
        }
    }

    /// Queues records and waits until they are on disk, whatever the durability.
    pub(crate) async fn commit_now(&self, puts: Puts) -> Result<(), CheckpointError> {
        self.replace_now(puts, vec![]).await
    }

    /// The same, removing other records with it.
    pub(crate) async fn replace_now(&self, puts: Puts, gone: Vec<Key>) -> Result<(), CheckpointError> {
        {
            let mut inner = self.lock();
            if inner.staging.gathering {
                inner.held.extend(puts);
                inner.staging.gone.extend(gone);
                return Ok(());
            }
            if inner.staging.in_part {
                inner.held.extend(puts.iter().cloned());
                inner.staging.soon.extend(puts);
                inner.staging.gone.extend(gone);
                return Ok(());
            }
            self.send_now(&mut inner, puts, gone);
        }
        self.drain(0).await
    }

    /// Makes records durable that belong to no checkpoint yet, whatever the durability. Waits for nothing queued before, though
    /// it is on disk by then.
    pub(crate) async fn commit_apart(&self, puts: Puts) -> Result<(), CheckpointError> {
        let receipt = {
            let mut inner = self.lock();
            self.sent_now(&mut inner, puts, vec![])
        };
        receipt.await.inspect_err(|error| self.log_failure(error))
    }

    /// Sends what does not wait for the end of the run.
    pub(super) fn send_now(&self, inner: &mut Inner, puts: Puts, gone: Vec<Key>) {
        let receipt = self.sent_now(inner, puts, gone);
        inner.in_flight.push_back(receipt);
    }

    fn sent_now(&self, inner: &mut Inner, puts: Puts, gone: Vec<Key>) -> Receipt {
        let newest = inner.head.checkpoint;
        if self.durability == Durability::Exit {
            inner.head.checkpoint = inner.expected; // the newest is not stored yet
        }
        let receipt = self.send_with(inner, puts, gone);
        inner.head.checkpoint = newest;
        receipt
    }

    pub(crate) async fn drain(&self, leave: usize) -> Result<(), CheckpointError> {
        loop {
            let receipt = {
                let mut inner = self.lock();
                if inner.in_flight.len() <= leave {
                    return Ok(());
                }
                inner.in_flight.pop_front()
            };
            if let Some(receipt) = receipt {
                receipt.await.inspect_err(|error| self.log_failure(error))?;
            }
        }
    }

    /// Waits until everything queued is on disk, in every durability.
    pub(crate) async fn settle(&self) -> Result<(), CheckpointError> {
        {
            let mut inner = self.lock();
            if std::mem::take(&mut inner.staging.in_part) {
                inner.staging.gathering = false;
                inner.held.clear();
                inner.staging.gone.clear();
                inner.staging.soon.clear();
                inner.head.checkpoint = inner.expected;
            }
            if inner.ends && self.durability != Durability::Exit {
                // The thread is released: what a body that nobody waits for has noted since is of no run.
                (inner.noted, inner.riders, inner.reported) = Default::default();
            }
            if inner.has_uncommitted() {
                let puts = std::mem::take(&mut inner.held).into_iter().collect();
                inner.replaced.newest.clear();
                let received = std::mem::take(&mut inner.mail.received);
                let receipt = self.send_with(&mut inner, puts, received);
                inner.in_flight.push_back(receipt);
            }
        }
        self.drain(0).await
    }

    /// Logs a failure. After a refusal because of an item, nothing that waits for the end of the run is stored either.
    fn log_failure(&self, error: &CheckpointError) {
        if let CheckpointError::ItemConflict { .. } = error {
            let mut inner = self.lock();
            (inner.held, inner.noted, inner.riders) = Default::default();
        }
        log_commit_failure(self.lease.thread(), error);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn log_commit_failure(thread: &ThreadId, error: &CheckpointError) {
    tracing::error!(thread = thread.as_str(), %error, "a commit failed");
}

impl ReplacedCheckpoints {
    /// Returns true if a record belongs to a checkpoint that the run has replaced or left.
    fn drops(&self, key: &Key) -> bool {
        match key {
            Key::Checkpoint(id) | Key::Nested(id) => self.checkpoints.contains(id),
            Key::Task { checkpoint, .. } | Key::Effect { checkpoint, .. } => self.left.contains(checkpoint),
            _ => false,
        }
    }
}
