//! A thread without its secret channels: what is stored of them is referred to no more. Pure.
//!
//! A channel is left out wherever a version of the graph or of a subgraph calls a channel of its name secret. What is no
//! channel is not looked at: payloads of sends, questions, answers, effects, events, errors.

use std::collections::BTreeSet;

use crate::checkpoint::threads::anatomy::Anatomy;
use crate::checkpoint::{CheckpointError, CheckpointRecord, Key, Record, Slot, TaskRecord, WriteRecord, encode_record};

/// Takes secret channels out of records; returns their names.
///
/// # Errors
/// If a record cannot be encoded.
pub(super) fn redact(anatomy: &Anatomy, records: &mut [Record]) -> Result<Vec<String>, CheckpointError> {
    let secret = secret_names(anatomy);
    if secret.is_empty() {
        return Ok(vec![]);
    }
    for (key, bytes) in records {
        match key {
            Key::Checkpoint(id) | Key::Nested(id) => {
                let Some(made) = anatomy.checkpoints.get(id) else { continue };
                *bytes = encode_record(&checkpoint(&secret_indexes(anatomy, &made.record, &secret), &made.record))?;
            }
            Key::Task { checkpoint, task: number } => {
                let Some(made) = anatomy.checkpoints.get(checkpoint) else { continue };
                let Some(record) = anatomy.tasks.get(&(*checkpoint, *number)) else { continue };
                *bytes = encode_record(&task(&secret_indexes(anatomy, &made.record, &secret), record))?;
            }
            _ => {}
        }
    }
    Ok(secret.into_iter().map(str::to_owned).collect())
}

fn secret_names(anatomy: &Anatomy) -> BTreeSet<&str> {
    let shapes = anatomy.shapes.values().flat_map(|shape| &shape.channels);
    let carried = anatomy.checkpoints.values().flat_map(|made| &made.record.carried).map(|carried| &carried.channel);
    shapes.chain(carried).filter(|channel| channel.secret).map(|channel| channel.name.as_str()).collect()
}

fn secret_indexes(anatomy: &Anatomy, record: &CheckpointRecord, secret: &BTreeSet<&str>) -> BTreeSet<u32> {
    let channels = (0..).zip(anatomy.channels(record));
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

/// A write without a row is one of a channel that is never saved.
fn forget(secret: &BTreeSet<u32>, write: &mut WriteRecord) {
    if secret.contains(&write.channel) {
        write.row = None;
    }
}
