//! Copies of what the tasks of a checkpoint came to, for a fork of it. Knows records only.

use super::caller::{Caller, pointer};
use super::puts::Puts;
use super::reader::Reader;
use super::recorder::Recorder;
use crate::checkpoint::{BoxFuture, CheckpointId, CheckpointRecord, Key, Source, encode_record};
use crate::graph::error::RunError;

/// The metadata and time of every checkpoint that a handle makes.
#[derive(Clone, Copy)]
pub(crate) struct Stamp<'a> {
    pub words: &'a [(String, String)],
    /// In milliseconds since 1970.
    pub now: u64,
}

/// Copies the subgraphs of a task for a fork of its checkpoint: two forks do not share a child (V10).
pub(crate) fn copy_children<'a>(
    reader: &'a Reader,
    recorder: &'a Recorder,
    stamp: Stamp<'a>,
    from: (CheckpointId, u32),
    to: (CheckpointId, u32),
    puts: &'a mut Puts,
) -> BoxFuture<'a, Result<(), RunError>> {
    Box::pin(async move {
        for (_, call, child) in reader.called(from.0, from.1).await? {
            let by = Caller { checkpoint: to.0, task: to.1, call };
            copy_child(reader, recorder, stamp, child, by, puts).await?;
        }
        Ok(())
    })
}

/// Copies one subgraph.
pub(crate) async fn copy_child(
    reader: &Reader,
    recorder: &Recorder,
    stamp: Stamp<'_>,
    child: CheckpointId,
    by: Caller,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let record = reader.record(child).await?.ok_or_else(|| unknown(reader, child))?;
    let copy = forked(recorder, stamp, child, record, false, puts)?;
    puts.push(pointer(by, copy)?);
    for (task, record) in reader.tasks(child).await? {
        puts.push((Key::Task { checkpoint: copy, task }, encode_record(&record)?));
        copy_children(reader, recorder, stamp, (child, task), (copy, task), puts).await?;
    }
    Ok(())
}

pub(crate) fn unknown(reader: &Reader, checkpoint: CheckpointId) -> RunError {
    RunError::UnknownCheckpoint { thread: reader.thread.clone(), checkpoint }
}

/// Copies a checkpoint as the first of a new line.
pub(crate) fn forked(
    recorder: &Recorder,
    stamp: Stamp<'_>,
    from: CheckpointId,
    mut record: CheckpointRecord,
    root: bool,
    puts: &mut Puts,
) -> Result<CheckpointId, RunError> {
    let id = recorder.next_id();
    (record.parent, record.source, record.step) = (Some(from), Source::Fork, record.step + 1);
    (record.line, record.epoch, record.created_at) = (id, recorder.lease().epoch(), stamp.now);
    record.metadata = stamp.words.to_vec();
    let key = if root { Key::Checkpoint(id) } else { Key::Nested(id) };
    puts.push((key, encode_record(&record)?));
    Ok(id)
}
