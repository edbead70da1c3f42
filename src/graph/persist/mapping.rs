//! The mapping of stored indexes for a typed graph: the keys and rules of its channels.

use std::sync::Mutex;

use super::save::{log_of, row_key};
use super::settled::taken_as;
use crate::checkpoint::{
    CarriedRecord, ChannelShape, CheckpointId, CheckpointRecord, Key, RowId, SendRecord, Slot, TaskRecord, WriteRecord,
};
use crate::graph::build::Table;
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::records::mapping::{claims, logged};
use crate::graph::records::{Claim, Mapping, Other, Reader, StoredChannel};

impl Mapping {
    /// Returns the mapping of records that the present graph has stored.
    pub(crate) fn same(table: &Table, at: CheckpointId, carried: Vec<CarriedRecord>) -> Self {
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
            Some(stored) => logged(&stored.channel, &stored.log, overwrite, row),
            None => self.present_key(table, path, channel, overwrite, row),
        }
    }

    /// Returns the key of a write's value in the present graph.
    pub(crate) fn present_key(&self, table: &Table, path: &str, channel: u32, overwrite: bool, row: RowId) -> Key {
        let Some(carried) = channel.checked_sub(self.channels as u32) else {
            return row_key(table, path, channel as usize, overwrite, row);
        };
        let carried = self.carried.get(carried as usize);
        carried.map_or(Key::Row(row), |carried| logged(&carried.channel, &carried.log, overwrite, row))
    }

    /// Returns a task's record in present indexes.
    pub(crate) fn translated(&self, table: &Table, record: &TaskRecord) -> TaskRecord {
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
            return Ok(Mapping::same(table, at, record.carried.clone()));
        }
        let shape = self.shape(record).await?;
        let log = |channel: &ChannelShape| log_of(&record.namespace, &channel.name);
        let live = shape.channels.iter().map(|channel| StoredChannel { log: log(channel), channel: channel.clone() });
        let carried = record.carried.iter();
        let carried =
            carried.map(|carried| StoredChannel { log: carried.log.clone(), channel: carried.channel.clone() });
        let stood: Vec<StoredChannel> = live.chain(carried).collect();
        let claims = claims(&stood, known, &table.schema.removed());
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
