//! The execution order of verifiers.

use super::entry::VerifierEntry;
use super::stage::Stage;

/// Verifiers of one stage that can run in parallel.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<'v> {
    /// The stage.
    pub stage: Stage,
    /// The verifiers.
    pub verifiers: Vec<&'v VerifierEntry>,
}

pub(crate) fn waits(entry: &VerifierEntry, for_one_of: &[&VerifierEntry]) -> bool {
    for_one_of.iter().any(|other| entry.place.after.contains(&other.id))
}

/// Sorts entries by stage and, within a stage, by the length of the `after` chain before them.
pub(super) fn in_order(entries: impl Iterator<Item = VerifierEntry>) -> Vec<VerifierEntry> {
    let entries: Vec<VerifierEntry> = entries.collect();
    let mut ranks = vec![0; entries.len()];
    // A chain is at most as long as the list; this bound also ends the loop for a cycle.
    for _ in 0..entries.len() {
        ranks = (0..entries.len()).map(|at| rank(&entries, &ranks, at)).collect();
    }
    let mut ranked: Vec<(Stage, usize, VerifierEntry)> =
        entries.into_iter().zip(ranks).map(|(entry, rank)| (entry.place.stage, rank, entry)).collect();
    ranked.sort_by_key(|(stage, rank, _)| (*stage, *rank));
    ranked.into_iter().map(|(_, _, entry)| entry).collect()
}

fn rank(entries: &[VerifierEntry], ranks: &[usize], at: usize) -> usize {
    let Some(entry) = entries.get(at) else { return 0 };
    let is_before =
        |other: &VerifierEntry| other.place.stage == entry.place.stage && entry.place.after.contains(&other.id);
    let before = entries.iter().zip(ranks).filter(|(other, _)| is_before(other));
    before.map(|(_, rank)| rank + 1).max().unwrap_or_default()
}
