//! Stored records that belong to a thread as a whole: the names behind the indexes of all other records, its origin and
//! breakpoints, its tags, and the signals that it has not received.

use serde::{Deserialize, Serialize};
use superstep_base::Fnv;

use super::key::CheckpointId;
use super::leases::place::ThreadPlace;

/// Names behind the indexes of records, for one version of a graph. Stored once per thread, under its fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Channels in the order of their indexes.
    pub channels: Vec<ChannelShape>,
    /// Nodes in the order of their indexes, which is the order of their names.
    pub nodes: Vec<String>,
    /// Joins in the order of their indexes: sources and target.
    pub joins: Vec<(Vec<u32>, u32)>,
    /// Version that the graph declares.
    pub version: u32,
    /// Earlier versions as the graph declares them: former names of channels and nodes, and removed ones.
    pub past: Vec<String>,
}

/// One channel of a [`Shape`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelShape {
    /// Its name.
    pub name: String,
    /// The name of its type.
    pub type_name: String,
    /// The version of its schema.
    pub version: u32,
    /// Set for channels whose values are never shown and never leave the store.
    pub secret: bool,
    /// Name of the reducer.
    pub rule: String,
    /// Set if writes, apart from overwrites, are entries of a log.
    pub logged: bool,
}

impl Shape {
    /// Returns a number that identifies this version of the graph: FNV-1a over the names, the same on every machine and
    /// in every release.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv::new();
        let mut mix = |bytes: &[u8]| {
            hash.mix(bytes);
            hash.mix(&[0xff]);
        };
        for channel in &self.channels {
            mix(channel.name.as_bytes());
            mix(channel.type_name.as_bytes());
            mix(&channel.version.to_le_bytes());
            mix(&[u8::from(channel.secret), u8::from(channel.logged)]);
            mix(channel.rule.as_bytes());
        }
        mix(&self.version.to_le_bytes());
        self.past.iter().for_each(|words| mix(words.as_bytes()));
        self.nodes.iter().for_each(|node| mix(node.as_bytes()));
        for (sources, target) in &self.joins {
            sources.iter().chain([target]).for_each(|node| mix(&node.to_le_bytes()));
        }
        hash.finish()
    }
}

/// Properties of a thread as a whole. Written with its first checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutRecord {
    /// Name of the graph.
    pub graph: String,
    /// Time of the first write, in milliseconds since 1970.
    pub created_at: u64,
    /// Origin, if the thread was imported.
    pub foreign: Option<ForeignRecord>,
    /// Breakpoints of its runs, unless the caller sets others. Since format 4.
    pub stops: Vec<StopRecord>,
    /// Place that its work is bound to. Since format 6.
    pub place: Option<ThreadPlace>,
    /// Time of a request that a runner resumes it, in milliseconds since 1970; the next run removes it. Since format 6.
    pub requested_at: Option<u64>,
}

/// A breakpoint of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRecord {
    /// Node; `None`: every superstep.
    pub node: Option<String>,
    /// Set if runs stop after the node, not before it.
    pub after: bool,
}

/// Origin of an imported thread: it may be read and compared, but not run until a person trusts it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignRecord {
    /// Time of the import, in milliseconds since 1970.
    pub imported_at: u64,
    /// Set once a person trusts it, so that it may be run.
    pub trusted: bool,
}

impl ForeignRecord {
    /// Returns the effective origin of a thread with this record: while its whole store is untrusted, trust in the record
    /// does not count.
    pub(crate) fn effective(record: Option<Self>, is_store_foreign: bool) -> Option<Self> {
        if !is_store_foreign {
            return record;
        }
        let imported_at = record.map_or(0, |record| record.imported_at);
        Some(Self { imported_at, trusted: false })
    }
}

/// Tag that a person gave to a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagRecord {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// Time of tagging, in milliseconds since 1970.
    pub at: u64,
}

/// A signal that was sent to a thread and that no task has received yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRecord {
    /// Name of its type.
    pub name: String,
    /// Value, encoded like user values.
    pub value: Vec<u8>,
    /// Name of the sender.
    pub by: Option<String>,
    /// Time of sending, in milliseconds since 1970.
    pub at: u64,
    /// Note of the sender.
    pub note: Option<String>,
}

impl SignalRecord {
    /// Returns true if a wait for signals of this name, until a time in milliseconds since 1970, takes it: one that was sent
    /// later is none of it, whenever the task runs.
    pub(crate) fn is_for(&self, name: &str, until: Option<u64>) -> bool {
        self.name == name && until.is_none_or(|until| self.at <= until)
    }
}
