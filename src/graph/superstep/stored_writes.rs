//! The records of a task's writes. Knows no store.

use super::log_tail::is_chunked;
use crate::checkpoint::WriteRecord;
use crate::graph::state::Stored;

/// The rows of a task's writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredWrites {
    pub rows: Vec<WriteRecord>,
    /// Sizes of the rows, in bytes.
    pub sizes: Vec<u64>,
    /// Those among them that are put into chunks of a log, one after the other.
    pub chunked: Vec<u8>,
}

impl StoredWrites {
    /// Returns no rows, with room for as many.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self { rows: Vec::with_capacity(rows), sizes: Vec::with_capacity(rows), chunked: vec![] }
    }

    /// Adds the row of a write to a channel that is stored in this way.
    pub(crate) fn push(&mut self, row: WriteRecord, stored: Stored, bytes: &[u8]) {
        let size = bytes.len() as u64;
        if is_chunked(stored, row.overwrite, size) {
            self.chunked.extend_from_slice(bytes);
        }
        self.rows.push(row);
        self.sizes.push(size);
    }
}
