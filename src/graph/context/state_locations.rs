//! Locations of a task's state in the store, for subgraphs over it: they do not store its values again. Knows no run.

use std::sync::Arc;

use crate::checkpoint::{RowId, Slot};
use crate::graph::state::{AnySchema, AnyState, Channel};

/// The locations of a state's values in the store.
pub(crate) struct StateLocations {
    /// Address of that state in memory. It stays the same until a subgraph that has taken the state changes it.
    pub state: usize,
    pub schema: AnySchema,
    /// Namespace of the graph whose logs the slots name, where they name no other.
    pub namespace: Arc<str>,
    pub slots: Vec<Slot>,
    /// The size of each value in bytes.
    pub sizes: Vec<u64>,
}

impl StateLocations {
    /// Returns true if this is the state.
    pub(crate) fn are_of(&self, state: &AnyState) -> bool {
        self.state == state.address()
    }

    /// Returns the location of a channel's value, for a graph inside this one: [`Slot::Absent`] if it is not stored as it
    /// is in memory, `None` if that graph stores the channel in another way.
    pub(crate) fn slot(&self, schema: &AnySchema, at: usize) -> Option<(Slot, u64)> {
        let (ours, theirs) = (self.schema.channels().get(at)?, schema.channels().get(at)?);
        let stored = |channel: &Channel| (channel.stored(), channel.value_codec(), channel.schema_version());
        let words = |channel: &Channel| [channel.name(), channel.type_name(), channel.rule_name()].map(str::to_owned);
        if stored(ours) != stored(theirs) || words(ours) != words(theirs) || ours.is_secret() != theirs.is_secret() {
            return None;
        }
        let mut slot = self.slots.get(at)?.clone();
        if let Slot::Log { ranges, .. } = &mut slot {
            for range in ranges {
                range.log.get_or_insert_with(|| Arc::clone(&self.namespace));
            }
        }
        Some((slot, *self.sizes.get(at)?))
    }

    /// Returns the rows that the values are in, apart from entries of logs.
    pub(crate) fn rows(&self) -> impl Iterator<Item = RowId> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Row(row) => Some(*row),
            Slot::Log { full, .. } => *full,
            Slot::Absent => None,
        })
    }
}
