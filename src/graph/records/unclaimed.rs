//! Stored channels that no channel of the state claims: carried along, unless they may have been renamed. Knows shapes only.

use super::claims::Claim;
use super::mapping::Mapping;
use crate::checkpoint::{CarriedRecord, ChannelShape, Slot};
use crate::graph::error::Incompatibility;
use crate::graph::state::{AnySchema, Channel, Stored};

/// The likeness, from 0 to 1, above which two names may mean the same.
const ALIKE: f32 = 0.3;

impl Mapping {
    /// Notes the stored channels that have values and no field, if there are fields that nothing was stored of.
    pub(crate) fn note_unclaimed(&self, schema: &AnySchema, along: &[CarriedRecord]) {
        let Some(other) = &self.other else { return };
        let is_new = |at: usize, channel: &Channel| {
            !channel.is_added()
                && channel.stored() != Stored::Never
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
                self.note(unclaimed(&carried.channel, &new));
            }
        }
    }
}

fn unclaimed(stored: &ChannelShape, new: &[&Channel]) -> Incompatibility {
    let likeness = |name: &str| similar::TextDiff::from_chars(stored.name.as_str(), name).ratio();
    let alike = |channel: &&&Channel| channel.type_name() == stored.type_name && likeness(channel.name()) > ALIKE;
    let same_type = new.iter().filter(alike);
    let likely = same_type.max_by(|a, b| likeness(a.name()).total_cmp(&likeness(b.name())));
    let (stored, likely) = (stored.name.clone(), likely.map(|channel| channel.name().to_owned()));
    Incompatibility::Channel { stored, likely, new: new.iter().map(|channel| channel.name().to_owned()).collect() }
}
