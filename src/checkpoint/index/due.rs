//! Threads that are due, in the order in which they became so, and the time when the next one is. Knows sorted rows.

use std::collections::VecDeque;

use super::keys::{IndexReads, due_list, list_end, take_sorted, with_number};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::ThreadId;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The number of keys that are read at once.
const AHEAD: usize = 32;

/// A walk over the threads of some graphs that are due.
pub(super) struct DueWalk {
    lists: Vec<DueList>,
}

/// A part of a list that is sorted by the time since when threads are due.
struct DueList {
    list: Vec<u8>,
    from: Vec<u8>,
    to: Vec<u8>,
    found: VecDeque<(u64, ThreadId)>,
    is_over: bool,
}

impl DueWalk {
    /// Returns a walk over the threads that are due at a time, in milliseconds since 1970.
    pub(super) fn until(graphs: &[String], now: u64) -> Self {
        let ready = graphs.iter().map(|graph| DueList::whole(due_list(graph, true)));
        let timed = graphs.iter().map(|graph| DueList::until(due_list(graph, false), now.saturating_add(1)));
        Self { lists: ready.chain(timed).collect() }
    }

    /// Returns a walk over those that are due later.
    pub(super) fn after(graphs: &[String], now: u64) -> Self {
        let lists = graphs.iter().map(|graph| DueList::since(due_list(graph, false), now.saturating_add(1)));
        Self { lists: lists.collect() }
    }

    /// Returns the next thread, and the time since when it is due.
    pub(super) fn next(&mut self, rows: &dyn IndexReads) -> Result<Option<(u64, ThreadId)>> {
        for list in &mut self.lists {
            list.read_ahead(rows)?;
        }
        let first = self.lists.iter_mut().filter(|list| !list.found.is_empty());
        let first = first.min_by_key(|list| list.found.front().map(|(due, _)| *due));
        Ok(first.and_then(|list| list.found.pop_front()))
    }
}

impl DueList {
    fn between(list: Vec<u8>, from: Vec<u8>, to: Vec<u8>) -> Self {
        Self { list, from, to, found: VecDeque::new(), is_over: false }
    }

    fn whole(list: Vec<u8>) -> Self {
        let (from, to) = (list.clone(), list_end(&list));
        Self::between(list, from, to)
    }

    fn until(list: Vec<u8>, before: u64) -> Self {
        let (from, to) = (list.clone(), with_number(list.clone(), before));
        Self::between(list, from, to)
    }

    fn since(list: Vec<u8>, since: u64) -> Self {
        let (from, to) = (with_number(list.clone(), since), list_end(&list));
        Self::between(list, from, to)
    }

    fn read_ahead(&mut self, rows: &dyn IndexReads) -> Result<()> {
        if self.is_over || !self.found.is_empty() {
            return Ok(());
        }
        let keys = rows.keys(&self.from, &self.to, AHEAD)?;
        self.is_over = keys.len() < AHEAD;
        if let Some(last) = keys.last() {
            self.from = [last, &[0][..]].concat();
        }
        self.found.extend(keys.iter().filter_map(|key| take_sorted(&self.list, key)));
        Ok(())
    }
}
