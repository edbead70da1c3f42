//! The events of the runs that this process executes: numbered from 1 without gaps, the newest ones in memory for their readers. A slow
//! reader never slows a run. Must not know the store.

use std::borrow::{Borrow, Cow};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use superstep_base::time::now;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use crate::records::event::RunEvent;
use crate::records::mark::{EventMark, SentMarks};
use crate::records::thread::RunFailure;

/// The time for which the feed of a run that has ended is kept, where its events are nowhere else.
const KEEP: Duration = Duration::from_secs(60);
/// The number of feeds below which none is removed.
const FEW: usize = 1000;
/// The number of events of a run, and of their bytes, that are kept in memory; earlier ones are in the store.
const EVENTS: usize = 10_000;
const BYTES: usize = 4 << 20;
/// The number of events of a run, and of their bytes, that are kept in the store.
const STORED_EVENTS: usize = 100_000;
const STORED_BYTES: usize = 64 << 20;

/// The events of one run in this process.
#[derive(Debug)]
pub(crate) struct Feed {
    inner: Mutex<Inner>,
    /// Changes with each event, and at the end.
    changed: watch::Sender<()>,
    /// Changes when the run has ended, or is left.
    ended: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Inner {
    events: VecDeque<Arc<RunEvent>>,
    bytes: usize,
    /// The number of the newest event, and what it was before the first one of the present execution.
    sent: u64,
    start: u64,
    /// The number up to which this process may send events.
    reserved: u64,
    /// Events that are not in the store yet; none of a run whose events are not stored.
    unstored: Vec<Arc<RunEvent>>,
    is_stored: bool,
    /// The number of the first marked event that is not in the store yet: no reader has it or a later one before it is, as a kill
    /// would lose it, and it would come again.
    held: Option<u64>,
    marks: SentMarks,
    /// Set if another process may have sent events before the present execution.
    is_taken_over: bool,
    /// The batches in the store.
    stored: StoredSize,
    /// Set while this process executes the run, or has ended it.
    is_here: bool,
    /// Set if this process has created the run.
    is_own: bool,
    ended: Option<Instant>,
    /// The values at the end of a run whose thread is gone by then.
    result: Option<Value>,
    failure: Option<RunFailure>,
}

/// The sizes of the batches in the store, oldest first: numbers of events and of bytes.
#[derive(Debug, Default)]
struct StoredSize {
    batches: VecDeque<(usize, usize)>,
    events: usize,
    bytes: usize,
}

impl StoredSize {
    /// Adds a batch; returns the number of the oldest ones for which there is no room then.
    fn add(&mut self, events: &[Arc<RunEvent>]) -> usize {
        let bytes = events.iter().map(|event| event.data.len()).sum();
        self.batches.push_back((events.len(), bytes));
        (self.events, self.bytes) = (self.events + events.len(), self.bytes + bytes);
        let before = self.batches.len();
        while self.batches.len() > 1 && (self.events > STORED_EVENTS || self.bytes > STORED_BYTES) {
            let (events, bytes) = self.batches.pop_front().unwrap_or_default();
            (self.events, self.bytes) = (self.events - events, self.bytes - bytes);
        }
        before - self.batches.len()
    }
}

/// The events after a number that a feed has.
#[derive(Debug)]
pub(crate) struct FeedPart {
    pub events: Vec<Arc<RunEvent>>,
    pub has_ended: bool,
    /// Set if this process executes the run, or has ended it.
    pub is_here: bool,
}

impl Feed {
    fn new() -> Self {
        Self { inner: Mutex::default(), changed: watch::Sender::new(()), ended: watch::Sender::new(()) }
    }

    /// Notes that this process executes the run, and may send events up to a number. Unless it could send them up to `reserved_before`
    /// already, numbers up to that may have been used by another process.
    pub(crate) fn start(&self, reserved_before: u64, reserved: u64) {
        let mut inner = self.lock();
        if inner.reserved != reserved_before {
            inner.sent = inner.sent.max(reserved_before);
            inner.is_taken_over = true;
        }
        (inner.is_here, inner.start, inner.reserved) = (true, inner.sent, reserved);
    }

    /// Notes that this process has created the run, and may send events up to a number if it is the one that executes the run: another
    /// server may be faster.
    pub(crate) fn reserve(&self, to: u64) {
        let mut inner = self.lock();
        inner.is_own = true;
        if inner.reserved == 0 && !inner.is_here {
            inner.reserved = to;
        }
    }

    /// Returns whether this process has created the run.
    pub(crate) fn is_own(&self) -> bool {
        self.lock().is_own
    }

    /// Notes that this process may send events up to a later number.
    pub(crate) fn extend(&self, to: u64) {
        self.lock().reserved = to;
    }

    /// Returns the number up to which this process may send events.
    pub(crate) fn reserved(&self) -> u64 {
        self.lock().reserved
    }

    /// Returns the number of events that may be sent before more room is made.
    pub(crate) fn room(&self) -> u64 {
        let inner = self.lock();
        inner.reserved.saturating_sub(inner.sent)
    }

    /// Returns whether no event of the present execution was sent.
    pub(crate) fn is_fresh(&self) -> bool {
        let inner = self.lock();
        inner.sent == inner.start
    }

    /// Notes that this process does not execute the run any more, and that it has not ended. Its readers look into the store from now
    /// on, and the numbers that it could have sent are left to the next process.
    pub(crate) fn leave(&self) {
        let mut inner = self.lock();
        (inner.is_here, inner.reserved) = (false, 0);
        (inner.events, inner.bytes, inner.held) = (VecDeque::new(), 0, None);
        drop(inner);
        self.note_end();
    }

    /// Adds an event.
    pub(crate) fn send(&self, name: impl Into<Cow<'static, str>>, data: &Value) {
        self.send_all([(name.into(), data)], None);
    }

    /// Adds the events that an event of the engine is on the wire, with the mark of it.
    pub(crate) fn send_all<D: Borrow<Value>>(
        &self,
        sent: impl IntoIterator<Item = (Cow<'static, str>, D)>,
        mark: Option<&EventMark>,
    ) {
        let mut inner = self.lock();
        for (name, data) in sent {
            inner.sent += 1;
            let (number, data) = (inner.sent, data.borrow().to_string().into());
            inner.add(Arc::new(RunEvent { number, name, data, at: now(), mark: mark.cloned() }));
        }
        let is_held = inner.held.is_some();
        drop(inner);
        if !is_held {
            self.changed.send_replace(());
        }
    }

    /// Returns whether somebody reads the events, and not only their end.
    pub(crate) fn has_readers(&self) -> bool {
        self.changed.receiver_count() > 0
    }

    /// Returns whether readers wait until events are stored.
    pub(crate) fn has_waiting_readers(&self) -> bool {
        self.has_readers() && self.lock().held.is_some()
    }

    /// Notes that the events which were taken to be stored are.
    pub(crate) fn release(&self) {
        let mut inner = self.lock();
        inner.held = inner.unstored.iter().find(|event| event.mark.is_some()).map(|event| event.number);
        drop(inner);
        self.changed.send_replace(());
    }

    /// Notes that a marked event is sent; returns false if it was sent before.
    pub(crate) fn note_mark(&self, mark: &EventMark) -> bool {
        self.lock().marks.add(mark)
    }

    /// Returns the newest superstep of which a marked event was sent; `None` if none was.
    pub(crate) fn marked_step(&self) -> Option<i64> {
        self.lock().marks.step()
    }

    /// Returns whether another process may have sent events before the present execution.
    pub(crate) fn is_taken_over(&self) -> bool {
        self.lock().is_taken_over
    }

    /// Returns the same, once.
    pub(crate) fn take_over(&self) -> bool {
        std::mem::take(&mut self.lock().is_taken_over)
    }

    /// Sets the marks of the events that other processes have stored.
    pub(crate) fn set_marks(&self, marks: SentMarks) {
        self.lock().marks = marks;
    }

    /// Has the events that come from now on stored.
    pub(crate) fn store_events(&self) {
        self.lock().is_stored = true;
    }

    /// Takes the events that are to be stored. Returns them, and the number of the oldest batches for which there is no room then.
    pub(crate) fn take_unstored(&self) -> (Vec<Arc<RunEvent>>, usize) {
        let mut inner = self.lock();
        let events = std::mem::take(&mut inner.unstored);
        let excess = if events.is_empty() { 0 } else { inner.stored.add(&events) };
        (events, excess)
    }

    /// Notes that the run has ended. Its status is stored by then: a reader asks for it as soon as the events end.
    pub(crate) fn end(&self, failure: Option<RunFailure>) {
        let mut inner = self.lock();
        inner.ended.get_or_insert_with(Instant::now);
        (inner.failure, inner.held) = (failure, None);
        drop(inner);
        self.note_end();
    }

    fn note_end(&self) {
        self.changed.send_replace(());
        self.ended.send_replace(());
    }

    pub(crate) fn set_result(&self, values: Value) {
        self.lock().result = Some(values);
    }

    /// Returns the values at the end of a run whose thread is gone.
    pub(crate) fn result(&self) -> Option<Value> {
        self.lock().result.clone()
    }

    pub(crate) fn failure(&self) -> Option<RunFailure> {
        self.lock().failure.clone()
    }

    /// Returns the number of the newest event.
    pub(crate) fn newest(&self) -> u64 {
        self.lock().sent
    }

    /// Returns the events after a number; from the first one that is kept.
    pub(crate) fn after(&self, number: u64) -> FeedPart {
        let inner = self.lock();
        let first = inner.events.partition_point(|event| event.number <= number);
        let end =
            inner.held.map_or(inner.events.len(), |held| inner.events.partition_point(|event| event.number < held));
        FeedPart {
            events: inner.events.range(first.min(end)..end).cloned().collect(),
            has_ended: inner.ended.is_some(),
            is_here: inner.is_here,
        }
    }

    /// Returns a watch of changes.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns a watch of the end.
    pub(crate) fn watch_end(&self) -> watch::Receiver<()> {
        self.ended.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn add(&mut self, event: Arc<RunEvent>) {
        self.bytes += event.data.len();
        if self.is_stored {
            self.unstored.push(Arc::clone(&event));
            if event.mark.is_some() {
                self.held.get_or_insert(event.number);
            }
        }
        self.events.push_back(event);
        while self.events.len() > EVENTS || (self.bytes > BYTES && self.events.len() > 1) {
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes -= oldest.data.len();
        }
    }
}

/// The feeds of a server.
#[derive(Debug, Default)]
pub(crate) struct Feeds(Mutex<KeptFeeds>);

#[derive(Debug, Default)]
struct KeptFeeds {
    feeds: HashMap<Uuid, Arc<Feed>>,
    /// The number of feeds at which old ones are removed: not with each request, as that looks at all.
    full: usize,
}

impl Feeds {
    /// Removes the feed of a run that has ended: from now on its events are read from the store. Its readers keep it.
    pub(crate) fn remove(&self, run: Uuid) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).feeds.remove(&run);
    }

    /// Returns the feed of a run, which begins if there is none.
    pub(crate) fn of(&self, run: Uuid) -> Arc<Feed> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.feeds.len() >= kept.full.max(FEW) {
            kept.feeds.retain(|_, feed| feed.lock().ended.is_none_or(|ended| ended.elapsed() < KEEP));
            kept.full = 2 * kept.feeds.len();
        }
        Arc::clone(kept.feeds.entry(run).or_insert_with(|| Arc::new(Feed::new())))
    }
}
