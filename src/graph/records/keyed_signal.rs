//! The keys of senders: which signal was the first with a key. A key is a record in the mailbox, behind all signals, which is
//! never delivered and stays when its signal is received. Knows no graph.

use serde_json::Value;
use superstep_base::Fnv;

use crate::checkpoint::{
    CheckpointError, Checkpointer, Commit, Key, Record, SignalRecord, ThreadId, decode_record, encode_record,
};
use crate::graph::error::RunError;
use crate::graph::interrupt::{KEYED, SignalId};
use crate::graph::state::{header, value};

/// A sender's key, and the signal that was sent with it first.
#[derive(Clone, Debug)]
pub(crate) struct KeyedSignal {
    key: String,
    /// The number of its record.
    number: u64,
    pub signal: Option<SignalId>,
}

/// Checks the length of a key.
pub(crate) fn check_key(key: &str) -> Result<(), RunError> {
    let (what, bytes, limit) = ("the key of a signal".to_owned(), key.len(), Commit::MAX_NAME);
    if bytes > limit { Err(CheckpointError::TooLarge { what, bytes, limit }.into()) } else { Ok(()) }
}

impl KeyedSignal {
    /// Finds what is stored of a key of signals of one name.
    pub(crate) async fn find(
        store: &dyn Checkpointer,
        thread: &ThreadId,
        name: &str,
        key: String,
    ) -> Result<Self, RunError> {
        let mut hash = Fnv::new();
        hash.mix(name.as_bytes());
        hash.mix(&[0]);
        hash.mix(key.as_bytes());
        let mut number = hash.finish();
        loop {
            let at = Key::Signal { order: KEYED, id: number };
            let found = store.get(thread, vec![at.clone()]).await?.pop().flatten();
            let Some(bytes) = found else { return Ok(Self { key, number, signal: None }) };
            let record: SignalRecord = decode_record(thread, at, &bytes)?;
            if record.name == name && record.by.as_deref() == Some(&key) {
                let signal = record.note.and_then(|signal| signal.parse().ok());
                return Ok(Self { key, number, signal });
            }
            number = number.wrapping_add(1); // another key with the same hash
        }
    }

    /// Returns the record that says which signal was sent with the key.
    pub(crate) fn record(self, name: &str, signal: SignalId, at: u64) -> Result<Record, RunError> {
        let value = value::encode(|| "a key".into(), header::JSON, &Value::Null)?;
        let (name, by, note) = (name.to_owned(), Some(self.key), Some(signal.to_string()));
        let record = SignalRecord { name, value, by, at, note };
        Ok((Key::Signal { order: KEYED, id: self.number }, encode_record(&record)?))
    }
}
