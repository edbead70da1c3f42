//! Where the writes of a task are stored. Knows no store.

use crate::checkpoint::WriteRecord;

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

    pub(crate) fn push(&mut self, row: WriteRecord, size: u64) {
        self.rows.push(row);
        self.sizes.push(size);
    }
}
