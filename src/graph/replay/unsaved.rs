//! Channels that are never saved, in a replay: the values they may have had. A run starts with their defaults and may have
//! started at any checkpoint; what replayed bodies write to them is known, what other tasks wrote is not. Pure.

use std::sync::Arc;

use crate::graph::state::{Canon, Mask, Merge, State, Stored, value};

/// How many combinations of values are followed; beyond, values count as unknown.
const MOST: usize = 8;

/// The values that unsaved channels may have at a superstep.
pub(crate) struct Unsaved<S: State> {
    /// For each possibility the writes that lead to it from the defaults. The first is the defaults.
    possible: Vec<Vec<S::Write>>,
    /// The channels that may have another value than any of these.
    unknown: Mask,
}

impl<S: State> Unsaved<S> {
    /// The defaults, with which every run starts.
    pub(crate) fn fresh() -> Self {
        Self { possible: vec![vec![]], unknown: Mask::default() }
    }

    /// Any value at all.
    pub(crate) fn unknown(schema: &S::Schema) -> Self {
        Self { unknown: unsaved::<S>(schema).collect(), ..Self::fresh() }
    }

    /// The values in this state, or the defaults.
    pub(crate) fn of(schema: &S::Schema, state: &S) -> Self {
        let mut all = Self::fresh();
        all.add(schema, state);
        all
    }

    /// Whether a reader of these channels may have seen values that cannot be reproduced.
    pub(crate) fn is_unknown(&self, reads: Option<&Mask>) -> bool {
        reads.map_or(!self.unknown.is_empty(), |reads| reads.intersects(&self.unknown))
    }

    /// The names of these channels, for people.
    pub(crate) fn names(&self, schema: &S::Schema) -> String {
        let channels = S::channels(schema);
        self.unknown.iter().map(|at| format!("`{}`", channels[at].name())).collect::<Vec<_>>().join(" and ")
    }

    /// Why the values of these channels are not known, for people.
    pub(crate) fn why(&self, schema: &S::Schema) -> &'static str {
        let never = unsaved::<S>(schema).any(|at| self.unknown.contains(at));
        if never { "never saved" } else { "left out of the export" }
    }

    /// The states that a task may have started with, over one that holds what was saved.
    pub(crate) fn states(&self, schema: &S::Schema, saved: &Arc<S>, reads: Option<&Mask>) -> Vec<Arc<S>> {
        let is_read = |at: usize| reads.is_none_or(|reads| reads.contains(at));
        if !unsaved::<S>(schema).any(is_read) {
            return vec![Arc::clone(saved)];
        }
        self.possible.iter().filter_map(|writes| with::<S>(schema, saved, writes)).map(Arc::new).collect()
    }

    /// Applies what the tasks of a superstep wrote to these channels. `unknown`: the channels that were written with values
    /// that nobody knows.
    pub(crate) fn advance(&mut self, schema: &S::Schema, saved: &Arc<S>, writes: &[S::Write], unknown: Mask) {
        let changes = !writes.is_empty();
        let before = if changes { std::mem::replace(&mut self.possible, vec![vec![]]) } else { vec![] };
        for values in before {
            let state = with::<S>(schema, saved, &values).and_then(|state| with::<S>(schema, &state, writes));
            match state {
                Some(state) => self.add(schema, &state),
                None => self.unknown.extend(writes.iter().map(S::channel_of)),
            }
        }
        self.unknown.extend(unknown.iter());
    }

    fn add(&mut self, schema: &S::Schema, state: &S) {
        let writes: Vec<S::Write> = unsaved::<S>(schema).filter_map(|at| state.write_of(schema, at)).collect();
        if self.possible.len() == MOST {
            self.unknown.extend(writes.iter().map(S::channel_of));
            return;
        }
        let canon = |writes: &[S::Write]| -> Option<Vec<Canon>> {
            writes.iter().map(|write| value::canon_write::<S>(schema, write).ok()).collect()
        };
        let new = canon(&writes);
        let is_known = new.is_some() && self.possible.iter().any(|known| canon(known) == new);
        if !is_known {
            self.possible.push(writes);
        }
    }
}

/// The channels that are never saved.
pub(crate) fn unsaved<S: State>(schema: &S::Schema) -> impl Iterator<Item = usize> + '_ {
    let channels = S::channels(schema).iter().enumerate();
    channels.filter(|(_, channel)| channel.stored() == Stored::Never).map(|(at, _)| at)
}

/// A state after writes; none if its rules refuse them.
fn with<S: State>(schema: &S::Schema, state: &S, writes: &[S::Write]) -> Option<S> {
    let (mut state, mut merge) = (state.clone(), Merge::default());
    for write in writes {
        state.apply(schema, write.clone(), &mut merge).ok()?;
    }
    Some(state)
}
