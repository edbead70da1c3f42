//! What is to run next: triggers, joins, deferred nodes, sends, as pure data. LangGraph keeps these as channels
//! (`branch:to:x`, `join:a+b:x`, `__pregel_tasks`); the rules are its `apply_writes` and `prepare_next_tasks`.
//!
//! Knows no state, store or clock.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::graph::build::Wiring;
use crate::graph::records::START_NODE;
use crate::graph::state::Mask;

/// An edge-triggered node, and the version at which it was triggered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trigger {
    pub node: u32,
    pub version: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeferredNode {
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
pub(crate) struct LastNode {
    pub version: u64,
    pub node: u32,
    pub tied: bool,
}

/// Pending nodes and sends that one command scheduled. An update that takes the command's place does not choose them
/// anew, as it does what edges and routers scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Goto {
    /// The node that returned the command, or `COMMAND_KEY` for one given to the run.
    pub by: u32,
    pub nodes: Vec<u32>,
    /// Their places among all sends.
    pub sends: Range<u32>,
}

/// The dynamic part. `P` is what a send carries.
#[derive(Clone, Debug)]
pub(crate) struct Control<P> {
    pub version: u64,
    pub ready: Vec<Trigger>,
    pub deferred: Vec<DeferredNode>,
    /// The joins at which a source has arrived, or that fired lately.
    pub joins: BTreeMap<u32, JoinState>,
    pub sends: Vec<(u32, P)>,
    /// The part of `ready`, `deferred` and `sends` that commands scheduled.
    pub gotos: Vec<Goto>,
    pub last_ran: Option<LastNode>,
}

impl<P> Default for Control<P> {
    fn default() -> Self {
        let (ready, deferred, joins) = (vec![], vec![], BTreeMap::new());
        Self { version: 0, ready, deferred, joins, sends: vec![], gotos: vec![], last_ran: None }
    }
}

/// The number of triggers up to which they are searched one by one.
const FEW: usize = 16;

/// Bookkeeping of one `begin`..`end` pass.
#[derive(Debug, Default)]
pub(crate) struct ApplyPass {
    next: u64,
    /// Set once something that can start a node became available. LangGraph: `updated_channels` meets
    /// `trigger_to_nodes`.
    triggered: bool,
    /// The nodes that are triggered, once they are many.
    nodes: Option<Mask>,
    /// The number of triggers when it began, if they were not cleared.
    earlier: usize,
    /// The nodes whose triggers are cleared, by index, if there are joins.
    cleared: Vec<u32>,
}

impl<P> Control<P> {
    /// Returns a copy without the sends.
    pub(crate) fn without_sends(&self) -> Self {
        Self {
            version: self.version,
            ready: self.ready.clone(),
            deferred: self.deferred.clone(),
            joins: self.joins.clone(),
            sends: vec![],
            gotos: self.gotos.clone(),
            last_ran: self.last_ran,
        }
    }

    /// Returns the nodes that edges start next, by index, which is by name.
    pub(crate) fn pulls(&self, wiring: &Wiring, out: &mut Vec<u32>) {
        out.clear();
        out.extend(self.ready.iter().map(|trigger| trigger.node));
        out.extend(self.deferred.iter().filter(|deferred| deferred.finished).map(|deferred| deferred.node));
        let open = self.joins.iter().filter(|(at, state)| is_open(wiring, **at, state));
        out.extend(open.map(|(at, _)| wiring.joins[*at as usize].target));
        if out.len() > 1 {
            out.sort_unstable();
            out.dedup();
        }
    }

    /// Returns the node that an edge starts next, if that is all that is next and nothing else waits.
    pub(crate) fn lone_pull(&self) -> Option<u32> {
        match &self.ready[..] {
            [only] if self.deferred.is_empty() && self.joins.is_empty() && self.sends.is_empty() => Some(only.node),
            _ => None,
        }
    }

    pub(crate) fn is_idle(&self, wiring: &Wiring) -> bool {
        let waits = self.deferred.iter().any(|deferred| deferred.finished);
        let joined = self.joins.iter().any(|(at, state)| is_open(wiring, *at, state));
        self.ready.is_empty() && self.sends.is_empty() && !waits && !joined
    }

    /// Opens a superstep's apply over tasks that edges started, in the order of their plan: notes what they saw and
    /// consumes their triggers.
    pub(crate) fn begin(&mut self, wiring: &Wiring, pulls: &[u32]) -> ApplyPass {
        debug_assert!(pulls.is_sorted_by_key(|node| rank(*node)), "tasks are planned in order");
        if let ([only], Some(pulled)) = (pulls, self.lone_pull())
            && pulled == *only
            && wiring.joins.is_empty()
        {
            let latest = LastNode { version: self.ready[0].version, node: pulled, tied: false };
            self.last_ran = Some(later_run(self.last_ran, latest));
            return ApplyPass { next: self.version + 1, earlier: 1, ..ApplyPass::default() };
        }
        let pulled = |node: u32| pulls.binary_search_by_key(&rank(node), |pull| rank(*pull)).is_ok();
        self.note_last(wiring, pulled);
        if !self.deferred.is_empty() {
            self.deferred.retain(|deferred| !(deferred.finished && pulled(deferred.node)));
        }
        for (at, state) in &mut self.joins {
            if pulled(wiring.joins[*at as usize].target) && is_open(wiring, *at, state) {
                *state = JoinState { version: self.version + 1, ..JoinState::default() };
            }
        }
        self.forget_fired();
        let cleared = if wiring.joins.is_empty() { vec![] } else { self.ready_nodes() };
        ApplyPass { next: self.version + 1, earlier: self.ready.len(), cleared, ..ApplyPass::default() }
    }

    fn ready_nodes(&self) -> Vec<u32> {
        let mut nodes: Vec<u32> = self.ready.iter().map(|ready| ready.node).collect();
        nodes.sort_unstable();
        nodes
    }

    /// Drops joins that fired before the node that ran last was triggered: they can neither be that node nor tie with it.
    fn forget_fired(&mut self) {
        let Some(last) = self.last_ran else { return };
        self.joins.retain(|_, state| !state.arrived.is_empty() || state.version >= last.version);
    }

    /// Clears what lives for one superstep. Called before the new triggers are written.
    pub(crate) fn clear(&mut self, applying: &mut ApplyPass) {
        applying.earlier = 0;
        self.ready.clear();
        self.sends.clear();
        self.gotos.clear();
    }

    /// Notes that a command led to these nodes, and to this number of sends, which are added next.
    pub(crate) fn note_goto(&mut self, by: u32, nodes: &[u32], sends: u32) {
        if nodes.is_empty() && sends == 0 {
            return;
        }
        let first = self.sends.len() as u32;
        self.gotos.push(Goto { by, nodes: nodes.to_vec(), sends: first..first + sends });
    }

    /// An edge, a router or a goto leads to `node`.
    pub(crate) fn trigger(&mut self, wiring: &Wiring, applying: &mut ApplyPass, node: u32) {
        let version = applying.next;
        if wiring.deferred[node as usize] {
            self.deferred.retain(|deferred| deferred.node != node);
            self.deferred.push(DeferredNode { node, version, finished: false });
            return;
        }
        applying.triggered = true;
        let known = if self.ready.len() < FEW {
            self.ready.iter_mut().find(|trigger| trigger.node == node)
        } else {
            let nodes =
                applying.nodes.get_or_insert_with(|| self.ready.iter().map(|ready| ready.node as usize).collect());
            if nodes.insert(node as usize) {
                None
            } else if applying.earlier == 0 {
                return; // triggered by this apply, at the same version
            } else {
                self.ready.iter_mut().find(|trigger| trigger.node == node)
            }
        };
        match known {
            Some(trigger) => trigger.version = version,
            None => self.ready.push(Trigger { node, version }),
        }
    }

    /// A source of a join has finished.
    pub(crate) fn arrive(&mut self, wiring: &Wiring, applying: &mut ApplyPass, join: u32, source: u32) {
        let (target, state) = (wiring.joins[join as usize].target, self.joins.entry(join).or_default());
        if !state.arrived.insert(source as usize) {
            return;
        }
        state.version = applying.next;
        if !wiring.deferred[target as usize] {
            state.finished = applying.cleared.binary_search(&target).is_ok();
        }
        applying.triggered |= is_open(wiring, join, state);
    }

    /// Closes the apply. A `bump` is a superstep (or a discard); input and commands are none. Returns whether the run
    /// has gone quiet: then deferred nodes are released, and the caller's channels are to be.
    pub(crate) fn end(&mut self, wiring: &Wiring, applying: &ApplyPass, bump: bool) -> bool {
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
        for (at, state) in &mut self.joins {
            let join = &wiring.joins[*at as usize];
            let complete = state.arrived.count() == join.sources.len();
            if wiring.deferred[join.target as usize] && complete && !state.finished {
                (state.finished, state.version) = (true, self.version);
            }
        }
    }

    /// Notes which of the nodes that were `pulled` had the latest trigger.
    fn note_last(&mut self, wiring: &Wiring, pulled: impl Fn(u32) -> bool) {
        let mut latest = None;
        let mut seen = |version: u64, node: u32| latest = Some(later_trigger(latest, version, node));
        if pulled(START_NODE) {
            seen(self.version, START_NODE);
        }
        self.ready
            .iter()
            .filter(|trigger| pulled(trigger.node))
            .for_each(|trigger| seen(trigger.version, trigger.node));
        let deferred = self.deferred.iter().filter(|deferred| pulled(deferred.node));
        deferred.for_each(|deferred| seen(deferred.version, deferred.node));
        for (at, state) in &self.joins {
            let node = wiring.joins[*at as usize].target;
            if pulled(node) {
                seen(state.version, node);
                if state.finished && !wiring.deferred[node as usize] {
                    seen(state.version, node);
                }
            }
        }
        self.last_ran = latest.map(|latest| later_run(self.last_ran, latest)).or(self.last_ran);
    }
}

/// Returns the later of two nodes that ran; of two at the same version, the first.
fn later_run(last: Option<LastNode>, latest: LastNode) -> LastNode {
    match last {
        Some(last) if last.version > latest.version => last,
        Some(last) if last.version == latest.version => LastNode { tied: true, ..last },
        _ => latest,
    }
}

fn is_open(wiring: &Wiring, at: u32, state: &JoinState) -> bool {
    let join = &wiring.joins[at as usize];
    let complete = state.arrived.count() == join.sources.len();
    complete && (!wiring.deferred[join.target as usize] || state.finished)
}

/// The place of a node in the plan of a superstep: START, then the others by index.
fn rank(node: u32) -> u32 {
    node.wrapping_sub(START_NODE)
}

/// Returns the later of two triggers; of several at the same version, the first in the plan.
fn later_trigger(last: Option<LastNode>, version: u64, node: u32) -> LastNode {
    match last {
        Some(last) if last.version > version => last,
        Some(last) if last.version == version => {
            let node = if rank(node) < rank(last.node) { node } else { last.node };
            LastNode { version, node, tied: true }
        }
        _ => LastNode { version, node, tied: false },
    }
}
