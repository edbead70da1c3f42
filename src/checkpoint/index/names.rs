//! Sorted names of threads. Each is sought from a bound on, so that lists can be intersected by leaps: the names in none but
//! one of them are not read.

use std::collections::{BTreeSet, VecDeque};

use super::keys::{IndexReads, list_end};
use crate::checkpoint::error::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// A name as its bytes in keys, which sort as names are listed.
pub(super) type NameBytes = Vec<u8>;

/// The number of names that are read at once at most.
const AHEAD: usize = 128;

/// Sorted names.
pub(super) enum Names<'a> {
    /// The names of the keys with one start.
    List(NameList<'a>),
    /// Names in memory.
    Sorted(BTreeSet<NameBytes>),
    /// The names in any of these.
    Any(Vec<Names<'a>>),
}

impl<'a> Names<'a> {
    /// Returns the names of the keys that start with the bytes of a list.
    pub(super) fn list(rows: &'a dyn IndexReads, list: Vec<u8>) -> Self {
        Self::List(NameList { rows, list, found: VecDeque::new(), ahead: 1, is_over: false })
    }

    /// Returns the first name at or after a bound. Bounds grow from call to call.
    pub(super) fn seek(&mut self, bound: &[u8]) -> Result<Option<NameBytes>> {
        match self {
            Self::List(list) => list.seek(bound),
            Self::Sorted(names) => Ok(names
                .range::<[u8], _>((std::ops::Bound::Included(bound), std::ops::Bound::Unbounded))
                .next()
                .cloned()),
            Self::Any(all) => {
                let found: Result<Vec<_>> = all.iter_mut().map(|names| names.seek(bound)).collect();
                Ok(found?.into_iter().flatten().min())
            }
        }
    }
}

/// The names of the keys with one start; a few are read ahead.
pub(super) struct NameList<'a> {
    rows: &'a dyn IndexReads,
    list: Vec<u8>,
    found: VecDeque<NameBytes>,
    ahead: usize,
    is_over: bool,
}

impl NameList<'_> {
    fn seek(&mut self, bound: &[u8]) -> Result<Option<NameBytes>> {
        while self.found.front().is_some_and(|name| name.as_slice() < bound) {
            self.found.pop_front();
        }
        if self.found.is_empty() && !self.is_over {
            self.read_from(bound)?;
        }
        Ok(self.found.front().cloned())
    }

    fn read_from(&mut self, bound: &[u8]) -> Result<()> {
        let from = [&self.list, bound].concat();
        let keys = self.rows.keys(&from, &list_end(&self.list), self.ahead)?;
        self.is_over = keys.len() < self.ahead;
        self.ahead = AHEAD.min(self.ahead * 4);
        self.found.extend(keys.into_iter().map(|key| key[self.list.len()..].to_vec()));
        Ok(())
    }
}
