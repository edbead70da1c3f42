//! A set of rows: those of a long thread are the same few in checkpoint after checkpoint, and take little memory. Pure.

use std::collections::HashMap;

use crate::checkpoint::{CheckpointId, RowId};

/// Runs of consecutive checkpoints: the first and the last of each.
type Runs = Vec<(u64, u64)>;

/// Rows, as runs of checkpoints by task and slot. Complete once it is [finished](Self::finish).
#[derive(Debug, Default)]
pub(super) struct RowSet(HashMap<(u32, u32), Runs>);

impl RowSet {
    pub(super) fn insert(&mut self, row: RowId) {
        let RowId { checkpoint: CheckpointId(at), task, slot } = row;
        let runs = self.0.entry((task, slot)).or_default();
        match runs.last_mut() {
            Some((first, last)) if (*first..=*last).contains(&at) => {}
            Some((_, last)) if *last < u64::MAX && *last + 1 == at => *last = at,
            Some((first, _)) if at < u64::MAX && at + 1 == *first => *first = at,
            _ => {
                runs.push((at, at));
                if runs.len().is_power_of_two() {
                    join(runs); // rows may come in any order
                }
            }
        }
    }

    /// Ends the inserting.
    pub(super) fn finish(&mut self) {
        self.0.values_mut().for_each(join);
    }

    pub(super) fn contains(&self, row: RowId) -> bool {
        let Some(runs) = self.0.get(&(row.task, row.slot)) else { return false };
        let after = runs.partition_point(|(first, _)| *first <= row.checkpoint.0);
        after.checked_sub(1).is_some_and(|at| runs[at].1 >= row.checkpoint.0)
    }
}

/// Sorts runs and merges those that meet.
fn join(runs: &mut Runs) {
    runs.sort_unstable();
    runs.dedup_by(|next, run| {
        let meets = next.0 <= run.1.saturating_add(1);
        run.1 = if meets { run.1.max(next.1) } else { run.1 };
        meets
    });
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    proptest::proptest! {
        #[test]
        fn it_holds_what_was_inserted(rows in proptest::collection::vec((0_u64..40, 0_u32..2, 0_u32..2), 0..80)) {
            let row = |(checkpoint, task, slot)| RowId { checkpoint: CheckpointId(checkpoint), task, slot };
            let (mut set, all): (RowSet, HashSet<RowId>) = (RowSet::default(), rows.iter().copied().map(row).collect());
            rows.iter().copied().for_each(|at| set.insert(row(at)));
            set.finish();
            for at in (0..41).flat_map(|at| (0..3).flat_map(move |task| (0..3).map(move |slot| (at, task, slot)))) {
                proptest::prop_assert_eq!(set.contains(row(at)), all.contains(&row(at)));
            }
        }
    }
}
