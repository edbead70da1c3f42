//! The records of one thread, sorted by key. Each kind of key is stored separately, and keys that are numbers, as most are, are compared as
//! numbers. Must not know what a record holds.

use std::array::from_fn;
use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};

use super::numbered::{Number, Numbered};
use crate::checkpoint::key::{CheckpointId, Key, RowId};
use crate::checkpoint::row::Row;

/// The number of kinds of keys.
const KINDS: usize = 13;
/// The least and the greatest number.
const ALL: RangeInclusive<Number> = (0, 0)..=(u64::MAX, u64::MAX);

/// Records by kind, in the order of [`Key`].
#[derive(Debug)]
pub(super) struct Records([Section; KINDS]);

/// Records of one kind.
#[derive(Debug, Default)]
struct Section {
    numbered: Numbered,
    /// Entries of logs, by the name of the log.
    logs: BTreeMap<String, Numbered>,
    named: BTreeMap<Key, Row>,
}

/// The place of a record in the section of its kind.
#[derive(Clone, Copy)]
enum Place<'a> {
    Number(Number),
    Log(&'a str, Number),
    Name,
}

impl Default for Records {
    fn default() -> Self {
        Self(from_fn(|_| Section::default()))
    }
}

impl Records {
    pub(super) fn insert(&mut self, key: Key, row: Row) {
        let (kind, place) = place_of(&key);
        let Section { numbered, logs, named } = &mut self.0[kind];
        match place {
            Place::Number(number) => numbered.insert(number, row),
            Place::Log(log, number) => match logs.get_mut(log) {
                Some(log) => log.insert(number, row),
                None => logs.entry(log.to_owned()).or_default().insert(number, row),
            },
            Place::Name => _ = named.insert(key, row),
        }
    }

    pub(super) fn remove(&mut self, key: &Key) {
        let (kind, place) = place_of(key);
        let Section { numbered, logs, named } = &mut self.0[kind];
        match place {
            Place::Number(number) => numbered.remove(number),
            Place::Log(log, number) => {
                let Some(entries) = logs.get_mut(log) else { return };
                entries.remove(number);
                if entries.is_empty() {
                    logs.remove(log);
                }
            }
            Place::Name => _ = named.remove(key),
        }
    }

    pub(super) fn get(&mut self, key: &Key) -> Option<&mut Row> {
        let (kind, place) = place_of(key);
        let Section { numbered, logs, named } = &mut self.0[kind];
        match place {
            Place::Number(number) => numbered.get_mut(number),
            Place::Log(log, number) => logs.get_mut(log)?.get_mut(number),
            Place::Name => named.get_mut(key),
        }
    }

    /// Returns the records of a range, in the order of their keys.
    pub(super) fn range(&self, range: RangeInclusive<Key>) -> impl DoubleEndedIterator<Item = (Key, &Row)> {
        let (first, last) = (place_of(range.start()).0, place_of(range.end()).0);
        let kinds = if range.is_empty() { 0..0 } else { first..last + 1 };
        kinds.flat_map(move |kind| {
            let low = (kind == first).then(|| range.start().clone());
            let high = (kind == last).then(|| range.end().clone());
            self.0[kind].range(kind, low, high)
        })
    }
}

impl Section {
    /// Returns the records from one key of the section to another; without them, from its first or to its last.
    fn range(&self, kind: usize, low: Option<Key>, high: Option<Key>) -> impl DoubleEndedIterator<Item = (Key, &Row)> {
        let number = |key: &Option<Key>| key.as_ref().and_then(|key| place_of(key).1.number());
        let (least, most) = (number(&low).unwrap_or(*ALL.start()), number(&high).unwrap_or(*ALL.end()));
        let log = |key: &Option<Key>| key.as_ref().and_then(|key| place_of(key).1.log().map(str::to_owned));
        let (first, last) = (log(&low), log(&high));
        let bounds = (bound(first.as_deref()), bound(last.as_deref()));
        let numbered = self.numbered.range(least..=most);
        let numbered = numbered.filter_map(move |(number, row)| Some((key_of(kind, number)?, row)));
        let logs = self.logs.range::<str, _>(bounds).flat_map(move |(log, entries)| {
            let least = if first.as_ref() == Some(log) { least } else { *ALL.start() };
            let most = if last.as_ref() == Some(log) { most } else { *ALL.end() };
            let entry = move |(number, row)| (Key::Log { channel: log.clone(), row: row_of(number) }, row);
            entries.range(least..=most).map(entry)
        });
        let bounds = (bound(low.as_ref()), bound(high.as_ref()));
        let named = self.named.range(bounds).map(|(key, row)| (key.clone(), row));
        numbered.chain(logs).chain(named) // of one of them
    }
}

fn bound<T>(end: Option<T>) -> Bound<T> {
    end.map_or(Bound::Unbounded, Bound::Included)
}

impl<'a> Place<'a> {
    fn number(self) -> Option<Number> {
        match self {
            Self::Number(number) | Self::Log(_, number) => Some(number),
            Self::Name => None,
        }
    }

    fn log(self) -> Option<&'a str> {
        match self {
            Self::Log(log, _) => Some(log),
            Self::Number(_) | Self::Name => None,
        }
    }
}

/// Returns the section of a key, and its place there. Sections and places sort as the keys do.
fn place_of(key: &Key) -> (usize, Place<'_>) {
    let numbered = |kind, high, low| (kind, Place::Number((high, low)));
    match key {
        Key::Head => (0, Place::Name),
        Key::About => (1, Place::Name),
        Key::Tag(_) => (2, Place::Name),
        Key::Shape(fingerprint) => numbered(3, 0, *fingerprint),
        Key::Checkpoint(id) => numbered(4, id.0, 0),
        Key::Nested(id) => numbered(5, id.0, 0),
        Key::Task { checkpoint, task } => numbered(6, checkpoint.0, join(*task, 0)),
        Key::Child { checkpoint, task, call } => numbered(7, checkpoint.0, join(*task, *call)),
        Key::Row(RowId { checkpoint, task, slot }) => numbered(8, checkpoint.0, join(*task, *slot)),
        Key::Log { channel, row } => (9, Place::Log(channel, (row.checkpoint.0, join(row.task, row.slot)))),
        Key::Effect { .. } => (10, Place::Name),
        Key::Event { checkpoint, number } => numbered(11, checkpoint.0, *number),
        Key::Signal { order, id } => numbered(12, *order, *id),
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
        8 => Key::Row(row_of((high, low))),
        11 => Key::Event { checkpoint, number: low },
        12 => Key::Signal { order: high, id: low },
        _ => return None,
    })
}

/// Returns the row of a number.
#[allow(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn row_of((checkpoint, low): Number) -> RowId {
    RowId { checkpoint: CheckpointId(checkpoint), task: (low >> 32) as u32, slot: low as u32 }
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
