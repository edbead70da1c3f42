//! Encoding a run: writes become rows, tasks and positions become records. Decoding is in `load`, and `control` has both.

use std::sync::Arc;

use super::control::{control_record, goto_records, plain_control};
pub(super) use crate::checkpoint::log_name as log_of;
use crate::checkpoint::{
    AboutRecord, CheckpointId, CheckpointRecord, ControlRecord, Key, LogRange, Row, RowId, SendRecord, Slot,
    TaskRecord, TaskStatus, WriteRecord, chunk_key,
};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::records::{CheckpointInfo, Durability, Puts, Recorder};
use crate::graph::state::{AnyWrites, Mask, Storage, value};
use crate::graph::superstep::{FinishedResult, Packet, Position, StoredWrites, Task};

/// The maximum number of channels that are copied when a checkpoint is encoded.
const COPIED: usize = 8;

/// Returns the key of a row. Entries of a log have a key range of their own; an overwrite of a log is a value, not an
/// entry.
pub(crate) fn row_key(table: &Table, path: &str, channel: usize, overwrite: bool, row: RowId) -> Key {
    match table.schema.channels()[channel].storage() {
        Storage::Log | Storage::Delta if !overwrite => Key::Log { channel: log_name(table, path, channel), row },
        _ => Key::Row(row),
    }
}

/// Returns the log of a channel; each subgraph has logs of its own.
pub(crate) fn log_name(table: &Table, path: &str, channel: usize) -> String {
    log_of(path, table.channel(channel))
}

/// Returns the log that holds entries of a channel: its own, or that of an enclosing graph.
pub(crate) fn log_with(table: &Table, path: &str, channel: usize, range: &LogRange) -> String {
    log_of(range.log.as_deref().unwrap_or(path), table.channel(channel))
}

pub(crate) fn sends(table: &Table, sends: &[(u32, Packet)], puts: &mut Puts) -> Result<Vec<SendRecord>, RunError> {
    let mut records = Vec::with_capacity(sends.len());
    for (node, packet) in sends {
        let bytes = packet.payload.encode()?;
        if cfg!(debug_assertions) {
            let row = table.row(*node);
            value::check_decoded(
                || format!("payload of `{}`", row.name),
                row.body.payload(&bytes).map_err(|misread| misread.reason),
            )?;
        }
        puts.push((Key::Row(packet.row), bytes.into()));
        records.push(SendRecord { node: *node, payload: packet.row });
    }
    Ok(records)
}

/// Encodes a task's writes, one row each.
pub(crate) fn rows(
    table: &Table,
    path: &str,
    made_by: (CheckpointId, u32),
    writes: &AnyWrites,
    puts: &mut Puts,
) -> Result<StoredWrites, RunError> {
    let mut rows = StoredWrites::default();
    add_rows(table, path, made_by, writes, (&mut rows, puts))?;
    Ok(rows)
}

/// Encodes a task's writes as [`rows`] does, beside others.
pub(crate) fn add_rows(
    table: &Table,
    path: &str,
    made_by: (CheckpointId, u32),
    writes: &AnyWrites,
    (rows, puts): (&mut StoredWrites, &mut Puts),
) -> Result<(), RunError> {
    rows.reserve(writes.0.len());
    for (slot, write) in (0u32..).zip(&writes.0) {
        let channel = write.channel();
        let overwrite = write.overwrites();
        let stored = table.schema.channels()[channel].storage();
        let record = WriteRecord { channel: channel as u32, overwrite, row: None };
        if stored == Storage::Never {
            rows.push(record, stored, &[]);
            continue;
        }
        let row = RowId { checkpoint: made_by.0, task: made_by.1, slot };
        let bytes = table.schema.encode_write(write)?;
        rows.push(WriteRecord { row: Some(row), ..record }, stored, &bytes);
        puts.push((row_key(table, path, channel, overwrite, row), bytes.into()));
    }
    Ok(())
}

/// Encodes the sends of a finished task and returns its record.
pub(crate) fn result(table: &Table, task: &Task, done: &FinishedResult, puts: &mut Puts) -> Result<Row, RunError> {
    if let Some(plain) = plain_result(task, done) {
        return Ok(plain);
    }
    Ok(Row::record(TaskRecord {
        status: TaskStatus::Done,
        writes: done.stored.rows.clone(),
        targets: done.routing.targets.clone(),
        sends: sends(table, &done.routing.sends, puts)?,
        chosen: done.routing.chosen,
        cached: done.cached,
        children: done.children.clone(),
        ..task.to_record()
    }))
}

/// Returns the record of a task that has at most one write and one target, and no past.
fn plain_result(task: &Task, done: &FinishedResult) -> Option<Row> {
    let FinishedResult { stored, routing, cached, children, .. } = done;
    let is_plain = task.record.is_empty() && children.is_empty() && routing.sends.is_empty();
    if !is_plain || stored.rows.len() > 1 || routing.targets.len() > 1 {
        return None;
    }
    let (write, target) = (stored.rows.first().copied(), routing.targets.first().copied());
    let (starts, chosen, cached) = (task.starts, routing.chosen, *cached);
    Some(Row::made_by(move || {
        let (writes, targets) = (Vec::from_iter(write), Vec::from_iter(target));
        starts.with(TaskRecord { status: TaskStatus::Done, writes, targets, chosen, cached, ..TaskRecord::default() })
    }))
}

/// Encodes a position as a checkpoint, together with the graph's shape and the thread's own record if the store does
/// not have them.
pub(crate) fn checkpoint(
    table: &Table,
    pos: &mut Position,
    path: &str,
    recorder: &Recorder,
    puts: &mut Puts,
) -> Result<(), RunError> {
    pos.settle(table, puts)?;
    for (channel, (last, bytes)) in pos.channels.chunks.drain(..) {
        puts.extend(chunk_key(&log_name(table, path, channel), last).map(|key| (key, bytes.into())));
    }
    let whole = recorder.durability() == Durability::Exit;
    // What was loaded, or was stored by this run, is in the shape of this table.
    let has_shape = pos.channels.base.is_some();
    let record = record(table, pos, path, recorder.lease().epoch(), whole);
    let identity = &table.identity;
    if !has_shape && recorder.is_new_shape(identity.fingerprint) {
        puts.push((Key::Shape(identity.fingerprint), Row::record(Arc::clone(&identity.shape))));
    }
    if let Some(graph) = recorder.take_introduction() {
        let (graph, stops) = (graph.to_owned(), recorder.stops().to_vec());
        let (created_at, place) = (pos.meta.created_at, recorder.place().cloned());
        let about = AboutRecord { graph, created_at, stops, place, ..AboutRecord::default() };
        puts.push((Key::About, Row::record(about)));
    }
    puts.push((checkpoint_key(path, pos.meta.id), record));
    Ok(())
}

/// Returns the key of a checkpoint of the root graph or of a subgraph, by its namespace.
pub(crate) fn checkpoint_key(path: &str, id: CheckpointId) -> Key {
    if path.is_empty() { Key::Checkpoint(id) } else { Key::Nested(id) }
}

/// Encodes the position, and marks its channels as saved. Only channels that moved since the last complete map are written,
/// unless those are most of them, or there are few channels.
fn record(table: &Table, pos: &mut Position, path: &str, epoch: u64, whole: bool) -> Row {
    let few = pos.channels.slots.len() <= 16 && !is_of_task(path);
    let most = pos.channels.moved.count() * 2 > pos.channels.slots.len();
    let whole = whole || few || most || pos.channels.base.is_none();
    let slot = |at: usize| (at as u32, pos.channels.slots[at].clone());
    let channels: Vec<_> = if whole {
        let stored = || (0..pos.channels.slots.len()).filter(|&at| pos.channels.slots[at] != Slot::Absent);
        let mut channels = Vec::with_capacity(stored().count());
        channels.extend(stored().map(slot));
        channels
    } else {
        pos.channels.moved.iter().map(slot).collect()
    };
    let base = if whole { None } else { pos.channels.base };
    if whole {
        pos.channels.base = Some(pos.meta.id);
        pos.channels.moved = Mask::default();
    }
    let (line, shape) = (pos.channels.line, table.identity.fingerprint);
    let CheckpointInfo { parent, source, step, created_at, .. } = pos.meta;
    let plain = move |control: ControlRecord, channels| CheckpointRecord {
        parent,
        namespace: String::new(),
        source,
        step,
        created_at,
        shape,
        epoch,
        line,
        control,
        base,
        channels,
        carried: vec![],
        children: vec![],
        metadata: vec![],
        journals: vec![],
        gotos: vec![],
    };
    let beside = path.is_empty() && pos.start.is_none() && pos.channels.unknown.is_empty() && pos.children.is_empty();
    if beside
        && pos.meta.metadata.is_empty()
        && channels.len() <= COPIED
        && let Some(control) = plain_control(&pos.control)
    {
        return Row::made_by(move || plain(control(), channels.clone()));
    }
    let control = control_record(&pos.control, pos.start.as_ref().map(|start| start.stored.rows.clone()));
    Row::record(CheckpointRecord {
        namespace: path.to_owned(),
        carried: pos.channels.unknown.clone(),
        children: pos.children.clone(),
        metadata: pos.meta.metadata.clone(),
        gotos: goto_records(&pos.control),
        ..plain(control, channels)
    })
}

/// Returns true if a subgraph's checkpoints belong to one task. They are kept together, and most of them are few: a complete map
/// in each would be most of what a call stores.
pub(crate) fn is_of_task(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|last| last.contains(':'))
}
