//! The tasks that commands scheduled, when an update takes the place of their superstep: edges and routers of the updated
//! node choose anew, but no command does. Knows no store.

use crate::graph::records::{COMMAND_KEY, START_NODE};
use crate::graph::run::Run;
use crate::graph::superstep::{Applying, Goto, Packet};
use crate::graph::view::EdgeKind;

/// The scheduled tasks that stay pending, and the nodes of those that do not.
#[derive(Default)]
pub(super) struct Scheduled {
    kept: Vec<KeptGoto>,
    pub dropped: Vec<u32>,
}

struct KeptGoto {
    by: u32,
    nodes: Vec<u32>,
    sends: Vec<(u32, Packet)>,
}

/// The nodes that a superstep of updates is attributed to.
pub(super) struct Attribution {
    nodes: Vec<u32>,
    /// Set if the caller named none.
    is_inferred: bool,
    /// Set if no edge or router of these nodes says where the graph continues.
    is_silent: bool,
}

impl Attribution {
    pub(super) fn new(run: &Run, nodes: Vec<u32>, is_inferred: bool) -> Self {
        let is_silent = nodes.iter().all(|node| is_silent(run, *node));
        Self { nodes, is_inferred, is_silent }
    }

    /// Returns true if the update takes the place of what scheduled this: it changes the state only, or is the result of
    /// that node.
    fn continues(&self, goto: &Goto) -> bool {
        self.is_inferred || self.nodes.contains(&goto.by)
    }

    /// Returns true if what a command scheduled stays pending. A command given to the run is none of a node: as in
    /// LangGraph, it ends with the superstep for which it was given.
    fn keeps(&self, goto: &Goto) -> bool {
        goto.by != COMMAND_KEY && (self.continues(goto) || self.is_silent)
    }

    /// Returns true if the update is the result of this pending node.
    fn replaces(&self, goto: &Goto, node: u32) -> bool {
        !self.continues(goto) && self.nodes.contains(&node)
    }
}

fn is_silent(run: &Run, node: u32) -> bool {
    let outline = &run.table.outline;
    node != START_NODE
        && run.table.exits(node).routers.is_empty()
        && !outline.edges.iter().any(|edge| edge.from == Some(node as usize) && edge.kind != EdgeKind::Commanded)
        && !outline.joins.iter().any(|(sources, _)| sources.contains(&(node as usize)))
}

impl Scheduled {
    /// Sorts the pending tasks that commands scheduled.
    pub(super) fn of(run: &Run, update: &Attribution) -> Self {
        let mut scheduled = Self::default();
        let control = &run.pos.control;
        for goto in &control.gotos {
            let sends = control.sends.get(goto.sends.start as usize..goto.sends.end as usize).unwrap_or_default();
            if update.keeps(goto) {
                let nodes = goto.nodes.iter().copied().filter(|node| !update.replaces(goto, *node)).collect();
                let sends = sends.iter().filter(|(node, _)| !update.replaces(goto, *node)).cloned().collect();
                scheduled.kept.push(KeptGoto { by: goto.by, nodes, sends });
                continue;
            }
            let is_deferred = |node: u32| run.table.wiring.deferred[node as usize] && goto.by != COMMAND_KEY;
            let waits = |node: &u32| !is_deferred(*node); // a node that is deferred waits on
            let nodes = goto.nodes.iter().copied().filter(waits).chain(sends.iter().map(|(node, _)| *node));
            scheduled.dropped.extend(nodes.filter(|node| !update.nodes.contains(node)));
        }
        scheduled
    }

    /// Schedules anew what stays pending, once the superstep's own triggers were cleared.
    pub(super) fn restore(self, run: &mut Run, applying: &mut Applying) {
        let (wiring, control) = (&run.table.wiring, &mut run.pos.control);
        for KeptGoto { by, nodes, sends } in self.kept {
            control.note_goto(by, &nodes, sends.len() as u32);
            control.sends.extend(sends);
            for node in nodes {
                // A deferred node is not cleared; where it was released already, it stays so.
                if !control.deferred.iter().any(|deferred| deferred.node == node) {
                    control.trigger(wiring, applying, node);
                }
            }
        }
    }
}
