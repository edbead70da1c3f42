//! Possible values of channels that are never saved, in a replay. A run starts with their defaults and may have started
//! at any checkpoint; writes of replayed bodies are known, those of other tasks are not. Pure.

use crate::graph::state::{AnySchema, AnyState, AnyWrite, Canon, Mask, Merge, Stored};

/// Limit of value combinations; beyond it values count as unknown.
const MAX_COMBINATIONS: usize = 8;

/// The values that unsaved channels may have at a superstep.
pub(crate) struct Unsaved {
    /// For each combination the writes that lead to it from the defaults. The first is the defaults.
    possible: Vec<Vec<AnyWrite>>,
    /// Channels that may have a value in none of the combinations.
    unknown: Mask,
}

impl Unsaved {
    /// Returns the defaults, which every run starts with.
    pub(crate) fn fresh() -> Self {
        Self { possible: vec![vec![]], unknown: Mask::default() }
    }

    /// Returns a set in which every unsaved channel is unknown.
    pub(crate) fn unknown(schema: &AnySchema) -> Self {
        Self { unknown: unsaved(schema).collect(), ..Self::fresh() }
    }

    /// Returns two combinations: the defaults, and the values in this state.
    pub(crate) fn of(schema: &AnySchema, state: &AnyState) -> Self {
        let mut all = Self::fresh();
        all.add(schema, state);
        all
    }

    /// True if a reader of these channels may have seen a value that cannot be reproduced.
    pub(crate) fn is_unknown(&self, reads: Option<&Mask>) -> bool {
        reads.map_or(!self.unknown.is_empty(), |reads| reads.intersects(&self.unknown))
    }

    pub(crate) fn names(&self, schema: &AnySchema) -> String {
        let channels = schema.channels();
        self.unknown.iter().map(|at| format!("`{}`", channels[at].name())).collect::<Vec<_>>().join(" and ")
    }

    pub(crate) fn why(&self, schema: &AnySchema) -> &'static str {
        let never = unsaved(schema).any(|at| self.unknown.contains(at));
        if never { "never saved" } else { "left out of the export" }
    }

    /// Returns the states that a task may have started with; `saved` holds the saved channels.
    pub(crate) fn states(&self, schema: &AnySchema, saved: &AnyState, reads: Option<&Mask>) -> Vec<AnyState> {
        let is_read = |at: usize| reads.is_none_or(|reads| reads.contains(at));
        if !unsaved(schema).any(is_read) {
            return vec![saved.clone()];
        }
        self.possible.iter().filter_map(|writes| with(schema, saved, writes)).collect()
    }

    /// Applies the tasks' writes to these channels. `unknown`: channels written with unknown values.
    pub(crate) fn advance(&mut self, schema: &AnySchema, saved: &AnyState, writes: &[AnyWrite], unknown: Mask) {
        let changes = !writes.is_empty();
        let before = if changes { std::mem::replace(&mut self.possible, vec![vec![]]) } else { vec![] };
        for values in before {
            let state = with(schema, saved, &values).and_then(|state| with(schema, &state, writes));
            match state {
                Some(state) => self.add(schema, &state),
                None => self.unknown.extend(writes.iter().map(AnyWrite::channel)),
            }
        }
        self.unknown.extend(unknown.iter());
    }

    fn add(&mut self, schema: &AnySchema, state: &AnyState) {
        let writes: Vec<AnyWrite> = unsaved(schema).filter_map(|at| schema.write_of(state, at)).collect();
        if self.possible.len() == MAX_COMBINATIONS {
            self.unknown.extend(writes.iter().map(AnyWrite::channel));
            return;
        }
        let canon = |writes: &[AnyWrite]| -> Option<Vec<Canon>> {
            writes.iter().map(|write| schema.canon_write(write).ok()).collect()
        };
        let new = canon(&writes);
        let is_known = new.is_some() && self.possible.iter().any(|known| canon(known) == new);
        if !is_known {
            self.possible.push(writes);
        }
    }
}

pub(crate) fn unsaved(schema: &AnySchema) -> impl Iterator<Item = usize> + '_ {
    let channels = schema.channels().iter().enumerate();
    channels.filter(|(_, channel)| channel.stored() == Stored::Never).map(|(at, _)| at)
}

/// Returns the state after writes; `None` if a reducer rejects them.
fn with(schema: &AnySchema, state: &AnyState, writes: &[AnyWrite]) -> Option<AnyState> {
    let (mut state, mut merge) = (state.clone(), Merge::default());
    for write in writes {
        schema.apply(&mut state, write.clone(), &mut merge).ok()?;
    }
    Some(state)
}
