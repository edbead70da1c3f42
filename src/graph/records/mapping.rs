//! Stored indexes to present ones: the same for the same shape, by name for another version of the graph. Stored channels that
//! no channel of the state claims are carried along, unless they may have been renamed.

use std::sync::{Mutex, PoisonError};

use super::ids::{COMMAND_KEY, SENT, START_NODE};
use super::reader::{Reader, Tasks};
use super::recorder::Puts;
use crate::checkpoint::{CarriedRecord, ChannelShape, CheckpointId, Key, LogRange, RowId, Shape, Slot, log_name};
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::state::{AnySchema, Channel, Storage};

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
    pub noted: Mutex<MappingNotes>,
}

#[derive(Debug, Default)]
pub(crate) struct MappingNotes {
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
        let noted = self.lock();
        let Some(sends) = &noted.sends else { return Ok(key) };
        let found = sends.iter().position(|at| *at == place).map(|at| SENT + at as u32);
        found.ok_or_else(|| "a node that is gone".into())
    }

    /// Records of tasks under the keys that the present graph plans them with; without those that it does not plan.
    pub(crate) fn by_present_key(&self, records: Tasks) -> Tasks {
        if self.is_same() && self.lock().sends.is_none() {
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
        self.lock().misfits.push(misfit);
    }

    /// Notes a task that cannot be planned.
    pub(crate) fn note_lost(&self, key: u32, node: String, misfit: Incompatibility) {
        let mut noted = self.lock();
        noted.misfits.push(misfit);
        noted.lost.push((key, node));
    }

    pub(crate) fn note_sends(&self, left: Vec<u32>) {
        self.lock().sends = Some(left);
    }

    /// Returns the incompatibilities found so far.
    pub(crate) fn misfits(&self) -> Vec<Incompatibility> {
        self.lock().misfits.clone()
    }

    /// The tasks that cannot be planned: their stored keys, and the names of their nodes.
    pub(crate) fn lost_tasks(&self) -> Vec<(u32, String)> {
        self.lock().lost.clone()
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
        let place = key.checked_sub(SENT).and_then(|at| self.lock().sends.as_ref()?.get(at as usize).copied());
        place.map_or(key, |place| SENT + place)
    }

    /// Notes a value that is stored under another key than the present graph looks for.
    pub(crate) fn add_rewrite(&self, key: Key, value: Vec<u8>) {
        self.lock().owed.push((key, value.into()));
    }

    pub(crate) fn take_rewrites(&self) -> Puts {
        std::mem::take(&mut self.lock().owed)
    }

    /// A thread at rest needs nothing of what is half done; only its pin and its values count.
    pub(crate) fn drop_pending_misfits(&self) {
        self.lock()
            .misfits
            .retain(|misfit| matches!(misfit, Incompatibility::Pinned { .. } | Incompatibility::Channel { .. }));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, MappingNotes> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn write_key(channel: &ChannelShape, log: &str, overwrite: bool, row: RowId) -> Key {
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
    pub(crate) fn migration_error(&self, node: String) -> RunError {
        RunError::NeedsMigration { thread: self.thread.clone(), misfits: vec![Incompatibility::Node { node }] }
    }
}

/// A stored channel: what it was, and the log that its entries are in.
#[derive(Clone, Debug)]
pub(crate) struct StoredChannel {
    pub channel: ChannelShape,
    pub log: String,
}

impl StoredChannel {
    /// Returns the log that holds entries of the channel: its own, or that of an enclosing graph.
    pub(crate) fn log_with(&self, range: &LogRange) -> String {
        let enclosing = range.log.as_deref().map(|namespace| log_name(namespace, &self.channel.name));
        enclosing.unwrap_or_else(|| self.log.clone())
    }
}

/// The present counterpart of a stored channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is the present channel of this index.
    Channel(u32),
    /// Nobody claims it: it is carried along, at this place.
    Carried(u32),
    /// It is gone for good.
    Dropped,
}

/// A channel claims what is stored under its name, else what is stored under the newest of its former names.
pub(crate) fn claims(stood: &[StoredChannel], known: &[Channel], removed: &[&str]) -> Vec<Claim> {
    let mut claims: Vec<Option<Claim>> = vec![None; stood.len()];
    let named = |name: &str| stood.iter().position(|stood| stood.channel.name == name);
    for (at, channel) in (0u32..).zip(known) {
        let mut names = std::iter::once(channel.name()).chain(channel.former_names());
        if let Some(found) = names.find_map(named) {
            claims[found].get_or_insert(Claim::Channel(at));
        }
    }
    let mut carried = 0u32..;
    let mut rest = |stood: &StoredChannel| {
        let is_gone = removed.contains(&stood.channel.name.as_str()) || stood.channel.rule == "untracked";
        if is_gone { None } else { carried.next() }.map_or(Claim::Dropped, Claim::Carried)
    };
    claims.into_iter().zip(stood).map(|(claim, stood)| claim.unwrap_or_else(|| rest(stood))).collect()
}

/// The likeness, from 0 to 1, above which two names may mean the same.
const ALIKE: f32 = 0.3;

impl Mapping {
    /// Notes the stored channels that have values and no field, if there are fields that nothing was stored of.
    pub(crate) fn note_unclaimed(&self, schema: &AnySchema, along: &[CarriedRecord]) {
        let Some(other) = &self.other else { return };
        let is_new = |at: usize, channel: &Channel| {
            !channel.is_added()
                && channel.storage() != Storage::Never
                && !other.claims.contains(&Claim::Channel(at as u32))
        };
        let channels = schema.channels().iter().enumerate();
        let new: Vec<&Channel> =
            channels.filter(|(at, channel)| is_new(*at, channel)).map(|(_, channel)| channel).collect();
        if new.is_empty() {
            return;
        }
        for claim in &other.claims[..other.shape.channels.len()] {
            let Claim::Carried(at) = claim else { continue };
            let carried = &along[*at as usize];
            if carried.slot != Slot::Absent {
                self.note(unclaimed_channel(&carried.channel, &new));
            }
        }
    }
}

fn unclaimed_channel(stored: &ChannelShape, new: &[&Channel]) -> Incompatibility {
    let likeness = |name: &str| similar::TextDiff::from_chars(stored.name.as_str(), name).ratio();
    let alike = |channel: &&&Channel| channel.type_name() == stored.type_name && likeness(channel.name()) > ALIKE;
    let same_type = new.iter().filter(alike);
    let likely = same_type.max_by(|a, b| likeness(a.name()).total_cmp(&likeness(b.name())));
    let (stored, likely) = (stored.name.clone(), likely.map(|channel| channel.name().to_owned()));
    Incompatibility::Channel { stored, likely, new: new.iter().map(|channel| channel.name().to_owned()).collect() }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn stored_channel(name: &str, rule: &str) -> StoredChannel {
        let channel = ChannelShape { name: name.into(), rule: rule.into(), ..ChannelShape::default() };
        StoredChannel { channel, log: name.into() }
    }

    fn known(names: &[&str]) -> Vec<Channel> {
        let channel = |name: &&str| match name.split_once('<') {
            Some((name, was)) => Channel::from_name(name, "T", Storage::Value).formerly(was),
            None => Channel::from_name(*name, "T", Storage::Value),
        };
        names.iter().map(channel).collect()
    }

    #[rstest]
    #[case::by_name(&["a", "b"], &["b", "a"], &[], &[Claim::Channel(1), Claim::Channel(0)])]
    #[case::unclaimed(&["a", "b", "c"], &["b"], &[], &[Claim::Carried(0), Claim::Channel(0), Claim::Carried(1)])]
    #[case::renamed(&["a", "b"], &["b", "c<a"], &[], &[Claim::Channel(1), Claim::Channel(0)])]
    #[case::its_own_name_first(&["a", "c"], &["c<a"], &[], &[Claim::Carried(0), Claim::Channel(0)])]
    #[case::removed(&["a", "b"], &["b"], &["a"], &[Claim::Dropped, Claim::Channel(0)])]
    fn a_stored_channel_belongs_to_the_one_with_its_name(
        #[case] names: &[&str],
        #[case] channels: &[&str],
        #[case] removed: &[&str],
        #[case] expected: &[Claim],
    ) {
        let stored: Vec<StoredChannel> = names.iter().map(|name| stored_channel(name, "last_value")).collect();
        assert_eq!(claims(&stored, &known(channels), removed), expected);
    }

    #[test]
    fn what_no_checkpoint_keeps_is_not_carried() {
        assert_eq!(claims(&[stored_channel("a", "untracked")], &[], &[]), [Claim::Dropped]);
    }
}
