//! Removes secret channels from a thread: nothing refers to their stored values any more. Pure.
//!
//! A channel is removed wherever any version of the graph or of a subgraph marks a channel of its name as secret. Other
//! data is not inspected: payloads of sends, questions, answers, effects, events, errors.

use std::collections::BTreeSet;

use crate::checkpoint::threads::thread_records::ThreadRecords;
use crate::checkpoint::{CheckpointError, CheckpointRecord, Key, Record, Slot, TaskRecord, WriteRecord, encode_record};

/// Removes secret channels from records; returns their names.
///
/// # Errors
/// If a record cannot be encoded.
pub(super) fn redact(decoded: &ThreadRecords, records: &mut [Record]) -> Result<Vec<String>, CheckpointError> {
    let secret = secret_names(decoded);
    if secret.is_empty() {
        return Ok(vec![]);
    }
    for (key, bytes) in records {
        match key {
            Key::Checkpoint(id) | Key::Nested(id) => {
                let Some(made) = decoded.checkpoints.get(id) else { continue };
                *bytes = encode_record(&checkpoint(&secret_indexes(decoded, &made.record, &secret), &made.record))?;
            }
            Key::Task { checkpoint, task: number } => {
                let Some(made) = decoded.checkpoints.get(checkpoint) else { continue };
                let Some(record) = decoded.tasks.get(&(*checkpoint, *number)) else { continue };
                *bytes = encode_record(&task(&secret_indexes(decoded, &made.record, &secret), record))?;
            }
            _ => {}
        }
    }
    Ok(secret.into_iter().map(str::to_owned).collect())
}

fn secret_names(decoded: &ThreadRecords) -> BTreeSet<&str> {
    let shapes = decoded.shapes.values().flat_map(|shape| &shape.channels);
    let carried = decoded.checkpoints.values().flat_map(|made| &made.record.carried).map(|carried| &carried.channel);
    shapes.chain(carried).filter(|channel| channel.secret).map(|channel| channel.name.as_str()).collect()
}

fn secret_indexes(decoded: &ThreadRecords, record: &CheckpointRecord, secret: &BTreeSet<&str>) -> BTreeSet<u32> {
    let channels = (0..).zip(decoded.channels(record));
    channels.filter(|(_, channel)| secret.contains(channel.name.as_str())).map(|(at, _)| at).collect()
}

fn checkpoint(secret: &BTreeSet<u32>, record: &CheckpointRecord) -> CheckpointRecord {
    let mut record = record.clone();
    let own = record.channels.iter_mut().filter(|(at, _)| secret.contains(at));
    own.for_each(|(_, slot)| *slot = Slot::Absent);
    record.carried.iter_mut().filter(|carried| carried.channel.secret).for_each(|carried| carried.slot = Slot::Absent);
    record.control.start.iter_mut().flatten().for_each(|write| forget(secret, write));
    record
}

fn task(secret: &BTreeSet<u32>, record: &TaskRecord) -> TaskRecord {
    let mut record = record.clone();
    record.writes.iter_mut().for_each(|write| forget(secret, write));
    record
}

/// Removes the value of a write to a secret channel; a write without a row is one of a channel that is never stored.
fn forget(secret: &BTreeSet<u32>, write: &mut WriteRecord) {
    if secret.contains(&write.channel) {
        write.row = None;
    }
}
