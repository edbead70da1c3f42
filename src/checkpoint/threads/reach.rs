//! Records reachable from given checkpoints of a thread. Pure.

use std::collections::{BTreeSet, HashMap};

use super::id_set::IdSet;
use super::references::Reference;
use super::row_set::RowSet;
use super::thread_records::ThreadRecords;
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
                open.extend(decoded.made_in(id));
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
            join(spans); // most are parts of others
        }
    }

    /// Ends the adding.
    pub(in crate::checkpoint) fn finish(mut self) -> Self {
        self.logs.values_mut().for_each(join);
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
fn join(spans: &mut Vec<(RowId, RowId)>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::threads::references::of_task;
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
            let found = of_task((CheckpointId(number), 0), &record, "", &shape);
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
            join(&mut spans);
            proptest::prop_assert_eq!(span_with(&spans, row(at.into())).is_some(), held);
        }
    }
}
