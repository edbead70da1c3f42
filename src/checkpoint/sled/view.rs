//! View of readers: the tree as of the last acknowledged commit. Knows which rows are being changed; must not know by
//! whom or why.
//!
//! Before a batch changes the tree, the previous values of its rows are stored here; readers look here first. They are
//! dropped when the batch is on disk. A reader holds the read lock while it reads, so it sees one consistent snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ::sled::IVec;

use super::disk::{Row, Tree};
use crate::checkpoint::{CheckpointError, Order};

/// Rows before a batch; `None` for a row that did not exist.
pub(super) type Before = BTreeMap<Vec<u8>, Option<IVec>>;

/// The tree, and the changes of it that readers must not see yet.
#[derive(Debug)]
pub(super) struct View {
    tree: Arc<dyn Tree>,
    hidden: RwLock<Overlay>,
}

#[derive(Debug, Default)]
struct Overlay {
    before: Before,
    /// Names of threads whose deletion is on disk but not finished.
    deleted: BTreeSet<Vec<u8>>,
}

impl View {
    pub(super) fn new(tree: Arc<dyn Tree>) -> Self {
        Self { tree, hidden: RwLock::default() }
    }

    /// Returns the current snapshot.
    pub(super) fn now(&self) -> Snapshot<'_> {
        Snapshot { tree: &*self.tree, hidden: self.hidden.read().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Makes readers see these rows instead of those in the tree.
    pub(super) fn hold(&self, before: Before) {
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

    fn change(&self) -> RwLockWriteGuard<'_, Overlay> {
        self.hidden.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The acknowledged rows at one moment.
pub(super) struct Snapshot<'a> {
    tree: &'a dyn Tree,
    hidden: RwLockReadGuard<'a, Overlay>,
}

impl Snapshot<'_> {
    pub(super) fn hides_threads(&self) -> bool {
        !self.hidden.deleted.is_empty()
    }

    pub(super) fn hides_thread(&self, name: &[u8]) -> bool {
        self.hidden.deleted.contains(name)
    }

    pub(super) fn row(&self, key: &[u8]) -> Result<Option<IVec>, CheckpointError> {
        match self.hidden.before.get(key) {
            Some(before) => Ok(before.clone()),
            None => self.tree.get(key),
        }
    }

    /// Returns the rows between two keys, both included; `lo` must not be after `hi`.
    pub(super) fn rows(&self, lo: &[u8], hi: &[u8], order: Order) -> Merge<'_> {
        let tree = self.tree.range(lo, hi, order);
        let before = self.hidden.before.range::<[u8], _>((Bound::Included(lo), Bound::Included(hi)));
        let before = before.map(|(key, row)| (key.as_slice(), row));
        match order {
            Order::Ascending => Merge::new(tree, Box::new(before), order),
            Order::Descending => Merge::new(tree, Box::new(before.rev()), order),
        }
    }
}

type RowResult = Result<Row, CheckpointError>;
type HeldRow<'a> = (&'a [u8], &'a Option<IVec>);

/// Rows of the tree, merged with the held ones.
pub(super) struct Merge<'a> {
    tree: std::iter::Peekable<Box<dyn Iterator<Item = RowResult> + 'a>>,
    before: std::iter::Peekable<Box<dyn Iterator<Item = HeldRow<'a>> + 'a>>,
    order: Order,
}

impl<'a> Merge<'a> {
    fn new(
        tree: Box<dyn Iterator<Item = RowResult> + 'a>,
        before: Box<dyn Iterator<Item = HeldRow<'a>> + 'a>,
        order: Order,
    ) -> Self {
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

impl Iterator for Merge<'_> {
    type Item = RowResult;

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
