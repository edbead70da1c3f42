//! Any bytes as any of the engine's records: an error, or a record that is written back unchanged. The first byte
//! selects the record.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep::checkpoint::{
    AboutRecord, CheckpointRecord, EffectRecord, EventRecord, Key, Shape, SignalRecord, TaskRecord, ThreadHead,
    decode_record, encode_record,
};

/// The kind of record, selected by the first byte of `body`'s input.
pub(crate) fn kind(key: &Key) -> Option<u8> {
    match key {
        Key::Head => Some(0),
        Key::About => Some(1),
        Key::Shape(_) => Some(2),
        Key::Checkpoint(_) | Key::Nested(_) => Some(3),
        Key::Task { .. } => Some(4),
        Key::Effect { .. } => Some(5),
        Key::Event { .. } => Some(6),
        Key::Signal { .. } => Some(7),
        Key::Tag(_) | Key::Child { .. } | Key::Row(_) | Key::Log { .. } => None,
    }
}

/// Never panics.
pub(crate) fn body(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    match kind % 8 {
        0 => same::<ThreadHead>(bytes),
        1 => same::<AboutRecord>(bytes),
        2 => same::<Shape>(bytes),
        3 => same::<CheckpointRecord>(bytes),
        4 => same::<TaskRecord>(bytes),
        5 => same::<EffectRecord>(bytes),
        6 => same::<EventRecord>(bytes),
        _ => same::<SignalRecord>(bytes),
    }
}

fn same<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    let thread = "fuzzed".into();
    let Ok(record) = decode_record::<T>(&thread, "record", bytes) else { return };
    let written = encode_record(&record).expect("what was read can be written");
    let again = decode_record::<T>(&thread, "record", &written).expect("what was written can be read");
    assert_eq!(again, record);
}
