//! From a run to records: writes become rows, tasks and positions become records. The way back is in `load`.

use crate::checkpoint::{
    AboutRecord, CheckpointId, CheckpointRecord, ControlRecord, JoinRecord, Key, RowId, SendRecord, TaskRecord,
    TaskStatus, WriteRecord, encode_record,
};

use super::recorder::{Durability, Puts, Recorder};
use crate::graph::channels::channel::Stored;
use crate::graph::channels::mask::Mask;
use crate::graph::channels::state::State;
use crate::graph::channels::value;
use crate::graph::channels::writes::Writes;
use crate::graph::compile::table::Table;
use crate::graph::define::node::NodeId;
use crate::graph::run::control::Control;
use crate::graph::run::error::RunError;
use crate::graph::run::position::{Finished, Packet, Position};
use crate::graph::run::superstep::{Caller, Run};
use crate::graph::run::task::{Stand, Task, UPDATE_KEY};

/// Encodes a task's writes, one row each.
pub(crate) fn rows<S: State, N: NodeId, C>(
    table: &Table<S, N, C>,
    path: &str,
    made_by: (CheckpointId, u32),
    writes: &Writes<S>,
    puts: &mut Puts,
) -> Result<(Vec<WriteRecord>, Vec<u64>), RunError> {
    let (mut rows, mut sizes) = (Vec::with_capacity(writes.0.len()), Vec::with_capacity(writes.0.len()));
    for (slot, write) in (0u32..).zip(&writes.0) {
        let channel = S::channel_of(write);
        let overwrite = S::overwrites(write);
        let stored = S::channels(&table.schema)[channel].stored();
        let mut record = WriteRecord { channel: channel as u32, overwrite, row: None };
        if stored == Stored::Never {
            rows.push(record);
            sizes.push(0);
            continue;
        }
        let row = RowId { checkpoint: made_by.0, task: made_by.1, slot };
        let bytes = value::encode_write::<S>(&table.schema, write)?;
        sizes.push(bytes.len() as u64);
        record.row = Some(row);
        rows.push(record);
        puts.push((row_key(table, path, channel, overwrite, row), bytes));
    }
    Ok((rows, sizes))
}

/// Entries of a log stand together, apart from other rows; an overwrite of a log is a value, not an entry.
pub(crate) fn row_key<S: State, N: NodeId, C>(
    table: &Table<S, N, C>,
    path: &str,
    channel: usize,
    overwrite: bool,
    row: RowId,
) -> Key {
    match S::channels(&table.schema)[channel].stored() {
        Stored::Log | Stored::Delta if !overwrite => Key::Log { channel: log_name(table, path, channel), row },
        _ => Key::Row(row),
    }
}

/// The same channel of a subgraph has a log of its own.
pub(crate) fn log_name<S: State, N: NodeId, C>(table: &Table<S, N, C>, path: &str, channel: usize) -> String {
    log_of(path, table.channel(channel))
}

/// The log of a channel by name.
pub(crate) fn log_of(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}\u{0}{name}") }
}

pub(crate) fn sends<S: State, N: NodeId, C>(
    table: &Table<S, N, C>,
    sends: &[(u32, Packet)],
    puts: &mut Puts,
) -> Result<Vec<SendRecord>, RunError> {
    let mut records = Vec::with_capacity(sends.len());
    for (node, packet) in sends {
        let bytes = packet.payload.encode()?;
        if cfg!(debug_assertions) {
            let row = table.row(*node);
            value::reread(
                || format!("payload of `{}`", row.name),
                row.body.payload(&bytes).map_err(|misread| misread.reason),
            )?;
        }
        puts.push((Key::Row(packet.row), bytes));
        records.push(SendRecord { node: *node, payload: packet.row });
    }
    Ok(records)
}

fn result<S: State, N: NodeId, C>(
    table: &Table<S, N, C>,
    task: &Task<S>,
    done: &Finished<S>,
    puts: &mut Puts,
) -> Result<TaskRecord, RunError> {
    Ok(TaskRecord {
        status: TaskStatus::Done,
        writes: done.rows.clone(),
        targets: done.targets.clone(),
        sends: sends(table, &done.sends, puts)?,
        chosen: done.chosen,
        cached: done.cached,
        children: done.children.clone(),
        ..task.record()
    })
}

/// Encodes one of several finished tasks.
pub(crate) fn task<S: State, N: NodeId, C: Send + Sync + 'static>(
    run: &Run<S, N, C>,
    at: usize,
    done: &mut Finished<S>,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let task = &run.tasks[at];
    let made_by = (run.pos.id, task.key);
    (done.rows, done.sizes) = rows(&run.table, &run.level.path, made_by, &done.writes, puts)?;
    let record = result(&run.table, task, done, puts)?;
    puts.push((run.task_key(task.key), encode_record(&record)?));
    done.saved = true;
    Ok(())
}

/// Encodes what a lone task wrote; its record follows once its routers have chosen.
pub(crate) fn lone_rows<S: State, N: NodeId, C: Send + Sync + 'static>(
    run: &Run<S, N, C>,
    task: &mut Task<S>,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let made_by = (run.pos.id, task.key);
    let Stand::Done(done) = &mut task.stand else { return Ok(()) };
    if done.saved || run.pos.start.is_some() {
        return Ok(());
    }
    (done.rows, done.sizes) = rows(&run.table, &run.level.path, made_by, &done.writes, puts)?;
    Ok(())
}

pub(crate) fn lone_record<S: State, N: NodeId, C: Send + Sync + 'static>(
    run: &Run<S, N, C>,
    task: &Task<S>,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let Stand::Done(done) = &task.stand else { return Ok(()) };
    if done.saved {
        return Ok(());
    }
    let record = result(&run.table, task, done, puts)?;
    puts.push((run.task_key(task.key), encode_record(&record)?));
    Ok(())
}

/// Encodes the position as a checkpoint, its shape if the store has not seen it, and the pointer of the enclosing task.
pub(crate) fn checkpoint<S: State, N: NodeId, C: Send + Sync + 'static>(
    run: &mut Run<S, N, C>,
    recorder: &Recorder,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let whole = recorder.durability() == Durability::Exit;
    run.pos.settle(&run.table, puts)?;
    let record = record(&run.table, &mut run.pos, &run.level.path, recorder.lease().epoch(), whole);
    if recorder.is_new_shape(run.table.fingerprint) {
        puts.push((Key::Shape(run.table.fingerprint), encode_record(&run.table.shape)?));
    }
    if let Some(graph) = recorder.introduction() {
        let (graph, stops) = (graph.to_owned(), recorder.stops().to_vec());
        let about = AboutRecord { graph, created_at: run.pos.created_at, foreign: None, stops };
        puts.push((Key::About, encode_record(&about)?));
    }
    let key = if run.is_root() { Key::Checkpoint(run.pos.id) } else { Key::Nested(run.pos.id) };
    if run.delta.is_none() {
        recorder.supersede(&run.level.path, run.came_from, run.pos.id);
        if !run.level.keeps_own {
            recorder.free(&mut run.pos.freed); // its last end may still be referred to
        }
    }
    run.pos.freed.clear();
    puts.push((key, encode_record(&record)?));
    if let Some(caller) = run.caller {
        puts.push(pointer(caller, run.pos.id)?);
    }
    puts.append(&mut run.aside);
    if let Some(record) = run.by_hand.take() {
        puts.push((run.task_key(UPDATE_KEY), encode_record(&record)?));
    }
    if let Some(keeper) = &mut run.keeper {
        keeper.record.children.retain(|(name, _)| *name != keeper.name);
        keeper.record.children.push((keeper.name.clone(), run.pos.id));
        let above =
            if keeper.record.namespace.is_empty() { Key::Checkpoint(keeper.id) } else { Key::Nested(keeper.id) };
        puts.push((above, encode_record(&keeper.record)?));
    }
    Ok(())
}

/// The pointer of an enclosing task, as a record.
pub(crate) fn pointer(caller: Caller, to: CheckpointId) -> Result<(Key, Vec<u8>), RunError> {
    let key = Key::Child { checkpoint: caller.checkpoint, task: caller.task, call: caller.call };
    Ok((key, encode_record(&to)?))
}

/// The position as a record. Only what moved since the last complete map is written, unless that is most of it.
pub(crate) fn record<S: State, N: NodeId, C>(
    table: &Table<S, N, C>,
    pos: &mut Position<S>,
    path: &str,
    epoch: u64,
    whole: bool,
) -> CheckpointRecord {
    let few = pos.slots.len() <= 16 || pos.moved.count() * 2 > pos.slots.len();
    let whole = whole || few || pos.base.is_none();
    let slot = |at: usize| (at as u32, pos.slots[at].clone());
    let channels = if whole {
        let stored = (0..pos.slots.len()).filter(|&at| pos.slots[at] != crate::checkpoint::Slot::Absent);
        stored.map(slot).collect()
    } else {
        pos.moved.iter().map(slot).collect()
    };
    let base = if whole { None } else { pos.base };
    if whole {
        pos.base = Some(pos.id);
        pos.moved = Mask::default();
    }
    CheckpointRecord {
        parent: pos.parent,
        namespace: path.to_owned(),
        source: pos.source,
        step: pos.step,
        created_at: pos.created_at,
        shape: table.fingerprint,
        epoch,
        line: pos.line,
        control: control(&pos.control, pos.start.as_ref().map(|start| start.rows.clone())),
        base,
        channels,
        carried: pos.carried.clone(),
        children: pos.children.clone(),
        metadata: pos.metadata.clone(),
        journals: vec![],
    }
}

fn control(control: &Control<Packet>, start: Option<Vec<WriteRecord>>) -> ControlRecord {
    let joins = control.joins.iter().enumerate().filter(|(_, join)| join.version > 0);
    ControlRecord {
        version: control.version,
        start,
        ready: control.ready.iter().map(|trigger| (trigger.node, trigger.version)).collect(),
        deferred: control.deferred.iter().map(|at| (at.node, at.version, at.finished)).collect(),
        joins: joins
            .map(|(at, join)| {
                let record =
                    JoinRecord { arrived: join.arrived.words(), version: join.version, finished: join.finished };
                (at as u32, record)
            })
            .collect(),
        sends: control.sends.iter().map(|(node, packet)| SendRecord { node: *node, payload: packet.row }).collect(),
        last_ran: control.last_ran.map(|last| (last.version, last.node, last.tied)),
    }
}
