//! Stored indexes to present ones: the same for the same shape, by name for another version of the graph.

use std::sync::{Mutex, PoisonError};

use super::claims::{Claim, StoredChannel};
use super::ids::{COMMAND_KEY, SENT, START_NODE};
use super::puts::Puts;
use super::reader::{Reader, Tasks};
use crate::checkpoint::{CarriedRecord, ChannelShape, CheckpointId, Key, RowId, Shape};
use crate::graph::error::{Incompatibility, RunError};

/// A mapping of the indexes of a stored shape to those of the present graph, and what fits no more.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The checkpoint.
    pub at: CheckpointId,
    /// None: the same.
    pub other: Option<Other>,
    /// The number of the graph's channels; unknown ones follow.
    pub channels: usize,
    /// The number of nodes.
    pub nodes: usize,
    /// Values of unknown channels, in the order of the present checkpoint.
    pub carried: Vec<CarriedRecord>,
    pub noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
pub(crate) struct Noted {
    misfits: Vec<Incompatibility>,
    /// Tasks that cannot be planned: their stored keys, and the names of their nodes.
    lost: Vec<(u32, String)>,
    /// Values that stand elsewhere than the present graph looks for them.
    owed: Puts,
    /// The stored places of the sends that are left.
    sends: Option<Vec<u32>>,
}

#[derive(Debug)]
pub(crate) struct Other {
    pub shape: Shape,
    /// By stored index, carried ones included.
    pub stood: Vec<StoredChannel>,
    pub claims: Vec<Claim>,
    pub nodes: Vec<Option<u32>>,
}

impl Mapping {
    /// The present channel of a stored index; none if it has none.
    pub(crate) fn channel(&self, at: u32) -> Option<u32> {
        match self.claim(at) {
            Claim::Channel(at) => Some(at),
            Claim::Carried(_) | Claim::Dropped => None,
        }
    }

    pub(crate) fn channels(&self) -> usize {
        self.channels
    }

    /// The stored index of the first channel that was carried along.
    pub(crate) fn first_carried(&self) -> u32 {
        self.other.as_ref().map_or(self.channels, |other| other.shape.channels.len()) as u32
    }

    /// Returns the present counterpart of a stored channel.
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

    /// Returns the shape of a stored channel, if it is another version's.
    pub(crate) fn stored_channel(&self, at: u32) -> Option<&StoredChannel> {
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

    /// Returns true if the stored shape is the present one.
    pub(crate) fn is_same(&self) -> bool {
        self.other.is_none()
    }

    /// Returns the shape under which another version stored a present channel.
    pub(crate) fn source(&self, channel: u32) -> Option<&StoredChannel> {
        let other = self.other.as_ref()?;
        let at = other.claims.iter().position(|claim| *claim == Claim::Channel(channel))?;
        other.stood.get(at)
    }

    pub(crate) fn note(&self, misfit: Incompatibility) {
        self.noted().misfits.push(misfit);
    }

    /// Notes a task that cannot be planned.
    pub(crate) fn note_lost(&self, key: u32, node: String, misfit: Incompatibility) {
        let mut noted = self.noted();
        noted.misfits.push(misfit);
        noted.lost.push((key, node));
    }

    pub(crate) fn note_sends(&self, left: Vec<u32>) {
        self.noted().sends = Some(left);
    }

    /// Returns the incompatibilities found so far.
    pub(crate) fn misfits(&self) -> Vec<Incompatibility> {
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
        let counts = |misfit: &Incompatibility| {
            matches!(misfit, Incompatibility::Value(_) | Incompatibility::Rule { .. } | Incompatibility::Pinned { .. })
        };
        refuse(reader, self.misfits().into_iter().filter(counts).collect())
    }

    /// Fails if the graph is pinned to another version.
    pub(crate) fn check_pin(&self, reader: &Reader) -> Result<(), RunError> {
        let counts = |misfit: &Incompatibility| matches!(misfit, Incompatibility::Pinned { .. });
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

    /// Notes a value that is stored under another key than the present graph looks for.
    pub(crate) fn add_rewrite(&self, key: Key, value: Vec<u8>) {
        self.noted().owed.push((key, value));
    }

    pub(crate) fn take_rewrites(&self) -> Puts {
        std::mem::take(&mut self.noted().owed)
    }

    /// A thread at rest needs nothing of what is half done; only its pin and its values count.
    pub(crate) fn is_at_rest(&self) {
        self.noted()
            .misfits
            .retain(|misfit| matches!(misfit, Incompatibility::Pinned { .. } | Incompatibility::Channel { .. }));
    }

    fn noted(&self) -> std::sync::MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn logged(channel: &ChannelShape, log: &str, overwrite: bool, row: RowId) -> Key {
    if channel.logged && !overwrite { Key::Log { channel: log.to_owned(), row } } else { Key::Row(row) }
}

/// Fails if there is a misfit; with its own error if it is a value.
pub(crate) fn refuse(reader: &Reader, misfits: Vec<Incompatibility>) -> Result<(), RunError> {
    let mut values = misfits.iter().filter_map(|misfit| match misfit {
        Incompatibility::Value(unreadable) => Some(unreadable),
        _ => None,
    });
    match values.next() {
        _ if misfits.is_empty() => Ok(()),
        Some(unreadable) if values.count() + 1 == misfits.len() => Err(RunError::Unreadable(unreadable.clone())),
        _ => Err(RunError::NeedsMigration { thread: reader.thread.clone(), misfits }),
    }
}

impl Reader {
    pub(crate) fn incompatible(&self, node: String) -> RunError {
        RunError::NeedsMigration { thread: self.thread.clone(), misfits: vec![Incompatibility::Node { node }] }
    }
}
