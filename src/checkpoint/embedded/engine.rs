//! Databases below an embedded store: a sorted map of rows, read at one moment and changed in durable batches. Must not
//! know what a row is.

use std::fmt::Debug;

use super::faults::Faults;
use crate::checkpoint::{CheckpointError, Order};

/// Bytes of a row or its key, shared with the database's cache.
pub(in crate::checkpoint) trait Bytes:
    AsRef<[u8]> + Clone + Debug + for<'a> From<&'a [u8]> + Send + Sync + 'static
{
}

impl<B: AsRef<[u8]> + Clone + Debug + for<'a> From<&'a [u8]> + Send + Sync + 'static> Bytes for B {}

/// Key of a row, and the row.
pub(in crate::checkpoint) type Row<B> = (B, B);

/// Rows in key order, or in reverse.
pub(in crate::checkpoint) type RowIter<'a, B> = Box<dyn Iterator<Item = Result<Row<B>, CheckpointError>> + 'a>;

/// Rows after a change, in key order; `None` for a row that is removed.
pub(in crate::checkpoint) type Rows = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Read access to rows by key.
pub(in crate::checkpoint) trait Tree {
    type Bytes: Bytes;

    fn get(&self, key: &[u8]) -> Result<Option<Self::Bytes>, CheckpointError>;

    /// Returns the rows between two keys, both included; `lo` must not be after `hi`.
    fn range<'a>(&'a self, lo: &[u8], hi: &[u8], order: Order) -> RowIter<'a, Self::Bytes>;
}

/// A database that can be read.
pub(in crate::checkpoint) trait Source: Debug + Send + Sync + 'static {
    type Bytes: Bytes;
    type Snapshot<'a>: Tree<Bytes = Self::Bytes>;

    /// Returns the rows at this moment. If the engine [shows unsynced rows](Engine::SHOWS_UNSYNCED), also later changes
    /// may be read through it.
    fn snapshot(&self) -> Self::Snapshot<'_>;
}

/// A database that can be changed. One thread writes.
pub(in crate::checkpoint) trait Engine: Source {
    /// True if readers see a change before it is on disk: the store then covers the changed rows meanwhile.
    const SHOWS_UNSYNCED: bool;

    /// Changes rows atomically, and returns when the change is on disk. After an error it is not called again.
    fn write(&self, rows: Rows) -> Result<(), CheckpointError>;

    /// Does work that can wait; called between two writes.
    fn maintain(&self);

    /// Drops the database after an error and returns the error.
    fn discard(self, error: CheckpointError) -> CheckpointError;

    #[cfg_attr(not(feature = "test-util"), allow(dead_code, reason = "for tests of stores"))]
    fn faults(&self) -> &Faults;
}
