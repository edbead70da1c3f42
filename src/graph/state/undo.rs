//! Undoing writes: a state becomes what it was before a subgraph wrote to it in place. A list is shortened to its former
//! length; any other channel gets its former value.

use super::any::{AnySchema, AnyState, AnyWrite};
use super::channel::{SETS, Stored};
use super::mask::Mask;

/// The changes to undo.
#[derive(Default)]
pub(crate) struct Undo {
    /// The former lengths of lists that were only appended to, by channel.
    lengths: Vec<(usize, usize)>,
    /// A state that has the former values of these channels.
    saved: Option<AnyState>,
    channels: Mask,
}

impl Undo {
    /// Notes the value of a channel before a write to it.
    pub(crate) fn note(&mut self, schema: &AnySchema, state: &mut AnyState, write: &AnyWrite) {
        let at = write.channel();
        if self.channels.contains(at) {
            return;
        }
        let noted = self.lengths.iter().position(|(channel, _)| *channel == at);
        let channel = &schema.channels()[at];
        if channel.stored() == Stored::Log && !write.overwrites() {
            if noted.is_some() {
                return;
            }
            if let Some(length) = schema.list_length(state, at) {
                return self.lengths.push((at, length));
            }
        }
        let saved = self.saved.get_or_insert_with(|| schema.empty());
        match SETS.contains(&channel.rule_name()) {
            true => schema.exchange(state, at, saved),
            false => _ = schema.reset(saved, &[at].into_iter().collect(), state),
        }
        if let Some((_, length)) = noted.map(|noted| self.lengths.swap_remove(noted)) {
            schema.shorten(saved, at, length);
        }
        self.channels.insert(at);
    }

    /// Makes a state what it was.
    pub(crate) fn undo(self, schema: &AnySchema, state: &mut AnyState) {
        self.lengths.into_iter().for_each(|(at, length)| schema.shorten(state, at, length));
        if let Some(mut saved) = self.saved {
            self.channels.iter().for_each(|at| schema.exchange(state, at, &mut saved));
        }
    }
}
