//! The signals that were sent to a thread: pending ones, those that a run takes and stores with the commit that uses them, and
//! the keys by which senders repeat one. A run notes which it has taken: the store may still show those. Knows no graph.

use serde_json::Value;
use superstep_base::Fnv;

use super::recorder::{Durability, Puts, Recorder};
use crate::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Commit, KEYED, Key, Record, SignalRecord, ThreadId, decode_record,
    encode_record, sent_signals,
};
use crate::graph::error::RunError;
use crate::graph::interrupt::SignalId;
use crate::graph::state::{stored_value, value};

/// The maximum number of signals in the mailbox of one thread.
pub(crate) const SIGNALS_LIMIT: usize = 1_000;

/// The maximum size of a signal in bytes.
pub(crate) const SIGNAL_BYTES: usize = 1 << 20;

/// The number of signals in the first page that is read: mostly, the one to receive is among them.
const PAGE: usize = 8;

/// A signal in a mailbox.
#[derive(Clone, Debug)]
pub(crate) struct PendingSignal {
    pub id: SignalId,
    pub record: SignalRecord,
}

/// Returns the signals of a thread, in the order in which they were sent.
pub(crate) async fn pending_signals(
    store: &dyn Checkpointer,
    thread: &ThreadId,
) -> Result<Vec<PendingSignal>, CheckpointError> {
    signals_after(store, thread, None, usize::MAX).await
}

/// Returns at most this many of them, those after a signal.
async fn signals_after(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    after: Option<SignalId>,
    limit: usize,
) -> Result<Vec<PendingSignal>, CheckpointError> {
    let first = after.map_or((0, 0), |after| after.next().position());
    let found = sent_signals(&store, thread, first, limit).await?.into_iter();
    Ok(found.map(|((order, id), record)| PendingSignal { id: SignalId { order, id }, record }).collect())
}

impl Recorder {
    /// Returns the signals that this run has not taken.
    pub(crate) async fn pending_signals(&self) -> Result<Vec<PendingSignal>, CheckpointError> {
        let mut pending_signals = pending_signals(&**self.store(), self.lease().thread()).await?;
        let inner = self.lock();
        pending_signals.retain(|pending| !inner.mail.taken.contains(&pending.id));
        Ok(pending_signals)
    }

    /// Returns the first signal of this name, sent until a time, that this run has not taken.
    pub(crate) async fn first_pending(
        &self,
        name: &str,
        until: Option<u64>,
    ) -> Result<Option<PendingSignal>, CheckpointError> {
        let (mut after, mut limit) = (None, PAGE);
        loop {
            let page = signals_after(&**self.store(), self.lease().thread(), after, limit).await?;
            after = page.last().map(|last| last.id).filter(|_| page.len() == limit);
            let inner = self.lock();
            let is_free = |pending: &PendingSignal| !inner.mail.taken.contains(&pending.id);
            let found = page.into_iter().find(|pending| pending.record.is_for(name, until) && is_free(pending));
            if found.is_some() || after.is_none() {
                return Ok(found);
            }
            limit *= 4;
        }
    }

    /// Takes a signal out of the mailbox for one task, whose journal is at a checkpoint; returns whether no other task has it.
    /// Its entry in the task's journal is stored and the signal removed in one commit.
    pub(crate) fn take_pending(
        &self,
        id: SignalId,
        checkpoint: CheckpointId,
        entry: impl FnOnce() -> Result<Puts, CheckpointError>,
    ) -> Result<bool, CheckpointError> {
        if !self.lock().mail.taken.insert(id) {
            return Ok(false);
        }
        let puts = entry()?;
        self.queue_received(puts, id.key(), checkpoint);
        Ok(true)
    }

    /// Queues records, in order, and removes a signal with them. With durability `exit` at the end of the run, unless the task
    /// is one of the stored checkpoint: its effects are stored at once, and may come of the signal.
    fn queue_received(&self, puts: Puts, signal: Key, checkpoint: CheckpointId) {
        let mut inner = self.lock();
        if self.durability() == Durability::Exit && inner.expected != Some(checkpoint) {
            inner.held.extend(puts);
            inner.mail.received.push(signal);
            return;
        }
        self.send_now(&mut inner, puts, vec![signal]);
    }
}

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
        let value = value::encode(|| "a key".into(), stored_value::JSON, &Value::Null)?;
        let (name, by, note) = (name.to_owned(), Some(self.key), Some(signal.to_string()));
        let record = SignalRecord { name, value, by, at, note };
        Ok((Key::Signal { order: KEYED, id: self.number }, encode_record(&record)?))
    }
}
