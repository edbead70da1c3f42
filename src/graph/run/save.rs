//! Checkpoints and results of a run as records.

use super::state::Run;
use crate::checkpoint::{AboutRecord, Key, encode_record};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::persist::save::{record, result, rows};
use crate::graph::records::{Durability, Puts, Recorder, UPDATE_KEY, caller::pointer};
use crate::graph::state::State;
use crate::graph::superstep::{Finished, Stand, Task};

/// Encodes one of several finished tasks.
pub(crate) fn task<S: State, N: NodeId, C: Send + Sync + 'static>(
    run: &Run<S, N, C>,
    at: usize,
    done: &mut Finished<S>,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let task = &run.step.tasks[at];
    let made_by = (run.pos.meta.id, task.key);
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
    let made_by = (run.pos.meta.id, task.key);
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
        let about = AboutRecord { graph, created_at: run.pos.meta.created_at, foreign: None, stops };
        puts.push((Key::About, encode_record(&about)?));
    }
    let key = if run.is_root() { Key::Checkpoint(run.pos.meta.id) } else { Key::Nested(run.pos.meta.id) };
    if run.child.delta.is_none() {
        recorder.supersede(&run.level.path, run.outbox.previous, run.pos.meta.id);
        if !run.level.keeps_own {
            recorder.free(&mut run.pos.channels.freed); // its last end may still be referred to
        }
    }
    run.pos.channels.freed.clear();
    puts.push((key, encode_record(&record)?));
    if let Some(caller) = run.child.caller {
        puts.push(pointer(caller, run.pos.meta.id)?);
    }
    puts.append(&mut run.outbox.beside);
    if let Some(record) = run.outbox.update.take() {
        puts.push((run.task_key(UPDATE_KEY), encode_record(&record)?));
    }
    if let Some(keeper) = &mut run.child.pointer {
        keeper.record.children.retain(|(name, _)| *name != keeper.name);
        keeper.record.children.push((keeper.name.clone(), run.pos.meta.id));
        let above =
            if keeper.record.namespace.is_empty() { Key::Checkpoint(keeper.id) } else { Key::Nested(keeper.id) };
        puts.push((above, encode_record(&keeper.record)?));
    }
    Ok(())
}
