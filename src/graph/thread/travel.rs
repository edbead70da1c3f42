//! Replaying from inside a subgraph: the checkpoints on the way up are forked, each pointing at the fork below (V10).

use crate::checkpoint::{BoxFuture, CheckpointId, CheckpointRecord, Key, Source, TaskRecord, encode_record};

use crate::graph::compile::rows::HANDLER;
use crate::graph::records::reader::Reader;
use crate::graph::records::recorder::{Puts, Recorder};
use crate::graph::records::save::pointer;
use crate::graph::run::children::BY_HANDLER;
use crate::graph::run::clock;
use crate::graph::run::error::RunError;
use crate::graph::run::superstep::Caller;

/// What a handle writes on every checkpoint it makes.
type Words = [(String, String)];

/// Forks a checkpoint of a subgraph and everything above it, and moves the head there.
pub(crate) async fn inside(
    reader: &Reader,
    recorder: &Recorder,
    words: &Words,
    id: CheckpointId,
) -> Result<(), RunError> {
    let mut puts = vec![];
    let (mut at, mut below) = (id, None);
    loop {
        let record = reader.record(at).await?.ok_or_else(|| unknown(reader, at))?;
        let caller = if record.namespace.is_empty() { None } else { Some(caller(reader, &record)?) };
        let fork = forked(recorder, words, at, record, caller.is_none(), &mut puts)?;
        if let Some((from, to)) = below {
            let by = Caller { checkpoint: fork, ..from };
            puts.push(pointer(by, to)?);
            let before = reader.tasks(at).await?.remove(&from.task).unwrap_or_default();
            let started = started(before, from.call);
            for (.., call, child) in reader.called(at, from.task).await? {
                if call < from.call && is_of(call, &started) {
                    copy_child(reader, recorder, words, child, Caller { call, ..by }, &mut puts).await?;
                }
            }
            puts.push((Key::Task { checkpoint: fork, task: by.task }, encode_record(&started)?));
        }
        let Some(caller) = caller else {
            recorder.commit(puts, Some(fork)).await?;
            return Ok(());
        };
        (at, below) = (caller.checkpoint, Some((caller, fork)));
    }
}

/// Copies the subgraphs of a task for a fork of its checkpoint: two forks do not share a child (V10).
pub(crate) fn copy_children<'a>(
    reader: &'a Reader,
    recorder: &'a Recorder,
    words: &'a Words,
    from: (CheckpointId, u32),
    to: (CheckpointId, u32),
    puts: &'a mut Puts,
) -> BoxFuture<'a, Result<(), RunError>> {
    Box::pin(async move {
        for (_, call, child) in reader.called(from.0, from.1).await? {
            let by = Caller { checkpoint: to.0, task: to.1, call };
            copy_child(reader, recorder, words, child, by, puts).await?;
        }
        Ok(())
    })
}

async fn copy_child(
    reader: &Reader,
    recorder: &Recorder,
    words: &Words,
    child: CheckpointId,
    by: Caller,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let record = reader.record(child).await?.ok_or_else(|| unknown(reader, child))?;
    let copy = forked(recorder, words, child, record, false, puts)?;
    puts.push(pointer(by, copy)?);
    for (task, record) in reader.tasks(child).await? {
        puts.push((Key::Task { checkpoint: copy, task }, encode_record(&record)?));
        copy_children(reader, recorder, words, (child, task), (copy, task), puts).await?;
    }
    Ok(())
}

/// A task noted as started, so that it goes on inside the subgraph it called by this number: in the attempt that called it,
/// as far as that is known, or in its error handler.
fn started(before: TaskRecord, call: u32) -> TaskRecord {
    let handled = before.handled.filter(|_| call >= BY_HANDLER);
    let error = before.error.filter(|_| handled.is_some());
    TaskRecord { first_call: before.first_call.min(call), handled, error, ..TaskRecord::default() }
}

/// Whether the body, or the handler, that a replay goes on in has made this call.
fn is_of(call: u32, started: &TaskRecord) -> bool {
    call >= started.first_call && (call >= BY_HANDLER) == started.handled.is_some()
}

fn unknown(reader: &Reader, checkpoint: CheckpointId) -> RunError {
    RunError::UnknownCheckpoint { thread: reader.thread.clone(), checkpoint }
}

fn forked(
    recorder: &Recorder,
    words: &Words,
    from: CheckpointId,
    mut record: CheckpointRecord,
    root: bool,
    puts: &mut Puts,
) -> Result<CheckpointId, RunError> {
    let id = recorder.next_id();
    (record.parent, record.source, record.step) = (Some(from), Source::Fork, record.step + 1);
    (record.line, record.epoch, record.created_at) = (id, recorder.lease().epoch(), clock::now());
    record.metadata = words.to_vec();
    let key = if root { Key::Checkpoint(id) } else { Key::Nested(id) };
    puts.push((key, encode_record(&record)?));
    Ok(id)
}

/// The task that a subgraph's checkpoint belongs to, from the last part of its namespace: `/name:checkpoint.task`.
fn caller(reader: &Reader, record: &CheckpointRecord) -> Result<Caller, RunError> {
    let own = || RunError::InvalidUpdate {
        what: "a subgraph that keeps its own state is replayed from its parent's checkpoint".into(),
    };
    let last = record.namespace.rsplit('/').next().unwrap_or_default();
    let (name, task) = last.rsplit_once(':').ok_or_else(own)?;
    let damaged = || reader.damaged("checkpoint of a subgraph", "its namespace cannot be read");
    let (checkpoint, task) = task.split_once('.').ok_or_else(damaged)?;
    let checkpoint = CheckpointId(checkpoint.parse().map_err(|_| damaged())?);
    let task = u32::from_str_radix(task, 16).map_err(|_| damaged())?;
    let call: u32 = name.rsplit_once('#').map_or(Ok(0), |(_, call)| call.parse()).map_err(|_| damaged())?;
    let call = if name.starts_with(HANDLER) { call | BY_HANDLER } else { call };
    Ok(Caller { checkpoint, task, call })
}
