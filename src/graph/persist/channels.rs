//! The channels of a checkpoint, whichever version of the graph stored them: their slots and values, and the present indexes,
//! keys and rules of what is stored.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::save::{log_of, row_key};
use crate::checkpoint::{
    CarriedRecord, ChannelShape, CheckpointId, CheckpointRecord, Key, LogRange, RowId, SendRecord, Slot, TaskRecord,
    WriteRecord,
};
use crate::graph::build::Table;
use crate::graph::error::{Incompatibility, RunError, Unreadable};
use crate::graph::records::mapping::{claims, write_key};
use crate::graph::records::{Claim, KnownState, KnownValues, Mapping, Other, Puts, Reader, StoredChannel, growth};
use crate::graph::state::{AnySchema, AnyState, Channel, DecodeError, Mask, SETS, Storage};
use crate::graph::superstep::LogTail;

/// The channels of a checkpoint.
pub(crate) struct LoadedChannels {
    pub state: AnyState,
    pub slots: Vec<Slot>,
    /// Stored size of each channel's value in bytes, as far as it was read.
    pub sizes: Vec<u64>,
    /// Channels whose values must be stored again before anything is added to them.
    pub stale: Mask,
    /// Log entries under their present names, and chunks of entries, to be stored with the next checkpoint.
    pub owed: Puts,
    /// The entries of logs that are in no chunk yet, by channel, if a run continues from the state.
    pub tails: BTreeMap<usize, LogTail>,
    /// Channels that could not be read, if that is no error: they have their initial values, logs the entries before
    /// the first unreadable one.
    pub unread: Vec<Unreadable>,
}

/// The treatment of a channel that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadPolicy {
    /// An error: a run continues from the state.
    Whole,
    /// A noted incompatibility, and the other channels are read: the state is only shown.
    Shown,
}

impl LoadedChannels {
    /// Returns a state that this version of the graph has stored.
    pub(crate) fn of(slots: Vec<Slot>, state: AnyState) -> Self {
        let (sizes, tails) = (vec![0; slots.len()], BTreeMap::new());
        Self { state, sizes, slots, stale: Mask::default(), owed: vec![], tails, unread: vec![] }
    }

    /// Notes a channel that cannot be read, or returns the error.
    fn note_unread(&mut self, how: ReadPolicy, error: RunError) -> Result<(), RunError> {
        match (how, error) {
            (ReadPolicy::Shown, RunError::Unreadable(unread)) => {
                self.unread.push(*unread);
                Ok(())
            }
            (_, error) => Err(error),
        }
    }
}

impl Reader {
    /// Returns the slots of the present channels, and the values of unknown ones.
    pub(crate) async fn slots(
        &self,
        record: &CheckpointRecord,
        mapping: &Mapping,
    ) -> Result<(Vec<Slot>, Vec<CarriedRecord>), RunError> {
        let (mut slots, mut along) = (vec![Slot::Absent; mapping.channels()], mapping.carried.clone());
        let base = match record.base {
            Some(base) => {
                Some(self.record(base).await?.ok_or_else(|| self.damaged_error("checkpoint", "its base is missing"))?)
            }
            None => None,
        };
        let base = base.map(|base| base.channels).unwrap_or_default();
        let carried = record.carried.iter().enumerate();
        let carried = carried.map(|(at, carried)| (mapping.first_carried() + at as u32, carried.slot.clone()));
        for (at, slot) in base.into_iter().chain(record.channels.iter().cloned()).chain(carried) {
            match mapping.claim(at) {
                Claim::Channel(at) => slots[at as usize] = slot,
                Claim::Carried(at) => along[at as usize].slot = slot,
                Claim::Dropped => {}
            }
        }
        Ok((slots, along))
    }

    /// Returns a reader that keeps what it has read: for several checkpoints of a thread, in either order.
    pub(crate) fn keeping_values(mut self) -> Self {
        self.known = Some(KnownValues::default());
        self
    }

    /// Loads the state that slots describe. A reader that keeps values reads those that changed since the last one.
    pub(crate) async fn shared(
        &self,
        table: &Table,
        path: &str,
        slots: Vec<Slot>,
        mapping: &Mapping,
        how: ReadPolicy,
    ) -> Result<LoadedChannels, RunError> {
        let Some(known) = self.known.as_ref().filter(|_| mapping.is_same()) else {
            return self.read_state(table, path, slots, mapping, how).await;
        };
        let last = known.get(path);
        if let Some(last) = last.as_ref().filter(|last| last.slots == slots) {
            let sizes = last.sizes.clone();
            return Ok(LoadedChannels { sizes, ..LoadedChannels::of(slots, last.state.clone()) });
        }
        let (mut settled, mut read, grown) = after(&table.schema, slots.clone(), last.as_deref());
        for (at, range) in grown {
            if let Err(error) = self.apply_range(table, path, (mapping.at, at), &range, &mut settled.state).await {
                settled.note_unread(how, error)?;
            }
        }
        if let Some(last) = &last {
            self.shorten(table, path, last, &mut settled, &mut read).await?;
        }
        let settled = self.settle(table, (path, mapping), settled, &read, how).await?;
        if settled.unread.is_empty() {
            let (state, sizes) = (settled.state.clone(), settled.sizes.clone());
            known.keep(path, KnownState { state, slots, sizes });
        }
        Ok(settled)
    }

    /// Takes lists from the newer state that was read last, without the entries that were added since.
    async fn shorten(
        &self,
        table: &Table,
        path: &str,
        last: &KnownState,
        settled: &mut LoadedChannels,
        read: &mut Mask,
    ) -> Result<(), RunError> {
        let channels: Vec<usize> = read.iter().collect();
        for at in channels {
            let Some(added) = last.slots.get(at).and_then(|newer| growth(&settled.slots[at], newer)) else { continue };
            if self.truncate_list(table, path, at, (&last.state, &added), &mut settled.state).await? {
                settled.sizes[at] = last.sizes[at].saturating_sub(added.iter().map(|range| range.bytes).sum());
                read.remove(at);
            }
        }
        Ok(())
    }

    /// Loads the state that slots describe.
    pub(crate) async fn read_state(
        &self,
        table: &Table,
        path: &str,
        slots: Vec<Slot>,
        mapping: &Mapping,
        how: ReadPolicy,
    ) -> Result<LoadedChannels, RunError> {
        let all = (0..slots.len()).collect();
        let settled = LoadedChannels::of(slots, table.schema.empty());
        self.settle(table, (path, mapping), settled, &all, how).await
    }

    /// Reads channels of a state.
    async fn settle(
        &self,
        table: &Table,
        (path, mapping): (&str, &Mapping),
        mut settled: LoadedChannels,
        read: &Mask,
        how: ReadPolicy,
    ) -> Result<LoadedChannels, RunError> {
        self.values(table, mapping, &mut settled, read, how).await?;
        for at in read.iter().filter(|at| *at < table.schema.channels().len()) {
            if let Err(error) = self.logs(table, path, at, (mapping, how), &mut settled).await {
                settled.note_unread(how, error)?;
            }
        }
        Ok(settled)
    }

    /// Reads the values that are stored in a single row.
    async fn values(
        &self,
        table: &Table,
        mapping: &Mapping,
        settled: &mut LoadedChannels,
        read: &Mask,
        how: ReadPolicy,
    ) -> Result<(), RunError> {
        let channels = table.schema.channels();
        let (mut keys, mut places) = (vec![], vec![]);
        for (at, slot) in settled.slots.iter_mut().enumerate() {
            if channels[at].storage() == Storage::Never {
                *slot = Slot::Absent;
            }
            match slot {
                _ if !read.contains(at) => {}
                Slot::Log { ranges, .. } if !ranges.is_empty() && mapping.needs_fold(at, &channels[at]) => {}
                Slot::Row(row) | Slot::Log { full: Some(row), .. } => {
                    keys.push(Key::Row(*row));
                    places.push(at);
                }
                Slot::Absent | Slot::Log { full: None, .. } => {}
            }
        }
        for (at, bytes) in places.into_iter().zip(self.rows(keys).await?) {
            if let Err(misread) = table.schema.decode_channel(&mut settled.state, at, &bytes) {
                settled.note_unread(how, self.unreadable_error(&channel(table, at), mapping.at, misread))?;
            }
            settled.sizes[at] = bytes.len() as u64;
            reshape(&mut settled.slots[at], channels[at].storage(), bytes.len());
        }
        Ok(())
    }

    pub(crate) fn unreadable_error(&self, what: &str, checkpoint: CheckpointId, misread: DecodeError) -> RunError {
        RunError::Unreadable(Box::new(self.unreadable_value(what, checkpoint, misread)))
    }

    pub(crate) fn unreadable_value(&self, what: &str, checkpoint: CheckpointId, misread: DecodeError) -> Unreadable {
        let DecodeError { stored, stored_version, expected, expected_version, reason } = misread;
        let (what, thread) = (what.to_owned(), self.thread.clone());
        Unreadable { what, thread, checkpoint, stored, stored_version, expected, expected_version, reason }
    }
}

/// Entries that a list has grown by, and its channel.
type AddedRanges = Vec<(usize, LogRange)>;

/// Returns a state with the values that are where they were in the `last` one, the channels to read, and the entries that
/// were added to the others since.
fn after(schema: &AnySchema, slots: Vec<Slot>, last: Option<&KnownState>) -> (LoadedChannels, Mask, AddedRanges) {
    let mut settled = LoadedChannels::of(slots, schema.empty());
    let all: Mask = (0..settled.slots.len()).collect();
    let Some(last) = last else { return (settled, all, vec![]) };
    let (mut kept, mut read, mut grown) = (Mask::default(), Mask::default(), vec![]);
    for at in all.iter() {
        match last.slots.get(at).and_then(|before| added_since(before, &settled.slots[at])) {
            Some(added) => {
                kept.insert(at);
                settled.sizes[at] = last.sizes[at] + added.iter().map(|range| range.bytes).sum::<u64>();
                grown.extend(added.into_iter().map(|range| (at, range)));
            }
            None => drop(read.insert(at)),
        }
    }
    if schema.reset(&mut settled.state, &kept, &last.state) {
        return (settled, read, grown);
    }
    (LoadedChannels::of(settled.slots, schema.empty()), all, vec![])
}

/// Returns the entries that were added to a value; `None` if it is another one.
fn added_since(before: &Slot, now: &Slot) -> Option<Vec<LogRange>> {
    if before == now { Some(vec![]) } else { growth(before, now) }
}

/// Returns the name of a channel for errors.
pub(super) fn channel(table: &Table, at: usize) -> String {
    format!("channel `{}`", table.channel(at))
}

/// Converts the slot of a value to the channel's present storage kind.
fn reshape(slot: &mut Slot, stored: Storage, bytes: usize) {
    match (&*slot, stored.is_logged()) {
        (Slot::Row(row), true) => *slot = Slot::Log { full: Some(*row), full_bytes: bytes as u64, ranges: vec![] },
        (Slot::Log { full: Some(row), ranges, .. }, false) if ranges.is_empty() => *slot = Slot::Row(*row),
        _ => {}
    }
}

impl Mapping {
    /// Returns the mapping of records that the present graph has stored.
    pub(crate) fn identity(table: &Table, at: CheckpointId, carried: Vec<CarriedRecord>) -> Self {
        let (channels, nodes) = (table.schema.channels().len(), table.nodes.len());
        Self { at, other: None, channels, nodes, carried, noted: Mutex::default() }
    }

    /// Returns the present name of a stored node, or its stored name.
    pub(crate) fn name_now(&self, table: &Table, at: u32) -> String {
        self.node(at).map_or_else(|name| name, |at| table.row(at).name.to_string())
    }

    /// Returns true if a stored write replaces the value of its present channel; none if the channel cannot apply it.
    pub(crate) fn taken_as(&self, table: &Table, write: &WriteRecord) -> Option<bool> {
        let (Some(stored), Some(now)) = (self.stored_channel(write.channel), self.channel(write.channel)) else {
            return Some(write.overwrite);
        };
        let now = &table.schema.channels()[now as usize];
        let taken = taken_as(&stored.channel, now, write.overwrite);
        if taken.is_none() {
            let (channel, stored) = (now.name().to_owned(), stored.channel.rule.clone());
            self.note(Incompatibility::Rule { channel, stored, expected: now.rule_name().to_owned() });
        }
        taken
    }

    /// Returns the stored key of a write's value, by the present index of its channel.
    pub(crate) fn row_key(&self, table: &Table, path: &str, channel: u32, overwrite: bool, row: RowId) -> Key {
        match self.source(channel) {
            Some(stored) => write_key(&stored.channel, &stored.log, overwrite, row),
            None => self.present_key(table, path, channel, overwrite, row),
        }
    }

    /// Returns the key of a write's value in the present graph.
    pub(crate) fn present_key(&self, table: &Table, path: &str, channel: u32, overwrite: bool, row: RowId) -> Key {
        let Some(carried) = channel.checked_sub(self.channels as u32) else {
            return row_key(table, path, channel as usize, overwrite, row);
        };
        let carried = self.carried.get(carried as usize);
        carried.map_or(Key::Row(row), |carried| write_key(&carried.channel, &carried.log, overwrite, row))
    }

    /// Returns a task's record in present indexes.
    pub(crate) fn translate(&self, table: &Table, record: &TaskRecord) -> TaskRecord {
        let write = |write: &WriteRecord| {
            let (channel, overwrite) = (self.noted_as(write.channel)?, self.taken_as(table, write)?);
            Some(WriteRecord { channel, overwrite, ..*write })
        };
        let send = |send: &SendRecord| Some(SendRecord { node: self.node(send.node).ok()?, ..*send });
        let children = record.children.iter().map(|(name, at)| (table.name_now(name.clone()), *at));
        TaskRecord {
            writes: record.writes.iter().filter_map(write).collect(),
            targets: record.targets.iter().filter_map(|at| self.node(*at).ok()).collect(),
            sends: record.sends.iter().filter_map(send).collect(),
            children: children.collect(),
            ..record.clone()
        }
    }

    /// Returns true if the log of a channel was written under another rule, so that its entries are no writes of the
    /// present one.
    pub(crate) fn needs_fold(&self, at: usize, now: &Channel) -> bool {
        self.source(at as u32).is_some_and(|source| source.channel.rule != now.rule_name())
    }
}

/// Returns true if a write stored under one rule replaces the value under the present one; none if it cannot be
/// applied.
fn taken_as(stored: &ChannelShape, now: &Channel, overwrite: bool) -> Option<bool> {
    let sets = |rule: &str| SETS.contains(&rule);
    match (sets(&stored.rule), sets(now.rule_name())) {
        _ if stored.rule == now.rule_name() => Some(overwrite),
        (true, true) => Some(overwrite),
        (true, false) => Some(true),
        (false, true) => overwrite.then_some(false),
        (false, false) => overwrite.then_some(true),
    }
}

impl Reader {
    pub(crate) async fn mapping(
        &self,
        table: &Table,
        at: CheckpointId,
        record: &CheckpointRecord,
    ) -> Result<Mapping, RunError> {
        let known = table.schema.channels();
        if record.shape == table.identity.fingerprint {
            return Ok(Mapping::identity(table, at, record.carried.clone()));
        }
        let shape = self.shape(record).await?;
        let log = |channel: &ChannelShape| log_of(&record.namespace, &channel.name);
        let live = shape.channels.iter().map(|channel| StoredChannel { log: log(channel), channel: channel.clone() });
        let carried = record.carried.iter();
        let carried =
            carried.map(|carried| StoredChannel { log: carried.log.clone(), channel: carried.channel.clone() });
        let stood: Vec<StoredChannel> = live.chain(carried).collect();
        let claims = claims(&stood, known, &table.schema.removed_channels());
        let nodes = shape.nodes.iter().map(|name| table.now(name)).collect();
        let carried = stood.iter().zip(&claims).filter(|(_, claim)| matches!(claim, Claim::Carried(_)));
        let carried = carried.map(|(stood, _)| CarriedRecord {
            channel: stood.channel.clone(),
            log: stood.log.clone(),
            slot: Slot::Absent,
        });
        let mapping = Mapping {
            at,
            channels: known.len(),
            nodes: table.nodes.len(),
            carried: carried.collect(),
            noted: Mutex::default(),
            other: Some(Other { claims, nodes, stood, shape }),
        };
        if table.identity.pinned {
            mapping.note(Incompatibility::Pinned { stored: record.shape, now: table.identity.fingerprint });
        }
        Ok(mapping)
    }
}
