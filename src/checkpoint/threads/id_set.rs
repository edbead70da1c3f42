//! A set of checkpoint numbers that takes about a bit for each: a long thread has hundreds of thousands. Pure.

use std::collections::BTreeMap;

use crate::checkpoint::CheckpointId;

/// Checkpoints, as a bit each in words of 64 consecutive numbers.
#[derive(Clone, Debug, Default)]
pub(in crate::checkpoint) struct IdSet(BTreeMap<u64, u64>);

impl IdSet {
    /// Adds a checkpoint. Returns whether it was not there.
    pub(in crate::checkpoint) fn insert(&mut self, id: CheckpointId) -> bool {
        let word = self.0.entry(id.0 / 64).or_default();
        let before = *word;
        *word |= bit(id);
        *word != before
    }

    pub(in crate::checkpoint) fn contains(&self, id: CheckpointId) -> bool {
        self.0.get(&(id.0 / 64)).is_some_and(|word| word & bit(id) != 0)
    }

    pub(in crate::checkpoint) fn len(&self) -> usize {
        self.0.values().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the checkpoints in order.
    pub(in crate::checkpoint) fn iter(&self) -> impl Iterator<Item = CheckpointId> {
        self.0.iter().flat_map(|(at, word)| {
            (0..64).filter(move |nth| word & (1 << nth) != 0).map(move |nth| CheckpointId(at * 64 + nth))
        })
    }

    /// Returns the number of words, each of which takes about 40 bytes.
    #[cfg(test)]
    pub(super) fn words(&self) -> usize {
        self.0.len()
    }

    /// Keeps only the checkpoints for which `keep` returns true.
    pub(in crate::checkpoint) fn retain(&mut self, keep: impl Fn(CheckpointId) -> bool) {
        let left = self.iter().filter(|id| keep(*id)).collect();
        *self = left;
    }
}

impl FromIterator<CheckpointId> for IdSet {
    fn from_iter<T: IntoIterator<Item = CheckpointId>>(ids: T) -> Self {
        let mut set = Self::default();
        ids.into_iter().for_each(|id| _ = set.insert(id));
        set
    }
}

fn bit(id: CheckpointId) -> u64 {
    1 << (id.0 % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    proptest::proptest! {
        #[test]
        fn it_is_a_set_in_order(ids in proptest::collection::vec(0_u64..300, 0..80), least in 0_u64..300) {
            let all: BTreeSet<CheckpointId> = ids.iter().copied().map(CheckpointId).collect();
            let mut set: IdSet = all.iter().copied().collect();
            proptest::prop_assert!(set.len() == all.len() && set.iter().eq(all.iter().copied()));
            set.retain(|id| id.0 >= least);
            for id in (0..301).map(CheckpointId) {
                let kept = id.0 >= least && all.contains(&id);
                proptest::prop_assert_eq!(set.contains(id), kept);
                proptest::prop_assert_eq!(set.clone().insert(id), !kept);
            }
        }
    }
}
