//! The control of a position as records and back: pending tasks, joins, sends. Tasks of a node that is gone, or that is
//! started in another way now, are noted as incompatible and left out.

use crate::checkpoint::{CheckpointRecord, ControlRecord, GotoRecord, JoinRecord, Key, SendRecord, WriteRecord};
use crate::graph::build::{Join, Table};
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::records::{COMMAND_KEY, Mapping, Reader, SENT, START_NODE};
use crate::graph::state::Mask;
use crate::graph::superstep::{Control, DeferredNode, Goto, JoinState, LastNode, Packet, Trigger};

const BY_SENDS: &str = "only sends start it now";
const BY_EDGES: &str = "no send starts it now";

/// Returns what runs next as a record.
pub(super) fn control_record(control: &Control<Packet>, start: Option<Vec<WriteRecord>>) -> ControlRecord {
    let joins = control.joins.iter();
    ControlRecord {
        version: control.version,
        start,
        ready: control.ready.iter().map(|trigger| (trigger.node, trigger.version)).collect(),
        deferred: control.deferred.iter().map(|at| (at.node, at.version, at.finished)).collect(),
        joins: joins
            .map(|(at, join)| {
                let record =
                    JoinRecord { arrived: join.arrived.words(), version: join.version, finished: join.finished };
                (*at, record)
            })
            .collect(),
        sends: control.sends.iter().map(|(node, packet)| SendRecord { node: *node, payload: packet.row }).collect(),
        last_ran: control.last_ran.map(|last| (last.version, last.node, last.tied)),
    }
}

/// Returns what makes the record of what runs next, if that is at most one node that an edge started.
pub(super) fn plain_control(control: &Control<Packet>) -> Option<impl Fn() -> ControlRecord + Send + Sync + 'static> {
    let Control { version, ready, deferred, joins, sends, gotos, last_ran } = control;
    if ready.len() > 1 || !(deferred.is_empty() && joins.is_empty() && sends.is_empty() && gotos.is_empty()) {
        return None;
    }
    let (version, ready) = (*version, ready.first().map(|trigger| (trigger.node, trigger.version)));
    let last_ran = last_ran.map(|last| (last.version, last.node, last.tied));
    Some(move || ControlRecord { version, ready: Vec::from_iter(ready), last_ran, ..ControlRecord::default() })
}

/// Returns what commands scheduled as records.
pub(super) fn goto_records(control: &Control<Packet>) -> Vec<GotoRecord> {
    let record = |goto: &Goto| GotoRecord {
        by: goto.by,
        nodes: goto.nodes.clone(),
        sends: (goto.sends.start, goto.sends.len() as u32),
    };
    control.gotos.iter().map(record).collect()
}

impl Reader {
    pub(crate) async fn control(
        &self,
        table: &Table,
        record: &CheckpointRecord,
        mapping: &Mapping,
    ) -> Result<Control<Packet>, RunError> {
        let stored = &record.control;
        let mut control = Control { version: stored.version, ..Control::default() };
        for &(at, version) in &stored.ready {
            if let Some(node) = by_edge(table, mapping, at, Some(at)) {
                trigger(table, &mut control, DeferredNode { node, version, finished: true });
            }
        }
        for &(at, version, finished) in &stored.deferred {
            if let Some(node) = by_edge(table, mapping, at, finished.then_some(at)) {
                trigger(table, &mut control, DeferredNode { node, version, finished });
            }
        }
        for (at, join) in &stored.joins {
            arrive(table, mapping, &mut control, *at as usize, join);
        }
        control.last_ran = stored.last_ran.map(|(version, at, tied)| match mapping.node(at) {
            Ok(node) => LastNode { version, node, tied },
            Err(_) => LastNode { version, node: START_NODE, tied: true },
        });
        let (sends, left) = self.waiting_sends(table, &stored.sends, mapping).await?;
        control.sends = sends;
        control.gotos = record.gotos.iter().filter_map(|goto| read_goto(mapping, &left, goto)).collect();
        Ok(control)
    }

    /// Reads the pending sends that can be started. Returns their stored places as well.
    async fn waiting_sends(
        &self,
        table: &Table,
        sends: &[SendRecord],
        mapping: &Mapping,
    ) -> Result<(Vec<(u32, Packet)>, Vec<u32>), RunError> {
        let (mut packets, mut left) = (vec![], vec![]);
        let rows = self.rows(sends.iter().map(|send| Key::Row(send.payload)).collect()).await?;
        for ((place, send), bytes) in (0u32..).zip(sends).zip(rows) {
            match self.packet(table, send, &bytes, mapping) {
                Ok(packet) => {
                    packets.push(packet);
                    left.push(place);
                }
                Err((node, misfit)) => mapping.note_lost(SENT + place, node, misfit),
            }
        }
        if left.len() < sends.len() {
            mapping.note_sends(left.clone());
        }
        Ok((packets, left))
    }

    /// Reads the sends of a finished task.
    pub(super) async fn sends(
        &self,
        table: &Table,
        sends: &[SendRecord],
        mapping: &Mapping,
    ) -> Result<Vec<(u32, Packet)>, RunError> {
        let rows = self.rows(sends.iter().map(|send| Key::Row(send.payload)).collect()).await?;
        let mut packets = vec![];
        for (send, bytes) in sends.iter().zip(rows) {
            match self.packet(table, send, &bytes, mapping) {
                Ok(packet) => packets.push(packet),
                Err((_, misfit)) => mapping.note(misfit),
            }
        }
        Ok(packets)
    }

    /// Reads a send and its worker; or the worker's name, and the reason why it cannot be started.
    fn packet(
        &self,
        table: &Table,
        send: &SendRecord,
        bytes: &[u8],
        mapping: &Mapping,
    ) -> Result<(u32, Packet), (String, Incompatibility)> {
        let gone = |node: String| (node.clone(), Incompatibility::Node { node });
        let node = mapping.node(send.node).map_err(gone)?;
        let row = table.row(node);
        let name = row.name.to_string();
        if row.body.payload_type().is_none() {
            let misfit = Incompatibility::NotStartable { node: name.clone(), reason: BY_EDGES.into() };
            return Err((name, misfit));
        }
        match row.body.payload(bytes) {
            Ok(payload) => Ok((node, Packet { payload, row: send.payload })),
            Err(misread) => {
                let unreadable = self.unreadable_value(&format!("payload of `{name}`"), mapping.at, misread);
                Err((name, Incompatibility::Value(Box::new(unreadable))))
            }
        }
    }
}

/// Returns the present node that an edge triggered or a task leads to. `planned`: the key of its planned task.
pub(crate) fn by_edge(table: &Table, mapping: &Mapping, at: u32, planned: Option<u32>) -> Option<u32> {
    let (name, misfit) = match mapping.node(at) {
        Ok(node) if table.row(node).body.by_edges() => return Some(node),
        Ok(node) => {
            let name = table.row(node).name.to_string();
            (name.clone(), Incompatibility::NotStartable { node: name, reason: BY_SENDS.into() })
        }
        Err(name) => (name.clone(), Incompatibility::Node { node: name }),
    };
    match planned {
        Some(key) => mapping.note_lost(key, name, misfit),
        None => mapping.note(misfit),
    }
    None
}

/// Reads what a command scheduled; `left` are the places of the sends that can be started.
fn read_goto(mapping: &Mapping, left: &[u32], stored: &GotoRecord) -> Option<Goto> {
    let by = if stored.by == COMMAND_KEY { stored.by } else { mapping.node(stored.by).ok()? };
    let nodes = stored.nodes.iter().filter_map(|at| mapping.node(*at).ok()).collect();
    let (first, count) = stored.sends;
    let place = |at: u32| left.partition_point(|place| *place < at) as u32;
    Some(Goto { by, nodes, sends: place(first)..place(first.saturating_add(count)) })
}

/// Triggers a node, deferred or not as it is declared in this version of the graph.
fn trigger(table: &Table, control: &mut Control<Packet>, waits: DeferredNode) {
    if table.wiring.deferred[waits.node as usize] {
        control.deferred.push(waits);
    } else {
        control.ready.push(Trigger { node: waits.node, version: waits.version });
    }
}

/// Restores a join: the one into the same node that waits for the same nodes, or for some of them.
fn arrive(table: &Table, mapping: &Mapping, control: &mut Control<Packet>, at: usize, stored: &JoinRecord) {
    let arrived = Mask::from_words(&stored.arrived);
    let (version, finished) = (stored.version, stored.finished);
    let Some(joins) = mapping.joins() else {
        if at < table.wiring.joins.len() {
            control.joins.insert(at as u32, JoinState { arrived, version, finished });
        } else {
            mapping.note(Incompatibility::Node { node: format!("after join number {at}") });
        }
        return;
    };
    let Some((sources, target)) = joins.get(at) else { return };
    let found = match mapping.node(*target) {
        Ok(target) => find_join(table, mapping, sources, target),
        Err(name) if arrived.count() == sources.len() => {
            return mapping.note_lost(*target, name.clone(), Incompatibility::Node { node: name });
        }
        Err(_) => Err(vec![]),
    };
    match found {
        Ok((join, now)) => {
            let present = |source: &u32| {
                let stored = sources.iter().position(|at| mapping.node(*at).is_ok_and(|at| at == *source));
                stored.is_some_and(|stored| arrived.contains(stored))
            };
            let arrived = now.sources.iter().enumerate().filter(|(_, source)| present(source)).map(|(bit, _)| bit);
            let state = JoinState { arrived: arrived.collect(), version, finished };
            control.joins.insert(join as u32, state);
        }
        Err(added) if arrived.count() > 0 => {
            let sources = sources.iter().map(|at| mapping.name_now(table, *at)).collect();
            mapping.note(Incompatibility::Join { sources, target: mapping.name_now(table, *target), added });
        }
        Err(_) => {}
    }
}

/// Returns the join of these sources into a node; or the sources that it waits for besides.
fn find_join<'a>(
    table: &'a Table,
    mapping: &Mapping,
    sources: &[u32],
    target: u32,
) -> Result<(usize, &'a Join), Vec<String>> {
    let sources: Vec<u32> = sources.iter().filter_map(|at| mapping.node(*at).ok()).collect();
    let into = || table.wiring.joins.iter().enumerate().filter(|(_, join)| join.target == target);
    let added = |join: &Join| join.sources.iter().filter(|at| !sources.contains(at)).count();
    let gone = |join: &Join| sources.iter().filter(|at| !join.sources.contains(at)).count();
    let nearest = into().min_by_key(|(_, join)| (added(join), gone(join))).ok_or_else(Vec::new)?;
    let new = nearest.1.sources.iter().filter(|at| !sources.contains(at));
    let new: Vec<String> = new.map(|at| table.row(*at).name.to_string()).collect();
    if new.is_empty() { Ok(nearest) } else { Err(new) }
}
