//! The writes of tasks: applied to a state, for the next superstep or for routers beside siblings, which see those of their
//! own task; as rows, of which those at the end of a log are in no chunk yet. Knows no store.

use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_base::panics::catch_panic;

use crate::checkpoint::{OpenChunk, RowId, WriteRecord};
use crate::graph::build::Table;
use crate::graph::error::{INPUT, RunError};
use crate::graph::records::START_NAME;
use crate::graph::state::{AnyState, AnyWrite, AnyWrites, ApplyError, Mask, Merge, Storage};

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
    /// Removes all rows, and keeps their room.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.sizes.clear();
        self.chunked.clear();
    }

    /// Makes room for so many rows more.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows);
        self.sizes.reserve(rows);
    }

    /// Adds the row of a write to a channel that is stored in this way.
    pub(crate) fn push(&mut self, row: WriteRecord, stored: Storage, bytes: &[u8]) {
        let size = bytes.len() as u64;
        if is_chunked(stored, row.overwrite, size) {
            self.chunked.extend_from_slice(bytes);
        }
        self.rows.push(row);
        self.sizes.push(size);
    }
}

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
pub(crate) fn is_chunked(stored: Storage, overwrite: bool, size: u64) -> bool {
    stored.is_logged() && !overwrite && size <= SHORT
}

/// Applies a task's writes to a state. A panic of a reducer is a refusal; the state is then half written and to be dropped.
pub(crate) fn apply_writes(
    table: &Table,
    state: &mut AnyState,
    writes: impl IntoIterator<Item = AnyWrite>,
    merge: &mut Merge,
) -> Result<(), ApplyError> {
    let mut channel = 0;
    let applied = catch_panic(|| {
        writes.into_iter().try_for_each(|write| {
            channel = write.channel();
            table.schema.apply(state, write, merge)
        })
    });
    applied.unwrap_or_else(|panic| {
        let reason = format!("its reducer panicked: {panic}");
        Err(ApplyError::Refused { channel, reason })
    })
}

/// The state as a router after one task sees it: the writes of that task, and of no sibling.
pub(crate) fn fresh_read(table: &Table, state: &AnyState, writes: &AnyWrites) -> Result<AnyState, ApplyError> {
    let mut state = state.clone();
    apply_alone(table, &mut state, writes)?;
    Ok(state)
}

/// Applies the writes of one task as if they were a superstep. Returns the channels that changed.
fn apply_alone(table: &Table, state: &mut AnyState, writes: &AnyWrites) -> Result<Mask, ApplyError> {
    let (mut merge, mut changed) = (Merge::default(), Mask::default());
    apply_writes(table, state, writes.0.iter().cloned(), &mut merge)?;
    table.schema.end_step(state, merge.written(), &mut changed);
    changed.extend(merge.written().iter());
    Ok(changed)
}

/// The state as routers after a node see it, which has returned this.
pub(crate) fn with_returned(state: &AnyState, returned: Option<ReturnedObject>) -> AnyState {
    let mut seen = state.clone();
    if let Some(returned) = returned {
        seen.note_returned(returned);
    }
    seen
}

/// Turns an index into words: who wrote the channel.
pub(crate) fn apply_run_error(table: &Table, step: i64, error: ApplyError, nodes: Vec<String>) -> RunError {
    let shown = |node: String| if node.trim_matches('`') == START_NAME { INPUT.into() } else { node };
    let nodes = nodes.into_iter().map(shown).collect();
    match error {
        ApplyError::Concurrent { channel } => {
            RunError::ConcurrentUpdate { channel: table.channel(channel).to_owned(), step, nodes }
        }
        ApplyError::Refused { channel, reason } => {
            let reason = table.schema.channels()[channel].redact(reason);
            RunError::Refused { channel: table.channel(channel).to_owned(), step, nodes, reason }
        }
    }
}

/// The object that a node returned.
type ReturnedObject = Arc<Map<String, Value>>;

/// A copy of the state of a superstep, once a router needed one.
#[derive(Default)]
pub(crate) struct RouterView(Option<AnyState>);

impl RouterView {
    /// Calls `read` with the state and these writes. `state` is the same in each call.
    pub(crate) fn with<T>(
        &mut self,
        table: &Table,
        state: &AnyState,
        (writes, returned): (&AnyWrites, Option<ReturnedObject>),
        read: impl FnOnce(&AnyState) -> T,
    ) -> Result<T, ApplyError> {
        let mut seen = self.0.take().unwrap_or_else(|| state.clone());
        let changed = apply_alone(table, &mut seen, writes)?;
        if let Some(returned) = returned {
            seen.note_returned(returned);
        }
        let read = read(&seen);
        table.schema.reset(&mut seen, &changed, state);
        self.0 = Some(seen);
        Ok(read)
    }
}
