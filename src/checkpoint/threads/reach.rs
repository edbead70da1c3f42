//! Records reachable from given checkpoints of a thread, in sets that take about a bit for each checkpoint: a long
//! thread has hundreds of thousands. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::thread_records::{Reference, ThreadRecords};
use crate::checkpoint::key::chunked_log;
use crate::checkpoint::{CheckpointId, Key, RowId};

#[derive(Debug, Default)]
pub(in crate::checkpoint) struct Reach {
    pub(in crate::checkpoint) checkpoints: IdSet,
    rows: RowSet,
    /// Spans of entries, by log; sorted and disjoint once all are known.
    logs: HashMap<String, Vec<(RowId, RowId)>>,
    shapes: BTreeSet<u64>,
    /// Newest checkpoint of the root graph: later journals and events belong to no checkpoint yet.
    newest: CheckpointId,
}

impl Reach {
    /// Follows all references from `roots`. A checkpoint of the root graph also keeps those of subgraphs made in its
    /// superstep.
    pub(in crate::checkpoint) fn from(decoded: &ThreadRecords, roots: impl IntoIterator<Item = CheckpointId>) -> Self {
        let newest = decoded.roots().next().map(|(id, _)| id).unwrap_or_default();
        let mut reach = Self { newest, ..Self::default() };
        let mut open: Vec<CheckpointId> = roots.into_iter().collect();
        while let Some(id) = open.pop() {
            let Some(made) = decoded.checkpoints.get(&id) else { continue };
            if !reach.checkpoints.insert(id) {
                continue;
            }
            if made.root {
                open.extend(decoded.nested_in(id));
            }
            for (_, reference) in decoded.references(id) {
                reach.follow(reference, &mut open);
            }
        }
        reach.finish()
    }

    /// Returns what is reached without any record: those of these checkpoints are added with [`add`](Self::add).
    pub(in crate::checkpoint) fn of(checkpoints: IdSet, newest: CheckpointId) -> Self {
        Self { checkpoints, newest, ..Self::default() }
    }

    /// Adds what a record refers to, apart from checkpoints.
    pub(in crate::checkpoint) fn add(&mut self, reference: Reference) {
        let log = match &reference {
            Reference::Written { log, .. } | Reference::Entries { log, .. } => Some(log.clone()),
            Reference::Row(_) | Reference::Shape(_) | Reference::Checkpoint(_) | Reference::Optional(_) => None,
        };
        self.follow(reference, &mut vec![]);
        if let Some(spans) = log.and_then(|log| self.logs.get_mut(&log)).filter(|spans| spans.len().is_power_of_two()) {
            merge_spans(spans); // most are parts of others
        }
    }

    /// Ends the adding.
    pub(in crate::checkpoint) fn finish(mut self) -> Self {
        self.logs.values_mut().for_each(merge_spans);
        self
    }

    fn follow(&mut self, reference: Reference, open: &mut Vec<CheckpointId>) {
        match reference {
            Reference::Row(row) => self.rows.insert(row),
            Reference::Written { log, row } => {
                self.rows.insert(row);
                self.logs.entry(log).or_default().push((row, row));
            }
            Reference::Entries { log, range } => self.logs.entry(log).or_default().push((range.first, range.last)),
            Reference::Shape(shape) => _ = self.shapes.insert(shape),
            Reference::Checkpoint(id) | Reference::Optional(id) => open.push(id),
        }
    }

    /// Returns the span of a log's entries that holds this one.
    fn span(&self, log: &str, row: RowId) -> Option<(RowId, RowId)> {
        self.logs.get(log).and_then(|spans| span_with(spans, row))
    }

    /// Returns whether a record is reached. Always true for tags: the caller keeps them with their checkpoints.
    pub(in crate::checkpoint) fn keeps(&self, key: &Key) -> bool {
        match key {
            Key::Head | Key::About | Key::Tag(_) | Key::Signal { .. } => true,
            Key::Shape(fingerprint) => self.shapes.contains(fingerprint),
            Key::Checkpoint(id) | Key::Nested(id) => self.checkpoints.contains(*id),
            Key::Task { checkpoint, .. } | Key::Child { checkpoint, .. } => self.checkpoints.contains(*checkpoint),
            Key::Row(row) => self.rows.contains(*row),
            Key::Log { channel, row } => match chunked_log(channel) {
                // A list that ends behind a chunk starts before it, unless it is that single entry.
                Some(log) => self.span(log, *row).is_some_and(|(first, _)| first < *row),
                None => self.span(channel, *row).is_some(),
            },
            Key::Effect { checkpoint, .. } | Key::Event { checkpoint, .. } => {
                *checkpoint > self.newest || self.checkpoints.contains(*checkpoint)
            }
        }
    }
}

/// Sorts spans and merges those that overlap.
fn merge_spans(spans: &mut Vec<(RowId, RowId)>) {
    spans.sort_unstable();
    spans.dedup_by(|next, span| {
        let meets = next.0 <= span.1;
        span.1 = if meets { span.1.max(next.1) } else { span.1 };
        meets
    });
}

fn span_with(spans: &[(RowId, RowId)], row: RowId) -> Option<(RowId, RowId)> {
    let after = spans.partition_point(|span| span.0 <= row);
    after.checked_sub(1).map(|at| spans[at]).filter(|span| span.1 >= row)
}

/// Rows, as checkpoints by task and slot.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct RowSet(HashMap<(u32, u32), IdSet>);

impl RowSet {
    pub(in crate::checkpoint) fn insert(&mut self, row: RowId) {
        self.0.entry((row.task, row.slot)).or_default().insert(row.checkpoint);
    }

    #[cfg(test)]
    fn words(&self) -> usize {
        self.0.values().map(IdSet::words).sum()
    }

    pub(in crate::checkpoint) fn contains(&self, row: RowId) -> bool {
        self.0.get(&(row.task, row.slot)).is_some_and(|checkpoints| checkpoints.contains(row.checkpoint))
    }
}

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
    fn words(&self) -> usize {
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
    use std::collections::HashSet;

    use super::*;
    use crate::checkpoint::threads::thread_records::task_references;
    use crate::checkpoint::{ChannelShape, LogRange, TaskRecord, WriteRecord};

    fn row(number: u64) -> RowId {
        RowId { checkpoint: CheckpointId(number), task: 0, slot: 0 }
    }

    #[test]
    fn a_long_thread_takes_about_a_bit_for_each_checkpoint() {
        let written = |number| Reference::Written { log: "lines".into(), row: row(number) };
        let shape = ["count", "lines"].map(|name| ChannelShape {
            name: name.into(),
            logged: name == "lines",
            ..Default::default()
        });
        let shape: Vec<&ChannelShape> = shape.iter().collect();
        let mut reach = Reach::of((1..100_000).map(CheckpointId).collect(), CheckpointId(100_000));
        for number in 1..100_000 {
            let writes = [0, 1].map(|channel| WriteRecord { channel, overwrite: false, row: Some(row(number)) });
            let record = TaskRecord { writes: writes.to_vec(), ..TaskRecord::default() };
            let found = task_references((CheckpointId(number), 0), &record, "", &shape);
            assert_eq!(found[0].1, Reference::Row(row(number)));
            assert_eq!(found[1].1, written(number));
            reach.add(Reference::Row(row(number)));
            let (first, last) = (row(1), row(number));
            let range = LogRange { log: None, first, last, count: number as u32, bytes: 0 };
            reach.add(Reference::Entries { log: "lines".into(), range });
        }
        let reach = reach.finish();
        assert_eq!((reach.rows.words(), reach.checkpoints.words()), (100_000 / 64 + 1, 100_000 / 64 + 1));
        assert_eq!((reach.logs.len(), reach.logs["lines"].len()), (1, 1));
    }

    proptest::proptest! {
        #[test]
        fn spans_hold_what_any_of_them_held(pairs in proptest::collection::vec((0_u64..40, 0_u64..8), 0..12), at: u8) {
            let mut spans: Vec<_> = pairs.iter().map(|(first, more)| (row(*first), row(first + more))).collect();
            let held = spans.iter().any(|(first, last)| (*first..=*last).contains(&row(at.into())));
            merge_spans(&mut spans);
            proptest::prop_assert_eq!(span_with(&spans, row(at.into())).is_some(), held);
        }

        #[test]
        fn a_row_set_holds_what_was_inserted(rows in proptest::collection::vec((0_u64..40, 0_u32..2, 0_u32..2), 0..80)) {
            let row = |(checkpoint, task, slot)| RowId { checkpoint: CheckpointId(checkpoint), task, slot };
            let (mut set, all): (RowSet, HashSet<RowId>) = (RowSet::default(), rows.iter().copied().map(row).collect());
            rows.iter().copied().for_each(|at| set.insert(row(at)));
            for at in (0..41).flat_map(|at| (0..3).flat_map(move |task| (0..3).map(move |slot| (at, task, slot)))) {
                proptest::prop_assert_eq!(set.contains(row(at)), all.contains(&row(at)));
            }
        }

        #[test]
        fn an_id_set_is_a_set_in_order(ids in proptest::collection::vec(0_u64..300, 0..80), least in 0_u64..300) {
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
