//! Reads of a store, as far as a summary of a thread needs them. Every checkpointer has them; a summary that is made inside a
//! store reads through it as well.
//!
//! Small because it stands between the contract and what is made of its reads.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::checkpoint::commit::{BoxFuture, Record, ThreadHead};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::{Key, ThreadId};
use crate::checkpoint::owner::LeaseOwner;

/// Result of a read.
pub(crate) type ReadFuture<'a, T> = BoxFuture<'a, Result<T, CheckpointError>>;

/// Reads of a store: the methods of a checkpointer of the same names.
pub(crate) trait ThreadReads: Send + Sync {
    fn read_head(&self, thread: &ThreadId) -> ReadFuture<'_, Option<ThreadHead>>;
    fn read_records(&self, thread: &ThreadId, keys: Vec<Key>) -> ReadFuture<'_, Vec<Option<Vec<u8>>>>;
    /// Returns records in the order of their keys.
    fn read_range(&self, thread: &ThreadId, range: RangeInclusive<Key>, limit: usize) -> ReadFuture<'_, Vec<Record>>;
    fn read_owner(&self, thread: &ThreadId) -> ReadFuture<'_, Option<Arc<LeaseOwner>>>;
    fn read_names(&self, after: Option<&ThreadId>, limit: usize) -> ReadFuture<'_, Vec<ThreadId>>;
    fn is_store_foreign(&self) -> bool;
}
