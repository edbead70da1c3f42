//! Stored record of a checkpoint: where its values are, and what runs next. Refers to names by their index in a
//! [`Shape`](super::Shape); user values are stored beside it as rows of bytes.
//!
//! Fields exist from the first format on, unless they say since when; one that is marked reserved is filled by later
//! releases.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_base::gather;

use super::key::{CheckpointId, RowId};
use super::thread_record::{ChannelShape, Shape};

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointRecord {
    /// Checkpoint that it follows.
    pub parent: Option<CheckpointId>,
    /// Subgraph that it belongs to; empty for the root graph.
    pub namespace: String,
    /// Reason for it.
    pub source: Source,
    /// Position in the parent chain; -1 for the first input.
    pub step: i64,
    /// Time of creation, in milliseconds since 1970.
    pub created_at: u64,
    /// Fingerprint of the [`Shape`](super::Shape) of all indexes.
    pub shape: u64,
    /// Epoch of the lease under which it was made.
    pub epoch: u64,
    /// First checkpoint of its branch: from here on no other branch has numbers in between, so log ranges may be
    /// merged.
    pub line: CheckpointId,
    /// Scheduling state: what runs next.
    pub control: ControlRecord,
    /// Checkpoint whose channel map is updated by `channels`; `None` if `channels` is complete.
    pub base: Option<CheckpointId>,
    /// Location of each channel's value.
    pub channels: Vec<(u32, Slot)>,
    /// Stored channels that this version of the graph does not declare, complete. Their indexes follow those of the
    /// shape.
    pub carried: Vec<CarriedRecord>,
    /// Newest checkpoint of each subgraph with persistent state of its own, by node.
    pub children: Vec<(String, CheckpointId)>,
    /// Metadata of the user.
    pub metadata: Vec<(String, String)>,
    /// Reserved: kinds of journals stored for this superstep.
    pub journals: Vec<u8>,
    /// The part of `control` that commands scheduled. Since format 5.
    pub gotos: Vec<GotoRecord>,
}

/// Reason for a checkpoint. LangGraph: `metadata.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A run started with new input.
    Input,
    /// A superstep ended.
    Loop,
    /// `update_state` wrote the state.
    Update,
    /// A branch started at an older checkpoint.
    Fork,
}

impl Source {
    /// Returns LangGraph's word for it, as used in JSON and text: `input`, `loop`, `update`, `fork`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Loop => "loop",
            Self::Update => "update",
            Self::Fork => "fork",
        }
    }
}

/// Stored channel that this version of the graph does not declare; kept unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedRecord {
    /// The channel as it was declared.
    pub channel: ChannelShape,
    /// Name of the log that holds its entries.
    pub log: String,
    /// Location of its value.
    pub slot: Slot,
}

/// Pending nodes and sends that one command scheduled with its `goto`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GotoRecord {
    /// The node that returned the command, `u32::MAX` for START; [`Self::CALLER`] for a command given to a run.
    pub by: u32,
    /// The nodes it scheduled.
    pub nodes: Vec<u32>,
    /// The first of its sends in `control`, and their number.
    pub sends: (u32, u32),
}

impl GotoRecord {
    /// The caller of a run, who is no node.
    pub const CALLER: u32 = (1 << 24) - 2;
}

/// Location of a channel's value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSlot", into = "StoredSlot")]
pub enum Slot {
    /// No value.
    #[default]
    Absent,
    /// One row.
    Row(RowId),
    /// A log: an optional full value, then entries.
    Log {
        /// Value before the entries.
        full: Option<RowId>,
        /// Size of that value in bytes.
        full_bytes: u64,
        /// Entries in order.
        ranges: Vec<LogRange>,
    },
}

/// A [`Slot`] as it is stored.
#[derive(Serialize, Deserialize)]
enum StoredSlot {
    Absent,
    Row(RowId),
    Log {
        full: Option<RowId>,
        full_bytes: u64,
        ranges: Vec<LogRange>,
    },
    /// A log whose first entries are in those of enclosing graphs: namespaces, each with the number of its ranges. Since
    /// format 5.
    Shared {
        full: Option<RowId>,
        full_bytes: u64,
        ranges: Vec<LogRange>,
        logs: Vec<(Arc<str>, u32)>,
    },
}

impl From<Slot> for StoredSlot {
    fn from(slot: Slot) -> Self {
        match slot {
            Slot::Absent => Self::Absent,
            Slot::Row(row) => Self::Row(row),
            Slot::Log { full, full_bytes, ranges } => {
                let shared = ranges.iter().map_while(|range| range.log.clone());
                let mut logs: Vec<(Arc<str>, u32)> = vec![];
                for log in shared {
                    match logs.last_mut().filter(|(last, _)| *last == log) {
                        Some((_, count)) => *count += 1,
                        None => logs.push((log, 1)),
                    }
                }
                match logs.is_empty() {
                    true => Self::Log { full, full_bytes, ranges },
                    false => Self::Shared { full, full_bytes, ranges, logs },
                }
            }
        }
    }
}

impl From<StoredSlot> for Slot {
    fn from(stored: StoredSlot) -> Self {
        match stored {
            StoredSlot::Absent => Self::Absent,
            StoredSlot::Row(row) => Self::Row(row),
            StoredSlot::Log { full, full_bytes, ranges } => Self::Log { full, full_bytes, ranges },
            StoredSlot::Shared { full, full_bytes, mut ranges, logs } => {
                let logs = logs.into_iter().flat_map(|(log, count)| (0..count).map(move |_| log.clone()));
                ranges.iter_mut().zip(logs).for_each(|(range, log)| range.log = Some(log));
                Self::Log { full, full_bytes, ranges }
            }
        }
    }
}

/// Consecutive entries of a log channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRange {
    /// Namespace of the enclosing graph whose log holds them; `None`: they are in the channel's own. A subgraph over its
    /// parent's state begins with the parent's entries.
    #[serde(skip)]
    pub log: Option<Arc<str>>,
    /// First entry.
    pub first: RowId,
    /// Last entry.
    pub last: RowId,
    /// Number of entries; any other number found is damage.
    pub count: u32,
    /// Size of the entries in bytes.
    pub bytes: u64,
}

/// Scheduling state: nodes, joins and sends that are pending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlRecord {
    /// Number of channel changes so far. LangGraph: the greatest channel version.
    pub version: u64,
    /// Pending input of START.
    pub start: Option<Vec<WriteRecord>>,
    /// Nodes triggered by an edge, with the version at which they were.
    pub ready: Vec<(u32, u64)>,
    /// Triggered deferred nodes: node, version, and whether nothing else has been left to run since.
    pub deferred: Vec<(u32, u64, bool)>,
    /// Joins with at least one arrival.
    pub joins: Vec<(u32, JoinRecord)>,
    /// Sends that have not run.
    pub sends: Vec<SendRecord>,
    /// The node that ran last: its version, the node, and whether another one has the same version.
    pub last_ran: Option<(u64, u32, bool)>,
}

impl ControlRecord {
    /// Index of the virtual first node.
    pub(crate) const START: u32 = u32::MAX;

    /// Returns the nodes that edges start, deferred ones included, without the targets of joins.
    pub(crate) fn triggered_nodes(&self) -> BTreeSet<u32> {
        let ready = self.ready.iter().map(|(node, _)| *node);
        gather(
            ready
                .chain(self.deferred.iter().map(|(node, ..)| *node))
                .chain(self.start.is_some().then_some(Self::START)),
        )
    }

    /// Returns true if something has arrived at a join.
    pub(crate) fn has_arrivals(&self) -> bool {
        self.joins.iter().any(|(_, join)| arrival_count(join) > 0)
    }

    /// Returns the targets of complete joins; `known`: the number of sources of each join of the graph, and its target.
    pub(crate) fn complete_joins(&self, known: impl Fn(usize) -> Option<(usize, u32)>) -> Vec<u32> {
        let complete = self.joins.iter().filter_map(|(at, join)| {
            let (sources, target) = known(*at as usize)?;
            (arrival_count(join) == sources).then_some(target)
        });
        complete.collect()
    }

    /// Returns true if nothing is planned, whatever the graph is.
    pub(crate) fn plans_nothing(&self) -> bool {
        let nodes = self.ready.is_empty() && self.deferred.is_empty() && self.start.is_none();
        nodes && self.sends.is_empty() && !self.has_arrivals()
    }

    /// Returns true if nothing runs next. A deferred node that the end did not release stays where it is.
    pub(crate) fn is_over(&self, shape: &Shape) -> bool {
        let waits = self.deferred.iter().any(|(.., finished)| *finished);
        let sources = |at: usize| shape.joins.get(at).map(|(sources, target)| (sources.len(), *target));
        let joined = !self.complete_joins(sources).is_empty();
        self.start.is_none() && self.ready.is_empty() && self.sends.is_empty() && !waits && !joined
    }
}

fn arrival_count(join: &JoinRecord) -> usize {
    join.arrived.iter().map(|word| word.count_ones() as usize).sum()
}

/// A join with some or all of its arrivals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRecord {
    /// Bit set of the sources that have arrived.
    pub arrived: Vec<u64>,
    /// Version of the last arrival.
    pub version: u64,
    /// For a deferred target: set once nothing else was left to run after the join was complete. For any other: set if
    /// the target had run in the superstep of the last arrival.
    pub finished: bool,
}

/// A send that has not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendRecord {
    /// The worker.
    pub node: u32,
    /// Location of its payload.
    pub payload: RowId,
}

/// One write of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRecord {
    /// The channel.
    pub channel: u32,
    /// Set if it replaces the value of a reduced channel.
    pub overwrite: bool,
    /// Location of its value: a log entry if the channel is stored as a log, else a row; `None` if it is never stored.
    pub row: Option<RowId>,
}
