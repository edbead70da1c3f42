//! Store that lives as long as the process. Records and heads are stored as they are, and encoded when somebody reads them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::ready;
use std::ops::{Bound, RangeInclusive};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::records::Records;
use crate::checkpoint::checkpointer::Checkpointer;
use crate::checkpoint::commit::{BoxFuture, Commit, Receipt, Record, ThreadHead};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::index::changes::ChangedThreads;
use crate::checkpoint::index::keys::{IndexReads, decode_summary, index_change, summary_key};
use crate::checkpoint::index::upkeep::{self, IndexEntry, IndexWrite, IndexedStore};
use crate::checkpoint::item::{Item, ItemScan, ItemWrite};
use crate::checkpoint::key::{ItemKey, Key, Order, ThreadId};
use crate::checkpoint::leases::handle::OwnerRequest;
use crate::checkpoint::leases::lease::{Claim, Lease, Leases};
use crate::checkpoint::listing::due::{DueQuery, DueThreads};
use crate::checkpoint::listing::query::ThreadQuery;
use crate::checkpoint::listing::summary::ListedThread;
use crate::checkpoint::owner::LeaseOwner;
use crate::checkpoint::watch::StoreWatch;

/// In-memory checkpointer; clones share one store, which lives as long as any of them. For tests, and for runs that
/// need not outlive their process. LangGraph: `InMemorySaver`.
#[derive(Clone, Debug, Default)]
pub struct MemoryCheckpointer {
    store: Arc<Store>,
    leases: Leases,
}

#[derive(Debug, Default)]
struct Store {
    threads: RwLock<Threads>,
    /// Locked after a thread.
    items: Mutex<MemoryItems>,
    index: Mutex<MemoryIndex>,
    changes: ChangedThreads,
}

/// The items, in order.
#[derive(Debug, Default)]
struct MemoryItems(BTreeMap<ItemKey, Vec<u8>>);

/// The rows of an index, in order.
#[derive(Debug, Default)]
struct MemoryIndex(BTreeMap<Vec<u8>, Vec<u8>>);

#[derive(Debug, Default)]
struct Threads {
    by_name: HashMap<ThreadId, Mutex<Thread>>,
    /// The names in the order in which they are listed: by length, then by bytes.
    names: BTreeSet<(usize, ThreadId)>,
}

#[derive(Debug)]
struct Thread {
    head: ThreadHead,
    records: Records,
}

impl MemoryCheckpointer {
    /// Returns an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn apply(&self, commit: Commit) -> Result<(), CheckpointError> {
        self.leases.check(&commit.thread, commit.epoch)?;
        commit.check_records()?;
        let thread = commit.thread.clone();
        self.write(commit)?;
        self.store.changes.note(&thread);
        Ok(())
    }

    fn write(&self, commit: Commit) -> Result<(), CheckpointError> {
        if let Some(thread) = self.store.lock_read().by_name.get(&commit.thread) {
            return lock(thread).apply(commit, &self.store.items);
        }
        self.store.lock_write().create(commit, &self.store.items)
    }

    fn apply_post(&self, thread: &ThreadId, records: Vec<Record>, is_new: bool) -> Result<(), CheckpointError> {
        Commit::check_posted(thread, &records)?;
        let threads = self.store.lock_read();
        let found = threads.by_name.get(thread).ok_or_else(|| CheckpointError::unknown_thread(thread))?;
        lock(found).post(thread, records, is_new)?;
        drop(threads);
        self.store.changes.note(thread);
        self.leases.note_post(thread);
        Ok(())
    }
}

impl Store {
    fn lock_read(&self) -> RwLockReadGuard<'_, Threads> {
        self.threads.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_from_index(&self, thread: &ThreadId) {
        let mut index = self.lock_index();
        let change = self.changes.note(thread);
        let gone = IndexEntry { thread: thread.clone(), change, summary: None };
        if index.replace(gone).is_ok() {
            self.changes.settle_removed(thread, change);
        }
    }

    fn lock_index(&self) -> MutexGuard<'_, MemoryIndex> {
        lock(&self.index)
    }

    fn lock_write(&self) -> RwLockWriteGuard<'_, Threads> {
        self.threads.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    fn create(&mut self, commit: Commit, items: &Mutex<MemoryItems>) -> Result<(), CheckpointError> {
        // Another writer may have created the thread between the read lock and this one.
        if let Some(thread) = self.by_name.get(&commit.thread) {
            return lock(thread).apply(commit, items);
        }
        commit.check_head(None)?;
        lock(items).write(&commit.items)?;
        let name = commit.thread.clone();
        let mut thread = Thread { head: commit.head, records: Records::default() };
        thread.write(commit);
        self.names.insert(sort_key(&name));
        self.by_name.insert(name, Mutex::new(thread));
        Ok(())
    }

    fn remove(&mut self, thread: &ThreadId) {
        self.by_name.remove(thread);
        self.names.remove(&sort_key(thread));
    }

    fn names_after(&self, after: Option<&ThreadId>, limit: usize) -> Vec<ThreadId> {
        let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded(sort_key(after)));
        self.names.range((from, Bound::Unbounded)).take(limit).map(|(_, name)| name.clone()).collect()
    }
}

impl Thread {
    fn apply(&mut self, commit: Commit, items: &Mutex<MemoryItems>) -> Result<(), CheckpointError> {
        commit.check_head(self.head.checkpoint)?;
        if !commit.items.is_empty() {
            lock(items).write(&commit.items)?;
        }
        self.head = commit.head;
        self.write(commit);
        Ok(())
    }

    fn post(&mut self, thread: &ThreadId, records: Vec<Record>, is_new: bool) -> Result<(), CheckpointError> {
        if let Some((key, _)) = records.iter().find(|(key, _)| is_new && self.records.get(key).is_some()) {
            return Err(CheckpointError::RecordExists { thread: thread.clone(), key: key.clone() });
        }
        records.into_iter().for_each(|(key, bytes)| self.records.insert(key, bytes.into()));
        Ok(())
    }

    fn write(&mut self, commit: Commit) {
        commit.deletes.iter().for_each(|key| self.records.remove(key));
        commit.puts.into_iter().for_each(|(key, row)| self.records.insert(key, row));
    }

    /// Returns a record, whose bytes are made once: it is likely to be read again.
    fn get(&mut self, key: &Key) -> Result<Option<Vec<u8>>, CheckpointError> {
        self.records.get(key).map(|row| row.make_bytes().map(<[u8]>::to_vec)).transpose()
    }

    fn scan(&self, range: RangeInclusive<Key>, order: Order, limit: usize) -> Result<Vec<Record>, CheckpointError> {
        let found = self.records.range(range).map(|(key, row)| Ok((key, row.to_bytes()?.into_owned())));
        match order {
            Order::Ascending => found.take(limit).collect(),
            Order::Descending => found.rev().take(limit).collect(),
        }
    }
}

impl Checkpointer for MemoryCheckpointer {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        Box::pin(ready(self.leases.claim(thread, claim)))
    }

    fn commit(&self, commit: Commit) -> Receipt {
        Receipt::ready(self.apply(commit))
    }

    fn post(&self, thread: &ThreadId, records: Vec<Record>) -> Receipt {
        Receipt::ready(self.apply_post(thread, records, false))
    }

    fn post_new<'a>(
        &'a self,
        thread: &'a ThreadId,
        records: Vec<Record>,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        Box::pin(ready(self.apply_post(thread, records, true)))
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>, CheckpointError>> {
        Box::pin(ready(Ok(self.store.lock_read().by_name.get(thread).map(|thread| lock(thread).head))))
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        let threads = self.store.lock_read();
        let found = match threads.by_name.get(thread).map(lock) {
            Some(mut thread) => keys.iter().map(|key| thread.get(key)).collect(),
            None => Ok(vec![None; keys.len()]),
        };
        Box::pin(ready(found))
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>> {
        let threads = self.store.lock_read();
        let found = threads.by_name.get(thread).map(|thread| lock(thread).scan(range, order, limit));
        Box::pin(ready(found.unwrap_or_else(|| Ok(Vec::new()))))
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>> {
        Box::pin(ready(Ok(self.store.lock_read().names_after(after, limit))))
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>> {
        let checked = self.leases.check(lease.thread(), lease.epoch());
        if checked.is_ok() {
            self.store.lock_write().remove(lease.thread());
            self.store.remove_from_index(lease.thread());
        }
        Box::pin(ready(checked))
    }

    fn get_items(&self, items: Vec<ItemKey>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        let stored = lock(&self.store.items);
        Box::pin(ready(Ok(items.iter().map(|item| stored.0.get(item).cloned()).collect())))
    }

    fn scan_items<'a>(&'a self, scan: &'a ItemScan) -> BoxFuture<'a, Result<Vec<Item>, CheckpointError>> {
        Box::pin(ready(Ok(lock(&self.store.items).scan(scan))))
    }

    fn write_items(&self, writes: Vec<ItemWrite>) -> Receipt {
        let checked = ItemWrite::check_all(&writes);
        Receipt::ready(checked.and_then(|()| lock(&self.store.items).write(&writes)))
    }

    fn list<'a>(&'a self, query: &'a ThreadQuery) -> BoxFuture<'a, Result<Vec<ListedThread>, CheckpointError>> {
        Box::pin(async move { upkeep::list(self, &self, query).await })
    }

    fn due<'a>(&'a self, query: &'a DueQuery) -> BoxFuture<'a, Result<DueThreads, CheckpointError>> {
        Box::pin(async move { upkeep::due(self, &self, query).await })
    }

    fn watch(&self) -> StoreWatch {
        self.leases.watch()
    }

    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        Box::pin(ready(Ok(self.leases.owner(thread))))
    }

    fn send(
        &self,
        thread: &ThreadId,
        request: OwnerRequest,
    ) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        Box::pin(ready(Ok(self.leases.send(thread, request))))
    }
}

impl MemoryItems {
    fn write(&mut self, writes: &[ItemWrite]) -> Result<(), CheckpointError> {
        writes.iter().try_for_each(|write| write.check_found(self.0.get(&write.key).map(Vec::as_slice)))?;
        for ItemWrite { key, value, .. } in writes {
            match value {
                Some(value) => _ = self.0.insert(key.clone(), value.clone()),
                None => _ = self.0.remove(key),
            }
        }
        Ok(())
    }

    fn scan(&self, scan: &ItemScan) -> Vec<Item> {
        let Some((first, last)) = scan.bounds() else { return Vec::new() };
        let range = (Bound::Included(first), last.map_or(Bound::Unbounded, Bound::Excluded));
        let found = self.0.range(range).filter(|(key, _)| scan.has(key));
        let item = |(key, value): (&ItemKey, &Vec<u8>)| (key.clone(), value.clone());
        match scan.order {
            Order::Ascending => found.take(scan.limit).map(item).collect(),
            Order::Descending => found.rev().take(scan.limit).map(item).collect(),
        }
    }
}

impl MemoryIndex {
    fn write(&mut self, write: IndexWrite, changes: &ChangedThreads) -> Result<(), CheckpointError> {
        match write {
            IndexWrite::Start => self.0.clear(),
            IndexWrite::Entries(entries) => {
                for entry in entries.into_iter().filter(|entry| changes.settle(&entry.thread, entry.change)) {
                    self.replace(entry)?;
                }
            }
            IndexWrite::Complete => {}
        }
        Ok(())
    }

    fn replace(&mut self, entry: IndexEntry) -> Result<(), CheckpointError> {
        let before = self.0.get(&summary_key(&entry.thread)).map(|row| decode_summary(row)).transpose()?;
        for (key, row) in index_change(&entry.thread, before.as_ref(), entry.summary.as_ref())? {
            match row {
                Some(row) => _ = self.0.insert(key, row),
                None => _ = self.0.remove(&key),
            }
        }
        Ok(())
    }
}

impl IndexReads for MemoryIndex {
    fn keys(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Vec<u8>>, CheckpointError> {
        let found = self.0.range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)));
        Ok(found.take(limit).map(|(key, _)| key.clone()).collect())
    }

    fn last_keys(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Vec<u8>>, CheckpointError> {
        let found = self.0.range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)));
        Ok(found.rev().take(limit).map(|(key, _)| key.clone()).collect())
    }

    fn row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(self.0.get(key).cloned())
    }
}

impl IndexedStore for MemoryCheckpointer {
    fn changes(&self) -> &ChangedThreads {
        &self.store.changes
    }

    fn leases(&self) -> &Leases {
        &self.leases
    }

    fn claim_free<'a>(&'a self, thread: &'a ThreadId) -> BoxFuture<'a, Result<Lease, CheckpointError>> {
        self.claim(thread, Claim::IfFree)
    }

    fn read_index(
        &self,
        read: &mut dyn FnMut(&dyn IndexReads) -> Result<(), CheckpointError>,
    ) -> Result<(), CheckpointError> {
        read(&*self.store.lock_index())
    }

    fn write_index(&self, write: IndexWrite) -> Receipt {
        Receipt::ready(self.store.lock_index().write(write, &self.store.changes))
    }
}

fn sort_key(thread: &ThreadId) -> (usize, ThreadId) {
    (thread.as_str().len(), thread.clone())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
