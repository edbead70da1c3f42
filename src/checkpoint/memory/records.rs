//! The records of one thread, sorted by key. Each kind of key is stored separately, and keys that are numbers, as most are, are compared as
//! numbers. Must not know what a record holds.

use std::array::from_fn;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::numbered::{Number, Numbered};
use crate::checkpoint::key::{CheckpointId, Key, RowId};
use crate::checkpoint::row::Row;

/// The number of kinds of keys.
const KINDS: usize = 13;

/// Records by kind, in the order of [`Key`].
#[derive(Debug)]
pub(super) struct Records([Section; KINDS]);

/// Records of one kind.
#[derive(Debug, Default)]
struct Section {
    numbered: Numbered,
    named: BTreeMap<Key, Row>,
}

impl Default for Records {
    fn default() -> Self {
        Self(from_fn(|_| Section::default()))
    }
}

impl Records {
    pub(super) fn insert(&mut self, key: Key, row: Row) {
        match place_of(&key) {
            (kind, Some(number)) => self.0[kind].numbered.insert(number, row),
            (kind, None) => _ = self.0[kind].named.insert(key, row),
        }
    }

    pub(super) fn remove(&mut self, key: &Key) {
        match place_of(key) {
            (kind, Some(number)) => self.0[kind].numbered.remove(number),
            (kind, None) => _ = self.0[kind].named.remove(key),
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Row> {
        match place_of(key) {
            (kind, Some(number)) => self.0[kind].numbered.get(number),
            (kind, None) => self.0[kind].named.get(key),
        }
    }

    /// Returns the records of a range, in the order of their keys.
    pub(super) fn range(&self, range: RangeInclusive<Key>) -> impl DoubleEndedIterator<Item = (Key, &Row)> {
        let ((first, low), (last, high)) = (place_of(range.start()), place_of(range.end()));
        let kinds = if range.is_empty() { 0..0 } else { first..last + 1 };
        kinds.flat_map(move |kind| {
            let low = low.filter(|_| kind == first).unwrap_or_default();
            let high = high.filter(|_| kind == last).unwrap_or((u64::MAX, u64::MAX));
            let numbered = self.0[kind].numbered.range(low..=high);
            let numbered = numbered.filter_map(move |(number, row)| Some((key_of(kind, number)?, row)));
            let named = self.0[kind].named.range(range.clone()).map(|(key, row)| (key.clone(), row));
            numbered.chain(named) // one of them is empty
        })
    }
}

/// Returns the section of a key, and its number if it is one. Sections and numbers sort as the keys do.
fn place_of(key: &Key) -> (usize, Option<Number>) {
    match key {
        Key::Head => (0, None),
        Key::About => (1, None),
        Key::Tag(_) => (2, None),
        Key::Shape(fingerprint) => (3, Some((0, *fingerprint))),
        Key::Checkpoint(id) => (4, Some((id.0, 0))),
        Key::Nested(id) => (5, Some((id.0, 0))),
        Key::Task { checkpoint, task } => (6, Some((checkpoint.0, join(*task, 0)))),
        Key::Child { checkpoint, task, call } => (7, Some((checkpoint.0, join(*task, *call)))),
        Key::Row(RowId { checkpoint, task, slot }) => (8, Some((checkpoint.0, join(*task, *slot)))),
        Key::Log { .. } => (9, None),
        Key::Effect { .. } => (10, None),
        Key::Event { checkpoint, number } => (11, Some((checkpoint.0, *number))),
        Key::Signal { order, id } => (12, Some((*order, *id))),
    }
}

/// Returns the key of a number in a section; `None` if the keys of the section are no numbers.
#[allow(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn key_of(kind: usize, (high, low): Number) -> Option<Key> {
    let (checkpoint, task, last) = (CheckpointId(high), (low >> 32) as u32, low as u32);
    Some(match kind {
        3 => Key::Shape(low),
        4 => Key::Checkpoint(checkpoint),
        5 => Key::Nested(checkpoint),
        6 => Key::Task { checkpoint, task },
        7 => Key::Child { checkpoint, task, call: last },
        8 => Key::Row(RowId { checkpoint, task, slot: last }),
        11 => Key::Event { checkpoint, number: low },
        12 => Key::Signal { order: high, id: low },
        _ => return None,
    })
}

/// Returns two halves as one number.
fn join(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![0..4_u64, Just(u64::MAX), Just(u64::from(u32::MAX)), Just(1 << 32)]
    }

    fn half() -> impl Strategy<Value = u32> {
        prop_oneof![0..4_u32, Just(u32::MAX)]
    }

    fn key() -> impl Strategy<Value = Key> {
        let parts = (0..KINDS, number(), number(), half(), half(), "[a-b\0]{0,2}");
        parts.prop_map(|(kind, high, low, task, last, name)| {
            let checkpoint = CheckpointId(high);
            let row = RowId { checkpoint, task, slot: last };
            let keys: [Key; KINDS] = [
                Key::Head,
                Key::About,
                Key::Tag(name.clone()),
                Key::Shape(low),
                Key::Checkpoint(checkpoint),
                Key::Nested(checkpoint),
                Key::Task { checkpoint, task },
                Key::Child { checkpoint, task, call: last },
                Key::Row(row),
                Key::Log { channel: name.clone(), row },
                Key::Effect { checkpoint, task, key: name },
                Key::Event { checkpoint, number: low },
                Key::Signal { order: high, id: low },
            ];
            keys[kind].clone()
        })
    }

    fn bytes<'a>(found: impl Iterator<Item = (Key, &'a Row)>) -> Vec<(Key, Vec<u8>)> {
        found.map(|(key, row)| (key, row.to_bytes().unwrap().into_owned())).collect()
    }

    proptest! {
        #[test]
        fn they_are_those_of_one_map(
            changes in prop::collection::vec((key(), prop::option::of(any::<u8>())), 0..60),
            ranges in prop::collection::vec((key(), key()), 1..12),
        ) {
            let (mut records, mut model) = (Records::default(), BTreeMap::new());
            for (key, value) in changes {
                match value {
                    Some(value) => {
                        records.insert(key.clone(), vec![value].into());
                        model.insert(key, Row::from(vec![value]));
                    }
                    None => {
                        records.remove(&key);
                        model.remove(&key);
                    }
                }
            }
            for (key, row) in &model {
                prop_assert_eq!(records.get(key).unwrap().to_bytes().unwrap(), row.to_bytes().unwrap());
            }
            for (start, end) in ranges.into_iter().chain([(Key::Head, Key::Signal { order: u64::MAX, id: u64::MAX })]) {
                let expected = match start <= end {
                    true => bytes(model.range(start.clone()..=end.clone()).map(|(key, row)| (key.clone(), row))),
                    false => vec![],
                };
                prop_assert_eq!(bytes(records.range(start.clone()..=end.clone())), expected.clone());
                let mut back = bytes(records.range(start..=end).rev());
                back.reverse();
                prop_assert_eq!(back, expected);
            }
        }
    }
}
