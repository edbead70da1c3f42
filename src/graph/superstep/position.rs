//! The position of a run: a checkpoint in memory. Applying the results of a superstep moves it on. It brings along what
//! another version of its graph stored: channels that nobody claims, and values that have to be stored anew. Knows no store.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as JsonValue};

use super::control::Control;
use super::writes::{FullChunk, LogTail, StoredWrites, apply_writes, is_chunked};
use crate::checkpoint::{CarriedRecord, CheckpointId, Key, LogRange, RowId, Slot, Source};
use crate::graph::build::Table;
use crate::graph::context::ChildCheckpoints;
use crate::graph::error::RunError;
use crate::graph::records::{CheckpointInfo, Puts};
use crate::graph::state::{AnyState, AnyWrites, Mask, Merge, Payload, SETS, Storage};

/// The payload of a send.
#[derive(Clone)]
pub(crate) struct Packet {
    pub payload: Arc<dyn Payload>,
    pub row: RowId,
}

/// START waits with this input.
#[derive(Clone, Default)]
pub(crate) struct StartInput {
    pub writes: AnyWrites,
    pub stored: StoredWrites,
}

/// A checkpoint in memory.
#[derive(Clone)]
pub(crate) struct Position {
    pub meta: CheckpointInfo,
    pub state: AnyState,
    pub control: Control<Packet>,
    pub start: Option<Box<StartInput>>,
    pub channels: StoredChannels,
    /// The newest checkpoint of each subgraph with state of its own, by name.
    pub children: Vec<(String, CheckpointId)>,
}

/// The channels' values in the store.
#[derive(Clone)]
pub(crate) struct StoredChannels {
    pub slots: Vec<Slot>,
    /// The size of each channel's value in bytes, and their sum; 0 without a store.
    pub sizes: Vec<u64>,
    pub bytes: u64,
    /// The checkpoint with the last complete map of channels; `moved` are the changes since.
    pub base: Option<CheckpointId>,
    pub moved: Mask,
    /// The first checkpoint of this line: log ranges are joined from there on.
    pub line: CheckpointId,
    /// Rows that no slot refers to any more.
    pub freed: Vec<RowId>,
    /// Values of channels that this version of the graph does not have.
    pub unknown: Vec<CarriedRecord>,
    /// Channels whose rule another version of the graph had: their values are rewritten with the next checkpoint.
    pub stale: Mask,
    /// Records that the next checkpoint stores for the same reason.
    pub pending_rewrites: Puts,
    /// The entries of logs that are in no chunk yet, by channel.
    pub tails: BTreeMap<usize, LogTail>,
    /// Chunks that the next checkpoint stores, with their channels.
    pub chunks: Vec<(usize, FullChunk)>,
}

impl StoredChannels {
    fn empty(channels: usize) -> Self {
        Self {
            slots: vec![Slot::Absent; channels],
            sizes: vec![0; channels],
            bytes: 0,
            base: None,
            moved: Mask::default(),
            line: CheckpointId(0),
            freed: vec![],
            unknown: vec![],
            stale: Mask::default(),
            pending_rewrites: vec![],
            tails: BTreeMap::new(),
            chunks: vec![],
        }
    }
}

/// The result of a finished task.
#[derive(Default)]
pub(crate) struct FinishedResult {
    pub writes: AnyWrites,
    pub stored: StoredWrites,
    pub routing: Routing,
    /// Set if it was taken from the cache.
    pub cached: bool,
    /// Set once its records are in the store.
    pub saved: bool,
    pub children: Vec<(String, CheckpointId)>,
    /// The node's return value as JSON, for routers that read it beneath the state.
    pub returned: Option<Arc<Map<String, JsonValue>>>,
}

impl FinishedResult {
    /// Empties it.
    pub(crate) fn clear(&mut self) {
        let Self { writes, stored, routing, cached, saved, children, returned } = self;
        writes.0.clear();
        stored.clear();
        routing.targets.clear();
        routing.sends.clear();
        (routing.chosen, routing.fires, routing.is_done) = ((0, 0), true, false);
        children.clear();
        (*cached, *saved, *returned) = (false, false, None);
    }

    /// Returns a copy of what it wrote and where it leads.
    pub(crate) fn result(&self) -> Self {
        Self { writes: self.writes.clone(), routing: self.routing.clone(), ..Self::default() }
    }
}

/// The nodes and sends that a finished task starts.
#[derive(Clone)]
pub(crate) struct Routing {
    /// Nodes, from routers and goto.
    pub targets: Vec<u32>,
    pub sends: Vec<(u32, Packet)>,
    /// The number of targets and of sends that the body chose itself.
    pub chosen: (u32, u32),
    /// Cleared for a node whose error handler took over: its plain edges do not fire.
    pub fires: bool,
    /// Set once the routers have chosen.
    pub is_done: bool,
}

impl Default for Routing {
    fn default() -> Self {
        Self { targets: vec![], sends: vec![], chosen: (0, 0), fires: true, is_done: false }
    }
}

impl Position {
    /// Returns the position of a thread before its first run.
    pub(crate) fn empty(table: &Table) -> Self {
        Self::with_state(table, table.schema.empty())
    }

    pub(crate) fn with_state(table: &Table, state: AnyState) -> Self {
        Self {
            meta: CheckpointInfo {
                id: CheckpointId(0),
                parent: None,
                source: Source::Input,
                step: -2,
                created_at: 0,
                metadata: vec![],
            },
            state,
            control: Control::default(),
            start: None,
            channels: StoredChannels::empty(table.schema.channels().len()),
            children: vec![],
        }
    }

    /// Returns the newest checkpoints of subgraphs with state of their own.
    pub(crate) fn child_checkpoints(&self) -> ChildCheckpoints {
        if self.children.is_empty() { None } else { Some(Arc::new(self.children.clone())) }
    }

    /// Notes the newest checkpoint of a subgraph with state of its own.
    pub(crate) fn keep_child(&mut self, name: String, at: CheckpointId) {
        self.children.retain(|(known, _)| *known != name);
        self.children.push((name, at));
    }

    /// Notes that channels were emptied.
    pub(crate) fn empty_slots(&mut self, emptied: &Mask) {
        for channel in emptied.iter() {
            self.channels.moved.insert(channel);
            self.channels.tails.remove(&channel);
            self.channels.slots[channel] = Slot::Absent;
            self.weigh(channel, 0);
        }
    }

    /// Notes how many bytes a channel's value has in the store.
    pub(crate) fn weigh(&mut self, channel: usize, bytes: u64) {
        self.channels.bytes = self.channels.bytes - self.channels.sizes[channel] + bytes;
        self.channels.sizes[channel] = bytes;
    }

    /// Fails if the state has become larger than it may be.
    pub(crate) fn check_size(&self, table: &Table, limit: u64) -> Result<(), RunError> {
        if self.channels.bytes <= limit {
            return Ok(());
        }
        let largest = (0..self.channels.sizes.len()).max_by_key(|&at| self.channels.sizes[at]).unwrap_or_default();
        let (channel, most) = (table.channel(largest).to_owned(), self.channels.sizes[largest]);
        Err(RunError::StateTooLarge { bytes: self.channels.bytes, limit, channel, most })
    }

    /// Returns true if this position is stored as a checkpoint.
    pub(crate) fn is_stored(&self) -> bool {
        self.meta.id != CheckpointId(0)
    }

    /// Follows a task's rows into the slots of their channels.
    pub(crate) fn keep_rows(&mut self, table: &Table, stored: &StoredWrites, taken: &mut Mask) {
        let (channels, mut chunked) = (table.schema.channels(), &*stored.chunked);
        for (write, &size) in stored.rows.iter().zip(&stored.sizes) {
            let Some(row) = write.row else { continue };
            let at = write.channel as usize;
            if let Some(carried) = at.checked_sub(channels.len()) {
                self.keep_carried(carried, write.overwrite, row, size);
                continue;
            }
            self.channels.moved.insert(at);
            let kind = channels[at].storage();
            let mut entry = None;
            if is_chunked(kind, write.overwrite, size) {
                entry = chunked.split_at_checked(size as usize).map(|(entry, rest)| {
                    chunked = rest;
                    entry
                });
            }
            match kind {
                Storage::Never | Storage::Full => {}
                Storage::Value => {
                    self.place(at, row);
                    self.weigh(at, size);
                }
                Storage::Log | Storage::Delta if taken.contains(at) => {} // an overwrite came before
                Storage::Log | Storage::Delta if write.overwrite => {
                    taken.insert(at);
                    self.set_log(at, row, size);
                    self.weigh(at, size);
                }
                Storage::Log | Storage::Delta => self.extend_log(at, (row, size), entry),
            }
        }
    }

    fn place(&mut self, at: usize, row: RowId) {
        if let Slot::Row(old) = std::mem::replace(&mut self.channels.slots[at], Slot::Row(row)) {
            self.channels.freed.push(old);
        }
    }

    /// Begins a log with a value.
    fn set_log(&mut self, at: usize, full: RowId, full_bytes: u64) {
        self.channels.tails.remove(&at);
        self.channels.slots[at] = Slot::Log { full: Some(full), full_bytes, ranges: vec![] };
    }

    fn extend_log(&mut self, at: usize, (row, size): (RowId, u64), entry: Option<&[u8]>) {
        if !matches!(self.channels.slots[at], Slot::Log { .. }) {
            self.channels.slots[at] = Slot::Log { full: None, full_bytes: 0, ranges: vec![] };
            self.weigh(at, 0);
        }
        self.weigh(at, self.channels.sizes[at] + size);
        let Slot::Log { ranges, .. } = &mut self.channels.slots[at] else { return };
        let before = ranges.len();
        extend(ranges, self.channels.line, row, size);
        if ranges.len() > before {
            self.channels.tails.remove(&at); // other branches may have entries in between
        }
        let chunk = self.channels.tails.entry(at).or_default().push(row, entry);
        self.channels.chunks.extend(chunk.map(|chunk| (at, chunk)));
    }

    /// Encodes the channels that are stored after the reduce, and log channels whose entries outgrew their value.
    pub(crate) fn encode_reduced(
        &mut self,
        table: &Table,
        changed: &Mask,
        made_by: CheckpointId,
        puts: &mut Puts,
    ) -> Result<(), RunError> {
        let channels = table.schema.channels();
        for at in changed.iter() {
            let stored = channels[at].storage();
            let set = table.schema.is_kept(&self.state, at);
            let full = match stored {
                Storage::Never => continue,
                _ if !set => {
                    self.channels.moved.insert(at);
                    self.channels.slots[at] = Slot::Absent;
                    self.weigh(at, 0);
                    continue;
                }
                Storage::Full => true,
                Storage::Value | Storage::Log => false,
                Storage::Delta => is_outgrown(&self.channels.slots[at]),
            };
            if full {
                let row = RowId { checkpoint: made_by, task: RowId::REDUCED, slot: at as u32 };
                let bytes = table.schema.encode_channel(&self.state, at)?;
                self.channels.moved.insert(at);
                self.weigh(at, bytes.len() as u64);
                match stored {
                    Storage::Delta => self.set_log(at, row, bytes.len() as u64),
                    _ => self.place(at, row),
                }
                puts.push((Key::Row(row), bytes.into()));
            }
        }
        Ok(())
    }

    /// Applies a write to a channel that this version of the graph does not declare. Reduced writes are dropped.
    fn keep_carried(&mut self, at: usize, overwrite: bool, row: RowId, size: u64) {
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
            self.channels.slots[at] = match table.schema.channels()[at].storage() {
                Storage::Log | Storage::Delta => {
                    Slot::Log { full: Some(row), full_bytes: bytes.len() as u64, ranges: vec![] }
                }
                Storage::Value | Storage::Full => Slot::Row(row),
                Storage::Never => continue,
            };
            puts.push((Key::Row(row), bytes.into()));
        }
        Ok(())
    }
}

fn extend(ranges: &mut Vec<LogRange>, line: CheckpointId, row: RowId, size: u64) {
    match ranges.last_mut() {
        // The result of a fork's source is stored under the checkpoint of its task, before this line.
        Some(range) if range.log.is_none() && range.last.checkpoint >= line && row > range.last => {
            range.last = row;
            range.count += 1;
            range.bytes += size;
        }
        _ => ranges.push(LogRange { log: None, first: row, last: row, count: 1, bytes: size }),
    }
}

fn is_outgrown(slot: &Slot) -> bool {
    let Slot::Log { full_bytes, ranges, .. } = slot else { return false };
    ranges.iter().map(|range| range.bytes).sum::<u64>() > (*full_bytes).max(4096)
}

/// The state after the writes of these results; none without results, or if they cannot be applied.
pub(crate) fn merge_results(table: &Table, state: &AnyState, done: &[&FinishedResult]) -> Option<(AnyState, Merge)> {
    if done.is_empty() {
        return None;
    }
    let (mut merged, mut merge) = (state.clone(), Merge::default());
    let writes = done.iter().flat_map(|done| done.writes.0.iter().cloned());
    apply_writes(table, &mut merged, writes, &mut merge).ok()?;
    Some((merged, merge))
}
