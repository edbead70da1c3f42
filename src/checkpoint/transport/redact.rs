//! Removes secret channels from a thread: nothing refers to their stored values any more. Pure.
//!
//! A channel is removed wherever any version of the graph or of a subgraph marks a channel of its name as secret. Other
//! data is not inspected: payloads of sends, questions, answers, effects, events, errors.

use std::collections::BTreeSet;

use crate::checkpoint::{ChannelShape, CheckpointRecord, Slot, TaskRecord, WriteRecord};

/// Names of secret channels.
#[derive(Debug, Default)]
pub(super) struct Secrets(BTreeSet<String>);

impl Secrets {
    /// Adds the secret ones among channels.
    pub(super) fn note<'a>(&mut self, channels: impl IntoIterator<Item = &'a ChannelShape>) {
        let secret = channels.into_iter().filter(|channel| channel.secret && !self.0.contains(&channel.name));
        let names: Vec<String> = secret.map(|channel| channel.name.clone()).collect();
        self.0.extend(names);
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }

    /// Removes secret channels from a checkpoint; `channels` are those behind its indexes. Returns whether there are any.
    pub(super) fn remove(&self, channels: &[&ChannelShape], record: &mut CheckpointRecord) -> bool {
        let secret = self.indexes(channels);
        let own = record.channels.iter_mut().filter(|(at, _)| secret.contains(at));
        own.for_each(|(_, slot)| *slot = Slot::Absent);
        let carried = record.carried.iter_mut().filter(|carried| carried.channel.secret);
        carried.for_each(|carried| carried.slot = Slot::Absent);
        record.control.start.iter_mut().flatten().for_each(|write| forget(&secret, write));
        !secret.is_empty()
    }

    /// Removes secret channels from a task's writes; `channels` are those of its checkpoint. Returns whether there are any.
    pub(super) fn remove_writes(&self, channels: &[&ChannelShape], record: &mut TaskRecord) -> bool {
        let secret = self.indexes(channels);
        record.writes.iter_mut().for_each(|write| forget(&secret, write));
        !secret.is_empty()
    }

    fn indexes(&self, channels: &[&ChannelShape]) -> BTreeSet<u32> {
        if self.0.is_empty() {
            return BTreeSet::new();
        }
        let channels = (0..).zip(channels);
        channels.filter(|(_, channel)| self.0.contains(&channel.name)).map(|(at, _)| at).collect()
    }
}

/// Removes the value of a write to a secret channel; a write without a row is one of a channel that is never stored.
fn forget(secret: &BTreeSet<u32>, write: &mut WriteRecord) {
    if secret.contains(&write.channel) {
        write.row = None;
    }
}
