//! What a stored checkpoint plans, read from its records alone. The graph of a run asks `Control` instead.

use std::collections::BTreeSet;

use super::ids::START_NODE;
use crate::checkpoint::{ControlRecord, JoinRecord, Shape};

impl ControlRecord {
    /// Returns the nodes that edges start, deferred ones included, without the targets of joins.
    pub(crate) fn triggered(&self) -> BTreeSet<u32> {
        let ready = self.ready.iter().map(|(node, _)| *node);
        ready
            .chain(self.deferred.iter().map(|(node, ..)| *node))
            .chain(self.start.is_some().then_some(START_NODE))
            .collect()
    }

    /// Returns true if something has arrived at a join.
    pub(crate) fn has_arrivals(&self) -> bool {
        self.joins.iter().any(|(_, join)| arrived(join) > 0)
    }

    /// Returns the targets of complete joins; `known`: the number of sources of each join of the graph, and its target.
    pub(crate) fn complete_joins(&self, known: impl Fn(usize) -> Option<(usize, u32)>) -> Vec<u32> {
        let complete = self.joins.iter().filter_map(|(at, join)| {
            let (sources, target) = known(*at as usize)?;
            (arrived(join) == sources).then_some(target)
        });
        complete.collect()
    }

    /// Returns true if nothing is planned, whatever the graph is.
    pub(crate) fn plans_nothing(&self) -> bool {
        let nodes = self.ready.is_empty() && self.deferred.is_empty() && self.start.is_none();
        nodes && self.sends.is_empty() && !self.has_arrivals()
    }

    /// Returns true if nothing runs next. A deferred node that the end did not release stays where it is.
    pub(crate) fn is_over(&self, shape: &Shape) -> bool {
        let waits = self.deferred.iter().any(|(.., finished)| *finished);
        let sources = |at: usize| shape.joins.get(at).map(|(sources, target)| (sources.len(), *target));
        let joined = !self.complete_joins(sources).is_empty();
        self.start.is_none() && self.ready.is_empty() && self.sends.is_empty() && !waits && !joined
    }
}

fn arrived(join: &JoinRecord) -> usize {
    join.arrived.iter().map(|word| word.count_ones() as usize).sum()
}
