//! What readers may see: the tree as it was at the last acknowledged commit. Knows which rows are being changed; must not
//! know who changes them or why.
//!
//! Before a batch touches the tree, the rows it will change are kept here as they were; readers look here first. They are
//! let go when the batch is on disk. A reader holds the lock for reading while it reads, so it sees one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ::sled::IVec;

use super::disk::{Row, Tree};
use crate::checkpoint::{CheckpointError, Order};

/// Rows as they were before a batch; none for a row that was absent.
pub(super) type Before = BTreeMap<Vec<u8>, Option<IVec>>;

/// The tree, and what must not be seen of it yet.
#[derive(Debug)]
pub(super) struct View {
    tree: Arc<dyn Tree>,
    hidden: RwLock<Hidden>,
}

#[derive(Debug, Default)]
struct Hidden {
    before: Before,
    /// Names of threads whose deletion is on disk but not finished.
    deleted: BTreeSet<Vec<u8>>,
}

impl View {
    /// Returns a view that shows everything.
    pub(super) fn new(tree: Arc<dyn Tree>) -> Self {
        Self { tree, hidden: RwLock::default() }
    }

    /// Returns the moment that readers see now.
    pub(super) fn now(&self) -> Moment<'_> {
        Moment { tree: &*self.tree, hidden: self.hidden.read().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Keeps showing these rows as they were.
    pub(super) fn hold(&self, before: Before) {
        self.change().before = before;
    }

    /// Shows the tree as it is.
    pub(super) fn release(&self) {
        let held = std::mem::take(&mut self.change().before);
        drop(held);
    }

    /// Shows the thread of this name as absent.
    pub(super) fn hide_thread(&self, name: Vec<u8>) {
        self.change().deleted.insert(name);
    }

    /// Shows the thread of this name as it is.
    pub(super) fn show_thread(&self, name: &[u8]) {
        self.change().deleted.remove(name);
    }

    fn change(&self) -> RwLockWriteGuard<'_, Hidden> {
        self.hidden.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The acknowledged rows at one moment.
pub(super) struct Moment<'a> {
    tree: &'a dyn Tree,
    hidden: RwLockReadGuard<'a, Hidden>,
}

impl Moment<'_> {
    /// Returns whether any thread is being deleted.
    pub(super) fn hides_threads(&self) -> bool {
        !self.hidden.deleted.is_empty()
    }

    /// Returns whether the thread of this name is being deleted.
    pub(super) fn hides_thread(&self, name: &[u8]) -> bool {
        self.hidden.deleted.contains(name)
    }

    /// Returns one row.
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

type Fallible = Result<Row, CheckpointError>;
type Held<'a> = (&'a [u8], &'a Option<IVec>);

/// Rows of the tree, replaced by those that are held.
pub(super) struct Merge<'a> {
    tree: std::iter::Peekable<Box<dyn Iterator<Item = Fallible> + 'a>>,
    before: std::iter::Peekable<Box<dyn Iterator<Item = Held<'a>> + 'a>>,
    order: Order,
}

impl<'a> Merge<'a> {
    fn new(
        tree: Box<dyn Iterator<Item = Fallible> + 'a>,
        before: Box<dyn Iterator<Item = Held<'a>> + 'a>,
        order: Order,
    ) -> Self {
        Self { tree: tree.peekable(), before: before.peekable(), order }
    }

    /// Compares the next row of the tree with the next held one: the lesser comes first.
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
    type Item = Fallible;

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
