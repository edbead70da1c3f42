//! What is to run next: triggers, joins, deferred nodes, sends, as pure data. LangGraph keeps these as channels
//! (`branch:to:x`, `join:a+b:x`, `__pregel_tasks`); the rules are its `apply_writes` and `prepare_next_tasks`.
//!
//! Knows no state, store or clock.

use crate::graph::build::{Join, Wiring};
use crate::graph::records::START_NODE;
use crate::graph::state::Mask;

/// An edge-triggered node, and the version at which it was triggered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trigger {
    pub node: u32,
    pub version: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deferred {
    pub node: u32,
    pub version: u64,
    pub finished: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JoinState {
    pub arrived: Mask,
    pub version: u64,
    /// For a deferred target: true once the run has gone quiet. Otherwise: true if its edge's trigger was cleared in
    /// the superstep of the last arrival, so that both have one version.
    pub finished: bool,
}

/// The node that ran last, for `update_state` without `as_node`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastRan {
    pub version: u64,
    pub node: u32,
    pub tied: bool,
}

/// The dynamic part. `P` is what a send carries.
#[derive(Clone, Debug)]
pub(crate) struct Control<P> {
    pub version: u64,
    pub ready: Vec<Trigger>,
    pub deferred: Vec<Deferred>,
    pub joins: Vec<JoinState>,
    pub sends: Vec<(u32, P)>,
    pub last_ran: Option<LastRan>,
}

impl<P> Default for Control<P> {
    fn default() -> Self {
        Self { version: 0, ready: vec![], deferred: vec![], joins: vec![], sends: vec![], last_ran: None }
    }
}

/// Bookkeeping of one `begin`..`end` pass.
#[derive(Debug, Default)]
pub(crate) struct Applying {
    next: u64,
    /// Set once something that can start a node became available. LangGraph: `updated_channels` meets
    /// `trigger_to_nodes`.
    triggered: bool,
    /// The nodes whose triggers are cleared, if there are joins.
    cleared: Vec<u32>,
}

impl<P> Control<P> {
    pub(crate) fn new(wiring: &Wiring) -> Self {
        Self { joins: vec![JoinState::default(); wiring.joins.len()], ..Self::default() }
    }

    /// Returns the nodes that edges start next, by index, which is by name.
    pub(crate) fn pulls(&self, wiring: &Wiring, out: &mut Vec<u32>) {
        out.clear();
        out.extend(self.ready.iter().map(|trigger| trigger.node));
        out.extend(self.deferred.iter().filter(|deferred| deferred.finished).map(|deferred| deferred.node));
        let open = |(at, _): &(usize, &Join)| self.join_is_open(wiring, *at);
        out.extend(wiring.joins.iter().enumerate().filter(open).map(|(_, join)| join.target));
        if out.len() > 1 {
            out.sort_unstable();
            out.dedup();
        }
    }

    pub(crate) fn is_idle(&self, wiring: &Wiring) -> bool {
        let waits = self.deferred.iter().any(|deferred| deferred.finished);
        let joined = (0..wiring.joins.len()).any(|at| self.join_is_open(wiring, at));
        self.ready.is_empty() && self.sends.is_empty() && !waits && !joined
    }

    fn join_is_open(&self, wiring: &Wiring, at: usize) -> bool {
        let (join, state) = (&wiring.joins[at], &self.joins[at]);
        let complete = state.arrived.count() == join.sources.len();
        complete && (!wiring.deferred[join.target as usize] || state.finished)
    }

    /// Opens a superstep's apply over tasks that edges started: notes what they saw and consumes their triggers.
    pub(crate) fn begin(&mut self, wiring: &Wiring, pulls: &[u32]) -> Applying {
        self.note_last(wiring, pulls);
        if !self.deferred.is_empty() {
            self.deferred.retain(|deferred| !(deferred.finished && pulls.contains(&deferred.node)));
        }
        for at in 0..wiring.joins.len() {
            if pulls.contains(&wiring.joins[at].target) && self.join_is_open(wiring, at) {
                self.joins[at] = JoinState { version: self.version + 1, ..JoinState::default() };
            }
        }
        let cleared =
            if wiring.joins.is_empty() { vec![] } else { self.ready.iter().map(|ready| ready.node).collect() };
        Applying { next: self.version + 1, triggered: false, cleared }
    }

    /// Clears what lives for one superstep. Called before the new triggers are written.
    pub(crate) fn clear(&mut self) {
        self.ready.clear();
        self.sends.clear();
    }

    /// An edge, a router or a goto leads to `node`.
    pub(crate) fn trigger(&mut self, wiring: &Wiring, applying: &mut Applying, node: u32) {
        let version = applying.next;
        if wiring.deferred[node as usize] {
            self.deferred.retain(|deferred| deferred.node != node);
            self.deferred.push(Deferred { node, version, finished: false });
            return;
        }
        applying.triggered = true;
        match self.ready.iter_mut().find(|trigger| trigger.node == node) {
            Some(trigger) => trigger.version = version,
            None => self.ready.push(Trigger { node, version }),
        }
    }

    /// A source of a join has finished.
    pub(crate) fn arrive(&mut self, wiring: &Wiring, applying: &mut Applying, join: u32, source: u32) {
        let at = join as usize;
        if self.joins[at].arrived.insert(source as usize) {
            self.joins[at].version = applying.next;
            let target = wiring.joins[at].target;
            if !wiring.deferred[target as usize] {
                self.joins[at].finished = applying.cleared.contains(&target);
            }
            applying.triggered |= self.join_is_open(wiring, at);
        }
    }

    /// Closes the apply. A `bump` is a superstep (or a discard); input and commands are none. Returns whether the run
    /// has gone quiet: then deferred nodes are released, and the caller's channels are to be.
    pub(crate) fn end(&mut self, wiring: &Wiring, applying: &Applying, bump: bool) -> bool {
        self.version = applying.next;
        let quiet = bump && !applying.triggered;
        if quiet {
            self.release(wiring);
        }
        quiet
    }

    fn release(&mut self, wiring: &Wiring) {
        for deferred in self.deferred.iter_mut().filter(|deferred| !deferred.finished) {
            (deferred.finished, deferred.version) = (true, self.version);
        }
        for (join, state) in wiring.joins.iter().zip(&mut self.joins) {
            let complete = state.arrived.count() == join.sources.len();
            if wiring.deferred[join.target as usize] && complete && !state.finished {
                (state.finished, state.version) = (true, self.version);
            }
        }
    }

    fn note_last(&mut self, wiring: &Wiring, pulls: &[u32]) {
        for &node in pulls {
            let mut seen = |version: u64| self.last_ran = Some(later(self.last_ran, version, node));
            if node == START_NODE {
                seen(self.version);
                continue;
            }
            if let Some(trigger) = self.ready.iter().find(|trigger| trigger.node == node) {
                seen(trigger.version);
            }
            if let Some(deferred) = self.deferred.iter().find(|deferred| deferred.node == node) {
                seen(deferred.version);
            }
            for (join, state) in wiring.joins.iter().zip(&self.joins) {
                if join.target == node && state.version > 0 {
                    seen(state.version);
                    if state.finished && !wiring.deferred[node as usize] {
                        seen(state.version);
                    }
                }
            }
        }
    }
}

fn later(last: Option<LastRan>, version: u64, node: u32) -> LastRan {
    match last {
        Some(last) if last.version > version => last,
        Some(last) if last.version == version => LastRan { tied: true, ..last },
        _ => LastRan { version, node, tied: false },
    }
}
