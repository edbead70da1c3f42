//! A set of rows: those of a long thread are the same few in checkpoint after checkpoint, and take about a bit each. Pure.

use std::collections::HashMap;

use super::id_set::IdSet;
use crate::checkpoint::RowId;

/// Rows, as checkpoints by task and slot.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct RowSet(HashMap<(u32, u32), IdSet>);

impl RowSet {
    pub(in crate::checkpoint) fn insert(&mut self, row: RowId) {
        self.0.entry((row.task, row.slot)).or_default().insert(row.checkpoint);
    }

    #[cfg(test)]
    pub(super) fn words(&self) -> usize {
        self.0.values().map(IdSet::words).sum()
    }

    pub(in crate::checkpoint) fn contains(&self, row: RowId) -> bool {
        self.0.get(&(row.task, row.slot)).is_some_and(|checkpoints| checkpoints.contains(row.checkpoint))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::checkpoint::CheckpointId;

    proptest::proptest! {
        #[test]
        fn it_holds_what_was_inserted(rows in proptest::collection::vec((0_u64..40, 0_u32..2, 0_u32..2), 0..80)) {
            let row = |(checkpoint, task, slot)| RowId { checkpoint: CheckpointId(checkpoint), task, slot };
            let (mut set, all): (RowSet, HashSet<RowId>) = (RowSet::default(), rows.iter().copied().map(row).collect());
            rows.iter().copied().for_each(|at| set.insert(row(at)));
            for at in (0..41).flat_map(|at| (0..3).flat_map(move |task| (0..3).map(move |slot| (at, task, slot)))) {
                proptest::prop_assert_eq!(set.contains(row(at)), all.contains(&row(at)));
            }
        }
    }
}
