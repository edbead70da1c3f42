//! View of readers: the tree as of the last acknowledged commit. Knows which rows are being changed; must not know by
//! whom or why.
//!
//! Before a batch changes the tree, the previous values of its rows are stored here; readers look here first. They are
//! dropped when the batch is on disk. A reader holds the read lock while it reads, so it sees one consistent snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::engine::{Bytes, Row, RowIter, Source, Tree};
use crate::checkpoint::{CheckpointError, Order};

/// Rows before a batch; `None` for a row that did not exist.
pub(in crate::checkpoint) type Before<B> = BTreeMap<Vec<u8>, Option<B>>;

/// The tree, and the changes of it that readers must not see yet.
#[derive(Debug)]
pub(in crate::checkpoint) struct View<S: Source> {
    source: Arc<S>,
    hidden: RwLock<Overlay<S::Bytes>>,
}

#[derive(Debug)]
struct Overlay<B> {
    before: Before<B>,
    /// Names of threads whose deletion is on disk but not finished.
    deleted: BTreeSet<Vec<u8>>,
}

impl<S: Source> View<S> {
    pub(in crate::checkpoint) fn new(source: Arc<S>) -> Self {
        Self { source, hidden: RwLock::new(Overlay { before: Before::new(), deleted: BTreeSet::new() }) }
    }

    /// Returns the current snapshot.
    pub(in crate::checkpoint) fn now(&self) -> Snapshot<'_, S> {
        let hidden = self.hidden.read().unwrap_or_else(PoisonError::into_inner);
        Snapshot { tree: self.source.snapshot(), hidden }
    }

    /// Makes readers see these rows instead of those in the tree.
    pub(in crate::checkpoint) fn hold(&self, before: Before<S::Bytes>) {
        self.change().before = before;
    }

    /// Makes readers see the tree itself.
    pub(in crate::checkpoint) fn release(&self) {
        let held = std::mem::take(&mut self.change().before);
        drop(held);
    }

    /// Hides the thread of this name.
    pub(in crate::checkpoint) fn hide_thread(&self, name: Vec<u8>) {
        self.change().deleted.insert(name);
    }

    /// Stops hiding the thread of this name.
    pub(in crate::checkpoint) fn show_thread(&self, name: &[u8]) {
        self.change().deleted.remove(name);
    }

    fn change(&self) -> RwLockWriteGuard<'_, Overlay<S::Bytes>> {
        self.hidden.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The acknowledged rows at one moment.
pub(in crate::checkpoint) struct Snapshot<'a, S: Source + 'a> {
    tree: S::Snapshot<'a>,
    hidden: RwLockReadGuard<'a, Overlay<S::Bytes>>,
}

impl<S: Source> Snapshot<'_, S> {
    pub(in crate::checkpoint) fn hides_threads(&self) -> bool {
        !self.hidden.deleted.is_empty()
    }

    pub(in crate::checkpoint) fn hides_thread(&self, name: &[u8]) -> bool {
        self.hidden.deleted.contains(name)
    }

    pub(in crate::checkpoint) fn row(&self, key: &[u8]) -> Result<Option<S::Bytes>, CheckpointError> {
        match self.hidden.before.get(key) {
            Some(before) => Ok(before.clone()),
            None => self.tree.get(key),
        }
    }

    /// Returns the rows between two keys, both included; `lo` must not be after `hi`.
    pub(in crate::checkpoint) fn rows(&self, lo: &[u8], hi: &[u8], order: Order) -> Merge<'_, S::Bytes> {
        let tree = self.tree.range(lo, hi, order);
        let before = self.hidden.before.range::<[u8], _>((Bound::Included(lo), Bound::Included(hi)));
        let before = before.map(|(key, row)| (key.as_slice(), row));
        match order {
            Order::Ascending => Merge::new(tree, Box::new(before), order),
            Order::Descending => Merge::new(tree, Box::new(before.rev()), order),
        }
    }
}

type RowResult<B> = Result<Row<B>, CheckpointError>;
type HeldRow<'a, B> = (&'a [u8], &'a Option<B>);

/// Rows of the tree, merged with the held ones.
pub(in crate::checkpoint) struct Merge<'a, B> {
    tree: std::iter::Peekable<RowIter<'a, B>>,
    before: std::iter::Peekable<Box<dyn Iterator<Item = HeldRow<'a, B>> + 'a>>,
    order: Order,
}

impl<'a, B: Bytes> Merge<'a, B> {
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

impl<B: Bytes> Iterator for Merge<'_, B> {
    type Item = RowResult<B>;

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
