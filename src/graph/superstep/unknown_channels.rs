//! What a position brings along from another version of its graph: channels that nobody claims, and values that have to be
//! stored anew. Knows no store.

use super::position::{Position, extend};
use crate::checkpoint::{CarriedRecord, Key, LogRange, RowId, Slot};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::records::Puts;
use crate::graph::state::{SETS, Stored};

impl Position {
    /// Applies a write to a channel that this version of the graph does not declare. Reduced writes are dropped.
    pub(super) fn keep_carried(&mut self, at: usize, overwrite: bool, row: RowId, size: u64) {
        let Some(CarriedRecord { channel, slot, .. }) = self.channels.unknown.get_mut(at) else { return };
        match slot {
            _ if !channel.logged && SETS.contains(&channel.rule.as_str()) => *slot = Slot::Row(row),
            _ if overwrite && channel.logged => {
                *slot = Slot::Log { full: Some(row), full_bytes: size, ranges: vec![] };
            }
            _ if overwrite => *slot = Slot::Row(row),
            Slot::Log { ranges, .. } if channel.logged => extend(ranges, self.channels.line, row, size),
            _ if channel.logged => {
                let range = LogRange { log: None, first: row, last: row, count: 1, bytes: size };
                *slot = Slot::Log { full: None, full_bytes: 0, ranges: vec![range] };
            }
            _ => {
                tracing::warn!(channel = channel.name, "a change to a channel that the graph does not have is dropped")
            }
        }
    }

    /// Stores what another version of the graph kept in another way.
    pub(crate) fn settle(&mut self, table: &Table, puts: &mut Puts) -> Result<(), RunError> {
        puts.append(&mut self.channels.pending_rewrites);
        for at in std::mem::take(&mut self.channels.stale).iter() {
            self.channels.moved.insert(at);
            self.channels.tails.remove(&at);
            self.channels.slots[at] = Slot::Absent;
            if !table.schema.is_kept(&self.state, at) {
                continue;
            }
            let row = RowId { checkpoint: self.meta.id, task: RowId::WHOLE, slot: at as u32 };
            let bytes = table.schema.encode_channel(&self.state, at)?;
            self.channels.slots[at] = match table.schema.channels()[at].stored() {
                Stored::Log | Stored::Delta => {
                    Slot::Log { full: Some(row), full_bytes: bytes.len() as u64, ranges: vec![] }
                }
                Stored::Value | Stored::Full => Slot::Row(row),
                Stored::Never => continue,
            };
            puts.push((Key::Row(row), bytes));
        }
        Ok(())
    }
}
