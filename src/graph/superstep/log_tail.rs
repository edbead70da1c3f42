//! The entries at the end of a log that are in no chunk yet. Knows no store.

use crate::checkpoint::{OpenChunk, RowId};
use crate::graph::state::Stored;

/// Number of entries of a chunk, and of bytes after which it takes no more.
pub(crate) const ENTRIES: usize = 32;
const BYTES: usize = 16 << 10;
/// Number of entries with which a chunk is worth storing before a long entry.
const FEW: usize = 8;
/// Maximum size of an entry that is put into chunks, in bytes: a longer one is read as fast alone.
const SHORT: u64 = 2 << 10;

/// The last entry of a chunk, and its bytes.
pub(crate) type FullChunk = (RowId, Vec<u8>);

/// The last entries of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogTail(OpenChunk);

impl LogTail {
    /// Returns a tail without entries, after an entry.
    pub(crate) fn after(row: RowId) -> Self {
        Self(OpenChunk::after(Some(row)))
    }

    /// Adds an entry, without its bytes if it is too long for chunks. Returns a chunk once it is full.
    pub(crate) fn push(&mut self, row: RowId, entry: Option<&[u8]>) -> Option<FullChunk> {
        let full = match entry {
            Some(bytes) => {
                self.0.push(row, bytes);
                self.0.len() >= ENTRIES || self.0.bytes() >= BYTES
            }
            None => self.0.len() >= FEW,
        };
        let is_left = full || entry.is_none();
        let ended = if is_left { std::mem::replace(self, Self::after(row)) } else { Self::default() };
        full.then(|| ended.0.close())
    }
}

/// Returns true if a write of this size is an entry of a log that is put into chunks.
pub(crate) fn is_chunked(stored: Stored, overwrite: bool, size: u64) -> bool {
    stored.is_logged() && !overwrite && size <= SHORT
}
