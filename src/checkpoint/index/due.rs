//! Threads that are due, in the order in which they became so, and the time when the next one is. Knows sorted rows.

use std::collections::VecDeque;

use super::keys::{IndexReads, all_due, due_list, is_due_group_of, list_end, take_due_group, take_sorted, with_number};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::ThreadId;
use crate::checkpoint::listing::due::DueQuery;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The number of keys that are read at once.
const AHEAD: usize = 32;

/// The groups of threads that are or will be due, each of one version of a graph: those that a query asks for, and the others.
#[derive(Default)]
pub(super) struct DueGroups {
    pub(super) asked: Vec<Vec<u8>>,
    pub(super) others: Vec<Vec<u8>>,
}

impl DueGroups {
    /// Finds all groups, in time that grows with their number.
    pub(super) fn read(rows: &dyn IndexReads, query: &DueQuery) -> Result<Self> {
        let (mut groups, mut from, end) = (Self::default(), all_due(), list_end(&all_due()));
        while let Some(key) = rows.keys(&from, &end, 1)?.pop() {
            let Some(group) = take_due_group(&key) else { break };
            from = list_end(group);
            let is_asked = query.graphs.iter().any(|(graph, newest)| is_due_group_of(group, graph, *newest));
            if is_asked { &mut groups.asked } else { &mut groups.others }.push(group.to_vec());
        }
        Ok(groups)
    }
}

/// A walk over the threads of some groups that are due.
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
    pub(super) fn until(groups: &[Vec<u8>], now: u64) -> Self {
        let ready = groups.iter().map(|group| DueList::whole(due_list(group, true)));
        let timed = groups.iter().map(|group| DueList::until(due_list(group, false), now.saturating_add(1)));
        Self { lists: ready.chain(timed).collect() }
    }

    /// Returns a walk over those that are due later.
    pub(super) fn after(groups: &[Vec<u8>], now: u64) -> Self {
        let lists = groups.iter().map(|group| DueList::since(due_list(group, false), now.saturating_add(1)));
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
