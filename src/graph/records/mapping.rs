//! Stored indexes to present ones: the same for the same shape, by name for another version of the graph.

use std::sync::{Mutex, PoisonError};

use crate::checkpoint::{
    CarriedRecord, ChannelShape, CheckpointId, CheckpointRecord, Key, RowId, SendRecord, Shape, Slot, TaskRecord,
    WriteRecord,
};

use super::claims::{Claim, Stood, claims};
use super::misfit::Misfit;
use super::reader::{Reader, Tasks};
use super::recorder::Puts;
use super::save::{log_of, row_key};
use super::settled::taken_as;
use crate::graph::channels::state::State;
use crate::graph::compile::table::Table;
use crate::graph::define::node::NodeId;
use crate::graph::run::control::START_NODE;
use crate::graph::run::error::RunError;
use crate::graph::run::task::{COMMAND_KEY, SENT};

/// How indexes of a stored shape map to those of the present graph, and what fits no more.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The checkpoint.
    pub at: CheckpointId,
    /// None: the same.
    pub(super) other: Option<Other>,
    /// How many channels the graph has; those that are carried along follow.
    channels: usize,
    /// How many nodes.
    nodes: usize,
    /// What is carried along, in the order of the present checkpoint.
    pub carried: Vec<CarriedRecord>,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    misfits: Vec<Misfit>,
    /// Tasks that cannot be planned: their stored keys, and the names of their nodes.
    lost: Vec<(u32, String)>,
    /// Values that stand elsewhere than the present graph looks for them.
    owed: Puts,
    /// The stored places of the sends that are left.
    sends: Option<Vec<u32>>,
}

#[derive(Debug)]
pub(super) struct Other {
    pub(super) shape: Shape,
    /// By stored index, carried ones included.
    stood: Vec<Stood>,
    pub(super) claims: Vec<Claim>,
    nodes: Vec<Option<u32>>,
}

impl Mapping {
    /// Of records that the present graph has made.
    pub(crate) fn same<S: State, N: NodeId, C>(
        table: &Table<S, N, C>,
        at: CheckpointId,
        carried: Vec<CarriedRecord>,
    ) -> Self {
        let (channels, nodes) = (S::channels(&table.schema).len(), table.nodes.len());
        Self { at, other: None, channels, nodes, carried, noted: Mutex::default() }
    }

    /// The present channel of a stored index; none if it has none.
    pub(crate) fn channel(&self, at: u32) -> Option<u32> {
        match self.claim(at) {
            Claim::Channel(at) => Some(at),
            Claim::Carried(_) | Claim::Dropped => None,
        }
    }

    /// How many channels the graph has.
    pub(crate) fn channels(&self) -> usize {
        self.channels
    }

    /// The stored index of the first channel that was carried along.
    pub(crate) fn first_carried(&self) -> u32 {
        self.other.as_ref().map_or(self.channels, |other| other.shape.channels.len()) as u32
    }

    /// What becomes of a stored channel.
    pub(crate) fn claim(&self, at: u32) -> Claim {
        match &self.other {
            Some(other) => other.claims.get(at as usize).copied().unwrap_or(Claim::Dropped),
            None => match at.checked_sub(self.channels as u32) {
                None => Claim::Channel(at),
                Some(carried) if (carried as usize) < self.carried.len() => Claim::Carried(carried),
                Some(_) => Claim::Dropped,
            },
        }
    }

    /// What a stored channel was, if it is another version's.
    pub(crate) fn stood(&self, at: u32) -> Option<&Stood> {
        self.other.as_ref()?.stood.get(at as usize)
    }

    /// The index under which the present graph notes a stored channel.
    pub(crate) fn noted_as(&self, at: u32) -> Option<u32> {
        match self.claim(at) {
            Claim::Channel(at) => Some(at),
            Claim::Carried(carried) => Some(self.channels as u32 + carried),
            Claim::Dropped => None,
        }
    }

    pub(crate) fn node(&self, at: u32) -> Result<u32, String> {
        let missing = || self.node_name(at);
        match &self.other {
            _ if at == START_NODE => Ok(at),
            Some(other) => other.nodes.get(at as usize).copied().flatten().ok_or_else(missing),
            None if (at as usize) < self.nodes => Ok(at),
            None => Err(missing()), // a store that was tampered with: its shape has the same hash
        }
    }

    /// The name of a stored node.
    pub(crate) fn node_name(&self, at: u32) -> String {
        let name = self.other.as_ref().and_then(|other| other.shape.nodes.get(at as usize));
        name.cloned().unwrap_or_else(|| format!("number {at}"))
    }

    /// The present name of a stored node, or the one it had.
    pub(crate) fn name_now<S: State, N: NodeId, C>(&self, table: &Table<S, N, C>, at: u32) -> String {
        self.node(at).map_or_else(|name| name, |at| table.row(at).name.to_string())
    }

    /// The joins of the stored shape; none if it is the present one.
    pub(crate) fn joins(&self) -> Option<&[(Vec<u32>, u32)]> {
        Some(&self.other.as_ref()?.shape.joins)
    }

    /// Task keys of edge tasks are node indexes; those of sends count the sends.
    pub(crate) fn task(&self, key: u32) -> Result<u32, String> {
        if key < COMMAND_KEY {
            return self.node(key);
        }
        let Some(place) = key.checked_sub(SENT).filter(|place| *place < SENT) else { return Ok(key) };
        let noted = self.noted();
        let Some(sends) = &noted.sends else { return Ok(key) };
        let found = sends.iter().position(|at| *at == place).map(|at| SENT + at as u32);
        found.ok_or_else(|| "a node that is gone".into())
    }

    /// Records of tasks under the keys that the present graph plans them with; without those that it does not plan.
    pub(crate) fn by_present_key(&self, records: Tasks) -> Tasks {
        if self.is_same() && self.noted().sends.is_none() {
            return records;
        }
        records.into_iter().filter_map(|(key, record)| Some((self.task(key).ok()?, record))).collect()
    }

    /// Whether a stored write replaces the value of its present channel; none if that cannot apply it.
    pub(crate) fn taken_as<S: State, N: NodeId, C>(&self, table: &Table<S, N, C>, write: &WriteRecord) -> Option<bool> {
        let (Some(stood), Some(now)) = (self.stood(write.channel), self.channel(write.channel)) else {
            return Some(write.overwrite);
        };
        let now = &S::channels(&table.schema)[now as usize];
        let taken = taken_as(&stood.channel, now, write.overwrite);
        if taken.is_none() {
            let (channel, stored) = (now.name().to_owned(), stood.channel.rule.clone());
            self.note(Misfit::Rule { channel, stored, expected: now.rule_name().to_owned() });
        }
        taken
    }

    /// Whether the stored shape is the present one.
    pub(crate) fn is_same(&self) -> bool {
        self.other.is_none()
    }

    /// Where the value of a write stands, by the present index of its channel.
    pub(crate) fn row_key<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        channel: u32,
        overwrite: bool,
        row: RowId,
    ) -> Key {
        match self.source(channel) {
            Some(stood) => logged(&stood.channel, &stood.log, overwrite, row),
            None => self.present_key(table, path, channel, overwrite, row),
        }
    }

    /// Where the present graph looks for it.
    pub(crate) fn present_key<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        path: &str,
        channel: u32,
        overwrite: bool,
        row: RowId,
    ) -> Key {
        let Some(carried) = channel.checked_sub(self.channels as u32) else {
            return row_key(table, path, channel as usize, overwrite, row);
        };
        let carried = self.carried.get(carried as usize);
        carried.map_or(Key::Row(row), |carried| logged(&carried.channel, &carried.log, overwrite, row))
    }

    /// What another version stored for a present channel.
    pub(crate) fn source(&self, channel: u32) -> Option<&Stood> {
        let other = self.other.as_ref()?;
        let at = other.claims.iter().position(|claim| *claim == Claim::Channel(channel))?;
        other.stood.get(at)
    }

    pub(crate) fn note(&self, misfit: Misfit) {
        self.noted().misfits.push(misfit);
    }

    /// Notes a task that cannot be planned.
    pub(crate) fn note_lost(&self, key: u32, node: String, misfit: Misfit) {
        let mut noted = self.noted();
        noted.misfits.push(misfit);
        noted.lost.push((key, node));
    }

    pub(crate) fn note_sends(&self, left: Vec<u32>) {
        self.noted().sends = Some(left);
    }

    /// What fits no more, as far as it has been read.
    pub(crate) fn misfits(&self) -> Vec<Misfit> {
        self.noted().misfits.clone()
    }

    /// The tasks that cannot be planned: their stored keys, and the names of their nodes.
    pub(crate) fn lost(&self) -> Vec<(u32, String)> {
        self.noted().lost.clone()
    }

    /// Fails if anything does not fit.
    pub(crate) fn check(&self, reader: &Reader) -> Result<(), RunError> {
        refuse(reader, self.misfits())
    }

    /// Fails if a result does not fit, or the graph is pinned: what is planned does not count.
    pub(crate) fn check_results(&self, reader: &Reader) -> Result<(), RunError> {
        let counts = |misfit: &Misfit| matches!(misfit, Misfit::Value(_) | Misfit::Rule { .. } | Misfit::Pinned { .. });
        refuse(reader, self.misfits().into_iter().filter(counts).collect())
    }

    /// Fails if the graph is pinned to another version.
    pub(crate) fn check_pin(&self, reader: &Reader) -> Result<(), RunError> {
        let counts = |misfit: &Misfit| matches!(misfit, Misfit::Pinned { .. });
        refuse(reader, self.misfits().into_iter().filter(counts).collect())
    }

    /// The key under which the task of a present key is stored.
    pub(crate) fn stored_task(&self, key: u32) -> u32 {
        if let (Some(other), true) = (&self.other, key < COMMAND_KEY) {
            return other.nodes.iter().position(|now| *now == Some(key)).map_or(key, |at| at as u32);
        }
        let place = key.checked_sub(SENT).and_then(|at| self.noted().sends.as_ref()?.get(at as usize).copied());
        place.map_or(key, |place| SENT + place)
    }

    /// Notes a value that stands elsewhere than the present graph looks for it.
    pub(crate) fn owe(&self, key: Key, value: Vec<u8>) {
        self.noted().owed.push((key, value));
    }

    pub(crate) fn take_owed(&self) -> Puts {
        std::mem::take(&mut self.noted().owed)
    }

    /// A task's record in present indexes.
    pub(crate) fn translated<S: State, N: NodeId, C>(&self, table: &Table<S, N, C>, record: &TaskRecord) -> TaskRecord {
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

    /// A thread at rest needs nothing of what is half done; only its pin and its values count.
    pub(crate) fn is_at_rest(&self) {
        self.noted().misfits.retain(|misfit| matches!(misfit, Misfit::Pinned { .. } | Misfit::Channel { .. }));
    }

    fn noted(&self) -> std::sync::MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn logged(channel: &ChannelShape, log: &str, overwrite: bool, row: RowId) -> Key {
    if channel.logged && !overwrite { Key::Log { channel: log.to_owned(), row } } else { Key::Row(row) }
}

/// Fails if there is a misfit; with its own error if it is a value.
pub(crate) fn refuse(reader: &Reader, misfits: Vec<Misfit>) -> Result<(), RunError> {
    let mut values = misfits.iter().filter_map(|misfit| match misfit {
        Misfit::Value(unreadable) => Some(unreadable),
        _ => None,
    });
    match values.next() {
        _ if misfits.is_empty() => Ok(()),
        Some(unreadable) if values.count() + 1 == misfits.len() => Err(RunError::Unreadable(unreadable.clone())),
        _ => Err(RunError::NeedsMigration { thread: reader.thread.clone(), misfits }),
    }
}

impl Reader {
    pub(crate) async fn mapping<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        at: CheckpointId,
        record: &CheckpointRecord,
    ) -> Result<Mapping, RunError> {
        let known = S::channels(&table.schema);
        if record.shape == table.fingerprint {
            return Ok(Mapping::same(table, at, record.carried.clone()));
        }
        let shape = self.shape(record).await?;
        let log = |channel: &ChannelShape| log_of(&record.namespace, &channel.name);
        let live = shape.channels.iter().map(|channel| Stood { log: log(channel), channel: channel.clone() });
        let carried = record.carried.iter();
        let carried = carried.map(|carried| Stood { log: carried.log.clone(), channel: carried.channel.clone() });
        let stood: Vec<Stood> = live.chain(carried).collect();
        let claims = claims(&stood, known, &S::removed(&table.schema));
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
        if table.pinned {
            mapping.note(Misfit::Pinned { stored: record.shape, now: table.fingerprint });
        }
        Ok(mapping)
    }

    pub(crate) fn incompatible(&self, node: String) -> RunError {
        RunError::NeedsMigration { thread: self.thread.clone(), misfits: vec![Misfit::Node { node }] }
    }
}
