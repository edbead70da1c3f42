//! View of readers: whole records of the tree as of the last acknowledged commit. Knows which rows are being changed;
//! must not know by whom or why.
//!
//! Before a batch changes the tree, the previous values of its rows are stored here; readers look here first. They are
//! dropped when the batch is on disk. A reader holds the read lock while it reads, so it sees one consistent snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeInclusive};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::engine::{Bytes, Row, RowIter, RowSource, Tree};
use super::rows::{ITEMS, RECORDS, in_space, item_name, prefix_end, record_key, row_key, thread_name};
use crate::checkpoint::envelope::{Envelope, damaged_record};
use crate::checkpoint::key_bytes::{take_item, take_key, take_thread};
use crate::checkpoint::{
    CheckpointError, Item, ItemKey, ItemScan, Key, Order, Record, ThreadHead, ThreadId, decode_record,
};

type Result<T> = std::result::Result<T, CheckpointError>;

/// Rows before a batch; `None` for a row that did not exist.
pub(super) type RowsBefore<B> = BTreeMap<Vec<u8>, Option<B>>;

/// The tree, and the changes of it that readers must not see yet.
#[derive(Debug)]
pub(in crate::checkpoint) struct View<S: RowSource> {
    source: Arc<S>,
    hidden: RwLock<Overlay<S::Bytes>>,
}

#[derive(Debug)]
struct Overlay<B> {
    before: RowsBefore<B>,
    /// Names of threads whose deletion is on disk but not finished.
    deleted: BTreeSet<Vec<u8>>,
}

impl<S: RowSource> View<S> {
    pub(super) fn new(source: Arc<S>) -> Self {
        Self { source, hidden: RwLock::new(Overlay { before: RowsBefore::new(), deleted: BTreeSet::new() }) }
    }

    /// Returns the current snapshot.
    pub(super) fn snapshot(&self) -> Snapshot<'_, S> {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        Snapshot { tree: self.source.snapshot(), hidden }
    }

    /// Makes readers see these rows instead of those in the tree.
    pub(super) fn hold(&self, before: RowsBefore<S::Bytes>) {
        self.change().before = before;
    }

    /// Makes readers see the tree itself.
    pub(super) fn release(&self) {
        let held = std::mem::take(&mut self.change().before);
        drop(held);
    }

    /// Hides the thread of this name.
    pub(super) fn hide_thread(&self, name: Vec<u8>) {
        self.change().deleted.insert(name);
    }

    /// Stops hiding the thread of this name.
    pub(super) fn show_thread(&self, name: &[u8]) {
        self.change().deleted.remove(name);
    }

    fn change(&self) -> RwLockWriteGuard<'_, Overlay<S::Bytes>> {
        self.hidden.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The acknowledged rows at one moment.
pub(super) struct Snapshot<'a, S: RowSource + 'a> {
    tree: S::Snapshot<'a>,
    hidden: RwLockReadGuard<'a, Overlay<S::Bytes>>,
}

impl<'a, S: RowSource> Snapshot<'a, S> {
    /// Returns the rows as they are, those that readers must not see yet included.
    pub(super) fn tree(&self) -> &S::Snapshot<'a> {
        &self.tree
    }
}

impl<S: RowSource> Snapshot<'_, S> {
    pub(super) fn head(&self, thread: &ThreadId) -> Result<Option<ThreadHead>> {
        if self.is_deleted(thread) {
            return Ok(None);
        }
        let bytes = self.record(&record_key(thread, &Key::Head))?;
        bytes.map(|bytes| decode_record(thread, Key::Head, &bytes)).transpose()
    }

    pub(super) fn get(&self, thread: &ThreadId, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>> {
        if self.is_deleted(thread) {
            return Ok(vec![None; keys.len()]);
        }
        keys.iter()
            .map(|key| if *key == Key::Head { Ok(None) } else { self.record(&record_key(thread, key)) })
            .collect()
    }

    pub(super) fn scan(
        &self,
        thread: &ThreadId,
        range: &RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Record>> {
        if range.start() > range.end() || self.is_deleted(thread) {
            return Ok(Vec::new());
        }
        let (lo, hi) = (record_key(thread, range.start()), record_key(thread, range.end()));
        let before = thread_name(thread).len();
        let rows = self.rows(&lo, &hi, order);
        rows.filter_map(|row| self.first_of_record(before, row).transpose()).take(limit).collect()
    }

    /// Returns names of threads after `from`.
    pub(super) fn threads(&self, from: Option<&ThreadId>, limit: usize) -> Result<Vec<ThreadId>> {
        let mut found = Vec::new();
        let mut from = from.map_or(vec![RECORDS], |thread| prefix_end(&in_space(RECORDS, &thread_name(thread))));
        while found.len() < limit {
            let Some(thread) = self.next_thread(&from)? else { break };
            from = prefix_end(&in_space(RECORDS, &thread_name(&thread)));
            if !self.is_deleted(&thread) {
                found.push(thread);
            }
        }
        Ok(found)
    }

    pub(super) fn items(&self, items: &[ItemKey]) -> Result<Vec<Option<Vec<u8>>>> {
        items.iter().map(|item| self.record(&row_key(&item_name(item), 0))).collect()
    }

    pub(super) fn scan_items(&self, scan: &ItemScan) -> Result<Vec<Item>> {
        let Some((first, last)) = scan.bounds() else { return Ok(Vec::new()) };
        let last = last.map_or(prefix_end(&[ITEMS]), |last| row_key(&item_name(&last), 0));
        let rows = self.rows(&row_key(&item_name(&first), 0), &last, scan.order);
        rows.filter_map(|row| self.first_of_item(row, scan).transpose()).take(scan.limit).collect()
    }

    /// Returns the item that starts with this row; `None` if the row is a later part, or not in the scan.
    fn first_of_item(&self, row: Result<Row<S::Bytes>>, scan: &ItemScan) -> Result<Option<Item>> {
        let (row_key, first) = row?;
        let name = row_key.as_ref().get(1..).unwrap_or_default();
        let mut rest = name;
        let item = take_item(&mut rest).ok_or_else(|| damaged_record(name, "its key is not a name"))?;
        if !rest.is_empty() || !scan.has(&item) {
            return Ok(None);
        }
        Ok(Some((item, self.assemble(name, first.as_ref())?)))
    }

    fn next_thread(&self, from: &[u8]) -> Result<Option<ThreadId>> {
        let Some(row) = self.rows(from, &prefix_end(&[RECORDS]), Order::Ascending).next() else { return Ok(None) };
        let (key, _) = row?;
        take_thread(&mut &key.as_ref()[1..]).map(Some).ok_or_else(|| damaged_record(&[], "its key is not a name"))
    }

    /// Returns the record that starts with this row; `None` if the row is a later part, or the head. The first `thread`
    /// bytes of its name are the thread's.
    fn first_of_record(&self, thread: usize, row: Result<Row<S::Bytes>>) -> Result<Option<Record>> {
        let (row_key, first) = row?;
        let name = row_key.as_ref().get(1..).unwrap_or_default();
        let mut rest = name.get(thread..).unwrap_or_default();
        let key = take_key(&mut rest).ok_or_else(|| damaged_record(name, "its key is not a name"))?;
        if !rest.is_empty() || key == Key::Head {
            return Ok(None);
        }
        Ok(Some((key, self.assemble(name, first.as_ref())?)))
    }

    fn record(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.row(key)?.map(|first| self.assemble(&key[1..], first.as_ref())).transpose()
    }

    fn is_deleted(&self, thread: &ThreadId) -> bool {
        !self.hidden.deleted.is_empty() && self.hidden.deleted.contains(&thread_name(thread))
    }

    fn assemble(&self, name: &[u8], first: &[u8]) -> Result<Vec<u8>> {
        assemble(name, first, |key| self.row(key))
    }

    fn row(&self, key: &[u8]) -> Result<Option<S::Bytes>> {
        match self.hidden.before.get(key) {
            Some(before) => Ok(before.clone()),
            None => self.tree.get(key),
        }
    }

    /// Returns the rows between two keys, both included; `lo` must not be after `hi`.
    fn rows(&self, lo: &[u8], hi: &[u8], order: Order) -> MergedRows<'_, S::Bytes> {
        let tree = self.tree.range(lo, hi, order);
        let before = self.hidden.before.range::<[u8], _>((Bound::Included(lo), Bound::Included(hi)));
        let before = before.map(|(key, row)| (key.as_slice(), row));
        match order {
            Order::Ascending => MergedRows::new(tree, Box::new(before), order),
            Order::Descending => MergedRows::new(tree, Box::new(before.rev()), order),
        }
    }
}

/// Returns the value of a record or an item whose first row is given, with its other rows as `row` finds them by their keys.
pub(super) fn assemble<B: AsRef<[u8]>>(
    name: &[u8],
    first: &[u8],
    row: impl Fn(&[u8]) -> Result<Option<B>>,
) -> Result<Vec<u8>> {
    let first = Envelope::open(name, 0, first)?;
    let mut value = first.payload.to_vec();
    for part in 1..first.parts {
        let row = row(&row_key(name, part))?.ok_or_else(|| damaged_record(name, "a part of it is missing"))?;
        let row = Envelope::open(name, part, row.as_ref())?;
        if (row.commit, row.parts) != (first.commit, first.parts) {
            return Err(damaged_record(name, "its parts are of different commits"));
        }
        value.extend_from_slice(row.payload);
    }
    Ok(value)
}

type HeldRow<'a, B> = (&'a [u8], &'a Option<B>);

/// Rows of the tree, merged with the held ones.
struct MergedRows<'a, B> {
    tree: std::iter::Peekable<RowIter<'a, B>>,
    before: std::iter::Peekable<Box<dyn Iterator<Item = HeldRow<'a, B>> + 'a>>,
    order: Order,
}

impl<'a, B: Bytes> MergedRows<'a, B> {
    fn new(tree: RowIter<'a, B>, before: Box<dyn Iterator<Item = HeldRow<'a, B>> + 'a>, order: Order) -> Self {
        Self { tree: tree.peekable(), before: before.peekable(), order }
    }

    /// Compares the next row of the tree with the next held row, in scan order.
    fn compare(&mut self) -> std::cmp::Ordering {
        use std::cmp::Ordering::{Greater, Less};
        match (self.tree.peek(), self.before.peek()) {
            (Some(Ok((key, _))), Some((held, _))) if self.order == Order::Ascending => key.as_ref().cmp(held),
            (Some(Ok((key, _))), Some((held, _))) => (*held).cmp(key.as_ref()),
            (Some(Err(_)), _) | (_, None) => Less,
            (None, Some(_)) => Greater,
        }
    }
}

impl<B: Bytes> Iterator for MergedRows<'_, B> {
    type Item = Result<Row<B>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let order = self.compare();
            if order.is_lt() {
                return self.tree.next();
            }
            if order.is_eq() {
                self.tree.next();
            }
            if let (key, Some(row)) = self.before.next()? {
                return Some(Ok((key.into(), row.clone())));
            }
        }
    }
}
