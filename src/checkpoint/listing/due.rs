//! Threads that can go on by themselves: the question of a host of graphs, and the answer of a store.

use std::collections::{BTreeMap, HashSet};
use std::time::SystemTime;

use superstep_base::gather;
use superstep_base::time::{millis, now, system_time};

use super::query::ThreadQuery;
use super::summary::ListedThread;
use crate::checkpoint::key::ThreadId;
use crate::checkpoint::leases::lease::Lease;
use crate::checkpoint::leases::place::ThreadPlace;

/// A request for threads that can go on now: a run was stored but not run or its owner is gone, an answer was recorded
/// elsewhere, a signal came, the end of a wait has passed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DueQuery {
    /// The graphs whose threads are asked for: the name, and the newest version of a graph that the caller has. Threads that a
    /// newer version stored are left out.
    pub graphs: BTreeMap<String, u32>,
    /// The machine whose threads are asked for, besides those without a place; `None`: those of every machine.
    pub machine: Option<String>,
    /// Threads that are left out: the caller is still busy with them.
    pub except: HashSet<ThreadId>,
    /// Returns threads that were left as well, unless somebody cancelled them: for the first request of a host, whose program
    /// may be another one than that which left them.
    pub with_left: bool,
    /// Returns the [other](DueThreads::others) graphs as well, which costs a look at their threads.
    pub finds_others: bool,
    /// The maximum number of threads.
    pub limit: usize,
    /// The time that decides whether a thread still waits; the store's clock unless set.
    pub at: Option<SystemTime>,
}

/// Threads that can go on now.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct DueThreads {
    /// The threads, those that have been due for the longest time first, each with the lease under which it can be run.
    pub threads: Vec<(Lease, ListedThread)>,
    /// The first later time at which another thread of these graphs can go on.
    pub next: Option<SystemTime>,
    /// Graphs that were not asked for and have threads that are due, each with the newest version that stored one of them.
    pub others: BTreeMap<String, u32>,
}

impl DueQuery {
    /// Returns a request for threads of these graphs, of any version, on this machine or without a place.
    pub fn new(graphs: impl IntoIterator<Item = impl Into<String>>, limit: usize) -> Self {
        Self {
            graphs: gather(graphs.into_iter().map(|graph| (graph.into(), u32::MAX))),
            machine: Some(ThreadPlace::machine_id()),
            limit,
            ..Self::default()
        }
    }

    /// Returns the time that decides whether a thread still waits, in milliseconds since 1970.
    pub(crate) fn time(&self) -> u64 {
        self.at.map_or_else(now, millis)
    }

    /// Returns true if a thread is one of those that are asked for, whether or not it is due.
    pub(crate) fn fits(&self, thread: &ListedThread) -> bool {
        let machines = self.machine.as_ref().zip(thread.place.as_ref());
        let is_here = machines.is_none_or(|(machine, place)| *machine == place.machine);
        is_here && self.asks_for(thread) && !self.except.contains(&thread.id)
    }

    /// Returns true if the graph of a thread is asked for, in a version that can have stored it.
    fn asks_for(&self, thread: &ListedThread) -> bool {
        self.graphs.get(&thread.graph).is_some_and(|newest| thread.version <= *newest)
    }

    /// Returns the list in which all threads are that may be due, now or later.
    pub(crate) fn candidates(&self) -> ThreadQuery {
        ThreadQuery { at: self.at, ..ThreadQuery::default() }
    }

    /// Chooses from a list the names of the threads that are due, those due for the longest time first.
    pub(crate) fn choose(&self, listed: Vec<ListedThread>) -> DueChoice {
        let mut choice = DueChoice::default();
        if self.finds_others {
            let others = listed.iter().filter(|thread| thread.can_resume() && !self.asks_for(thread));
            others.for_each(|thread| note_version(&mut choice.others, &thread.graph, thread.version));
        }
        let listed = listed.into_iter().filter(|thread| self.fits(thread));
        let (mut due, later): (Vec<_>, Vec<_>) = listed.partition(ListedThread::can_resume);
        due.sort_by_key(|thread| thread.due);
        choice.next = later.into_iter().filter_map(|thread| thread.due).min().map(system_time);
        choice.names = due.into_iter().map(|thread| thread.id).collect();
        choice
    }
}

/// A choice from a list: threads that are due, the first later time at which another one is, and graphs that are not asked for.
#[derive(Debug, Default)]
pub(crate) struct DueChoice {
    pub(crate) names: Vec<ThreadId>,
    pub(crate) next: Option<SystemTime>,
    pub(crate) others: BTreeMap<String, u32>,
}

/// Notes a version of a graph, if it is the newest one of that graph.
pub(crate) fn note_version(graphs: &mut BTreeMap<String, u32>, graph: &str, version: u32) {
    let newest = graphs.entry(graph.to_owned()).or_default();
    *newest = version.max(*newest);
}
