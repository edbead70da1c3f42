//! The checkpoints of a thread, newest first, as a stream.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use superstep_base::panics::catch_panic;

use super::handle::{Thread, ThreadCore};
use crate::checkpoint::{CheckpointId, CheckpointRecord, Key, Order, decode_record};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{CheckpointInfo, Reader, Tasks};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{AnyState, Boxed, State};
use crate::graph::view::{CheckpointOutline, ReadMode, Snapshot, StateSnapshot};

type Filter = Box<dyn Fn(&CheckpointInfo) -> bool + Send + Sync>;

/// The checkpoints of a thread, newest first: a stream of snapshots.
#[must_use = "a stream yields nothing unless read"]
pub struct History<S: State> {
    checkpoints: Checkpoints,
    state: PhantomData<fn() -> S>,
}

/// The checkpoints of a thread without the type of the state.
pub(crate) struct Checkpoints {
    table: Arc<Table>,
    reader: Reader,
    before: Option<CheckpointId>,
    left: usize,
    filter: Option<Filter>,
    found: VecDeque<ListEntry>,
    next: Option<Boxed<'static, Turn>>,
    ended: bool,
    pub namespace: Option<String>,
}

type AnySnapshot = Snapshot<AnyState>;

/// One step of the stream: a snapshot, or what was scanned.
type Turn = Result<FetchedItem, RunError>;

enum FetchedItem {
    Snapshot(Box<AnySnapshot>),
    Page(Vec<ListEntry>),
    /// The checkpoint was removed meanwhile.
    Removed,
}

struct ListEntry {
    id: CheckpointId,
    record: CheckpointRecord,
    /// The task records, if they were read with the page.
    tasks: Option<Tasks>,
}

impl<S: State> std::fmt::Debug for History<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").field("thread", &self.checkpoints.reader.thread).finish_non_exhaustive()
    }
}

const READING: &str = "reading the history of a thread";
/// The maximum number of checkpoints scanned at once.
const PAGE: usize = 64;
/// The maximum number of tasks read with a page; those of wider supersteps, or behind subgraphs, are read one by one.
const TASKS: usize = 4 * PAGE;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns the checkpoints, newest first, as a stream: each is read when it is polled. LangGraph:
    /// `get_state_history`.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>) -> Result<(), RunError> {
    /// let mut steps = thread.history().await?.limit(20);
    /// while let Some(step) = steps.next().await {
    ///     let step = step?;
    ///     println!("{} after superstep {}: next {:?}", step.id, step.step, step.next);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn history(&self) -> Result<History<S>, RunError> {
        Ok(History::of(self.core.history().await?))
    }
}

impl ThreadCore {
    pub(crate) fn history(&self) -> Boxed<'_, Result<Checkpoints, RunError>> {
        Box::pin(async move {
            let (reader, head) = self.reader("history").await?;
            let namespace = self.scoped_history(&reader, head).await?;
            let reader = self.with_end_read(reader, head);
            let history = Checkpoints::new(Arc::clone(&self.graph.table), reader);
            Ok(history.of(namespace))
        })
    }
}

impl<S: State> History<S> {
    pub(crate) fn of(checkpoints: Checkpoints) -> Self {
        Self { checkpoints, state: PhantomData }
    }

    /// Ends after this many checkpoints that pass the filter.
    pub fn limit(mut self, checkpoints: usize) -> Self {
        self.checkpoints.left = checkpoints;
        self
    }

    /// Starts with the newest checkpoint before this one.
    pub fn before(mut self, checkpoint: CheckpointId) -> Self {
        self.checkpoints.before = Some(checkpoint);
        self
    }

    /// Yields only checkpoints that pass the filter.
    pub fn filter(mut self, fits: impl Fn(&CheckpointInfo) -> bool + Send + Sync + 'static) -> Self {
        self.checkpoints.filter = Some(Box::new(fits));
        self
    }

    /// Returns all checkpoints at once. Each has a state of its own: a large value that many checkpoints have in common takes
    /// memory once if its type shares it among copies, as `Arc` and [`Log`](crate::graph::Log) do, else (`Vec<u8>`, `String`)
    /// once for each. Where that is too much, read them [one by one](Self::next), or
    /// [without their states](Self::metadata_only).
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn all(mut self) -> Result<Vec<StateSnapshot<S>>, RunError> {
        let mut all = vec![];
        while let Some(snapshot) = self.next().await {
            all.push(snapshot?);
        }
        Ok(all)
    }

    /// Returns the next checkpoint. Of a history that is read so, and of which each snapshot is dropped before the next, a few
    /// states are in memory, whatever their number.
    pub async fn next(&mut self) -> Option<Result<StateSnapshot<S>, RunError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Returns the checkpoints without their states; only records are read.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn metadata_only(mut self) -> Result<Vec<CheckpointInfo>, RunError> {
        let entries = catch_panics(READING, self.checkpoints.collect_entries()).await?;
        Ok(entries.iter().map(ListEntry::info).collect())
    }

    /// Returns the checkpoints without their states, each with the nodes that run next: a name for each task.
    ///
    /// # Errors
    /// If the store cannot be read, or a node that was to run no longer exists.
    pub async fn outline(mut self) -> Result<Vec<(CheckpointInfo, Vec<String>)>, RunError> {
        catch_panics(READING, self.checkpoints.outline()).await
    }

    /// Returns the checkpoints without their states, each with its tasks; only records are read.
    ///
    /// # Errors
    /// As [`outline`](Self::outline).
    pub async fn outline_with_tasks(mut self) -> Result<Vec<CheckpointOutline>, RunError> {
        catch_panics(READING, self.checkpoints.outline_with_tasks()).await
    }
}

impl Checkpoints {
    pub(crate) fn new(table: Arc<Table>, reader: Reader) -> Self {
        Self {
            table,
            reader,
            before: None,
            left: usize::MAX,
            filter: None,
            found: VecDeque::new(),
            next: None,
            ended: false,
            namespace: None,
        }
    }

    async fn outline(&mut self) -> Result<Vec<(CheckpointInfo, Vec<String>)>, RunError> {
        let mut all = vec![];
        for listed in self.collect_entries().await? {
            all.push((listed.info(), self.reader.planned_names(&self.table, listed.id, listed.record).await?));
        }
        Ok(all)
    }

    async fn outline_with_tasks(&mut self) -> Result<Vec<CheckpointOutline>, RunError> {
        let listed = self.collect_entries().await?;
        let listed = listed.into_iter().map(|listed| (listed.id, listed.record)).collect();
        CheckpointOutline::read_all(&self.table, &self.reader, listed).await
    }

    async fn collect_entries(&mut self) -> Result<Vec<ListEntry>, RunError> {
        let mut all = vec![];
        while self.left > 0 && !self.ended {
            let page = page(&self.reader, self.before, self.namespace.clone(), self.page_size()).await?;
            self.take_page(page)?;
            while let Some(listed) = self.found.pop_front().filter(|_| self.left > 0) {
                self.left -= 1;
                all.push(listed);
            }
        }
        Ok(all)
    }

    /// Returns the number of checkpoints to scan at once: no more than are wanted, if each of them is.
    fn page_size(&self) -> usize {
        let all_fit = self.filter.is_none() && self.namespace.is_none();
        if all_fit { self.left.clamp(1, PAGE) } else { PAGE }
    }

    fn take_page(&mut self, page: Vec<ListEntry>) -> Result<(), RunError> {
        self.ended = page.len() < self.page_size();
        self.before = page.last().map(|listed| listed.id).or(self.before);
        let namespace = self.namespace.clone();
        let fits = |listed: &ListEntry| {
            let here = namespace.as_ref().is_none_or(|namespace| listed.record.namespace == *namespace);
            here && self.filter.as_ref().is_none_or(|filter| filter(&listed.info()))
        };
        let fitting = catch_panic(|| page.into_iter().filter(fits).collect::<Vec<_>>());
        self.found.extend(fitting.map_err(|message| RunError::Panic { doing: READING, message })?);
        Ok(())
    }
}

impl ListEntry {
    fn info(&self) -> CheckpointInfo {
        CheckpointInfo::of(self.id, &self.record)
    }
}

async fn page(
    reader: &Reader,
    before: Option<CheckpointId>,
    namespace: Option<String>,
    size: usize,
) -> Result<Vec<ListEntry>, RunError> {
    let last = CheckpointId(before.map_or(u64::MAX, |before| before.0.saturating_sub(1)));
    let key = |id| if namespace.is_some() { Key::Nested(id) } else { Key::Checkpoint(id) };
    let rows = reader.store.scan(&reader.thread, key(CheckpointId(0))..=key(last), Order::Descending, size).await?;
    let mut page = vec![];
    for (key, bytes) in rows {
        if let Key::Checkpoint(id) | Key::Nested(id) = key {
            let record = decode_record(&reader.thread, "checkpoint", &bytes)?;
            page.push(ListEntry { id, record, tasks: None });
        }
    }
    Ok(page)
}

/// Reads the tasks of a page, newest first, up to `TASKS` records.
async fn with_tasks(reader: &Reader, mut page: Vec<ListEntry>) -> Result<Vec<ListEntry>, RunError> {
    let (Some(newest), Some(oldest)) = (page.first(), page.last()) else { return Ok(page) };
    let key = |checkpoint, task| Key::Task { checkpoint, task };
    let range = key(oldest.id, 0)..=key(newest.id, u32::MAX);
    let rows = reader.store.scan(&reader.thread, range, Order::Descending, TASKS).await?;
    let cut_at = match rows.last() {
        Some((Key::Task { checkpoint, .. }, _)) if rows.len() == TASKS => Some(*checkpoint),
        _ => None,
    };
    let mut rows = rows.into_iter().peekable();
    for listed in page.iter_mut().take_while(|listed| cut_at.is_none_or(|cut| listed.id > cut)) {
        let tasks = listed.tasks.get_or_insert_default();
        while let Some((key, bytes)) = rows.next_if(|(key, _)| *key >= Key::Task { checkpoint: listed.id, task: 0 }) {
            if let Key::Task { checkpoint, task } = key
                && checkpoint == listed.id
            {
                tasks.insert(task, decode_record(&reader.thread, "task", &bytes)?);
            }
        }
    }
    Ok(page)
}

impl<S: State> Stream for History<S> {
    type Item = Result<StateSnapshot<S>, RunError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.checkpoints.poll_next(cx).map(|next| next.map(|snapshot| snapshot.map(Snapshot::typed)))
    }
}

impl Checkpoints {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<AnySnapshot, RunError>>> {
        let this = self;
        loop {
            if let Some(next) = &mut this.next {
                let Poll::Ready(found) = next.as_mut().poll(cx) else { return Poll::Pending };
                this.next = None;
                let taken = match found {
                    Ok(FetchedItem::Snapshot(snapshot)) => return Poll::Ready(Some(Ok(*snapshot))),
                    Ok(FetchedItem::Page(page)) => this.take_page(page),
                    Ok(FetchedItem::Removed) => {
                        this.left = this.left.saturating_add(1);
                        Ok(())
                    }
                    Err(error) => Err(error),
                };
                if let Err(error) = taken {
                    this.ended = true;
                    this.found.clear();
                    return Poll::Ready(Some(Err(error)));
                }
            }
            if this.left == 0 {
                return Poll::Ready(None);
            }
            let (table, reader) = (Arc::clone(&this.table), this.reader.clone());
            if let Some(listed) = this.found.pop_front() {
                this.left -= 1;
                this.next = Some(Box::pin(catch_panics(READING, snapshot_of(table, reader, listed))));
            } else if this.ended {
                return Poll::Ready(None);
            } else {
                let (before, namespace, size) = (this.before, this.namespace.clone(), this.page_size());
                this.next = Some(Box::pin(catch_panics(READING, next_page(reader, before, namespace, size))));
            }
        }
    }
}

async fn next_page(reader: Reader, before: Option<CheckpointId>, namespace: Option<String>, size: usize) -> Turn {
    let page = page(&reader, before, namespace, size).await?;
    with_tasks(&reader, page).await.map(FetchedItem::Page)
}

async fn snapshot_of(table: Arc<Table>, reader: Reader, listed: ListEntry) -> Turn {
    let id = listed.id;
    match read_snapshot(&table, &reader, listed).await {
        // The checkpoint may have been removed since it was listed.
        Err(_) if reader.record(id).await?.is_none() => Ok(FetchedItem::Removed),
        snapshot => snapshot.map(|snapshot| FetchedItem::Snapshot(Box::new(snapshot))),
    }
}

async fn read_snapshot(table: &Arc<Table>, reader: &Reader, listed: ListEntry) -> Result<AnySnapshot, RunError> {
    let ListEntry { id, record, tasks } = listed;
    let tasks = match tasks {
        Some(tasks) => tasks,
        None => reader.tasks(id).await?,
    };
    Snapshot::of(table, reader, id, record, tasks, ReadMode::Past, false).await
}
