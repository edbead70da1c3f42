//! Selects the diagnostics that become findings.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::findings::diagnostics::Diagnostic;

/// The selected diagnostics, and the number of the others.
pub(super) struct Selection<'a> {
    pub(super) chosen: Vec<Diagnostic<'a>>,
    pub(super) left: usize,
}

/// Selects at most this many: the most severe first, among these different ones first; in the order of the output.
pub(super) fn select(found: Vec<Diagnostic<'_>>, most: usize) -> Selection<'_> {
    let left = found.len().saturating_sub(most);
    if left == 0 {
        return Selection { chosen: found, left };
    }
    let mut seen = HashSet::new();
    let ranked = found
        .into_iter()
        .enumerate()
        .map(|(nth, one)| ((Reverse(one.severity), !seen.insert(likeness(&one)), nth), one));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.select_nth_unstable_by_key(most, |(rank, _)| *rank);
    ranked.truncate(most);
    ranked.sort_unstable_by_key(|((_, _, nth), _)| *nth);
    Selection { chosen: ranked.into_iter().map(|(_, one)| one).collect(), left }
}

/// Returns a key that is the same for diagnostics that differ only in their place and numbers.
fn likeness(one: &Diagnostic<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    (one.file.as_deref(), one.code.as_deref()).hash(&mut hash);
    one.message
        .split(|c: char| c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .for_each(|part| part.hash(&mut hash));
    hash.finish()
}
