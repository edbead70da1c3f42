//! Records whose keys are numbers. Most come in the order of their numbers, and are deleted in it: as long as they do, they are a
//! queue, and none of them is searched for. Must not know what a record holds.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

use crate::checkpoint::row::Row;

/// A key that is a number, in two halves.
pub(super) type Number = (u64, u64);

/// The number of records of a queue that make room for one between them, or close up after one. Few in tests, which have both.
const MOVED: usize = if cfg!(test) { 2 } else { 64 };

/// Records in the order of their numbers.
#[derive(Debug)]
pub(super) enum Numbered {
    /// All came at an end, or near one.
    Queue(VecDeque<(Number, Row)>),
    /// Some did not.
    Map(BTreeMap<Number, Row>),
}

impl Default for Numbered {
    fn default() -> Self {
        Self::Queue(VecDeque::new())
    }
}

impl Numbered {
    pub(super) fn insert(&mut self, number: Number, row: Row) {
        match self {
            Self::Queue(rows) if rows.back().is_none_or(|(last, _)| *last < number) => rows.push_back((number, row)),
            Self::Queue(rows) => match place(rows, number) {
                Ok(at) => rows[at].1 = row,
                Err(at) if is_near_end(rows, at) => rows.insert(at, (number, row)),
                Err(_) => {
                    let mut map = take_map(rows);
                    map.insert(number, row);
                    *self = Self::Map(map);
                }
            },
            Self::Map(rows) => _ = rows.insert(number, row),
        }
    }

    pub(super) fn remove(&mut self, number: Number) {
        match self {
            Self::Queue(rows) => match place(rows, number) {
                Ok(at) if is_near_end(rows, at) => _ = rows.remove(at),
                Ok(_) => {
                    let mut map = take_map(rows);
                    map.remove(&number);
                    *self = Self::Map(map);
                }
                Err(_) => {}
            },
            Self::Map(rows) => _ = rows.remove(&number),
        }
    }

    pub(super) fn get_mut(&mut self, number: Number) -> Option<&mut Row> {
        match self {
            Self::Queue(rows) => place(rows, number).ok().map(|at| &mut rows[at].1),
            Self::Map(rows) => rows.get_mut(&number),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Queue(rows) => rows.is_empty(),
            Self::Map(rows) => rows.is_empty(),
        }
    }

    /// Returns the records of a range that is not empty, in the order of their numbers.
    pub(super) fn range(&self, range: RangeInclusive<Number>) -> impl DoubleEndedIterator<Item = (Number, &Row)> {
        let (queue, map) = match self {
            Self::Queue(rows) => {
                let first = rows.partition_point(|(number, _)| number < range.start());
                let end = rows.partition_point(|(number, _)| number <= range.end());
                (Some(rows.range(first..end)), None)
            }
            Self::Map(rows) => (None, Some(rows.range(range))),
        };
        let queue = queue.into_iter().flatten().map(|(number, row)| (*number, row));
        queue.chain(map.into_iter().flatten().map(|(number, row)| (*number, row))) // one of them is empty
    }
}

/// Takes the records out of a queue.
fn take_map(rows: &mut VecDeque<(Number, Row)>) -> BTreeMap<Number, Row> {
    std::mem::take(rows).into_iter().collect()
}

fn place(rows: &VecDeque<(Number, Row)>, number: Number) -> Result<usize, usize> {
    rows.binary_search_by_key(&number, |(number, _)| *number)
}

fn is_near_end(rows: &VecDeque<(Number, Row)>, at: usize) -> bool {
    at.min(rows.len() - at) <= MOVED
}
